"""Matrices as a library for products wants them in memory, kept for the next call."""

from contextlib import contextmanager
from contextvars import ContextVar

LAYOUTS = ContextVar("layouts", default=None)


@contextmanager
def kept_layouts(layouts):
    """Keeps what `products.affine` makes of the weights of a model, for weights that do not change.

    Args:
        layouts: a dict, the same whenever the same model runs, or `None` to keep nothing.
    """
    token = LAYOUTS.set(layouts)
    try:
        yield
    finally:
        LAYOUTS.reset(token)
