"""The devices that share the batches of a training run: one, or all of one or many hosts."""

import contextlib

from keras_elmo import backend
from keras_elmo.backend.one_device import OneDevice
from keras_elmo.errors import ElmoError

KINDS = ("data", "vocabulary")
_current = OneDevice()


def current():
    """The devices of the innermost `share`."""
    return _current


@contextlib.contextmanager
def share(kind):
    """Shares the batches of the models that are made inside over all devices.

    Args:
        kind: `"data"`: every device works on some rows of a batch; `"vocabulary"`: it also holds
            only some rows of the softmax and of its optimizer (JAX alone); `None`: one device.

    Yields:
        The devices.

    Raises:
        ElmoError: if the engine cannot do it.

    Example:
        >>> with devices.share("data"):
        ...     build_model(recipe, vocabulary, steps).fit(batches)
    """
    global _current
    before, _current = _current, OneDevice() if kind is None else _engine(kind)
    try:
        with _current.scope():
            yield _current
    finally:
        _current = before


def _engine(kind):
    if kind not in KINDS:
        raise ElmoError(f"distribute must be one of {', '.join(KINDS)}, not {kind}")
    if kind == "vocabulary":
        backend.require("jax")
    if backend.BACKEND == "jax":
        from keras_elmo.backend.jax_devices import JaxDevices

        return JaxDevices(kind)
    if backend.BACKEND == "tensorflow":
        from keras_elmo.backend.tensorflow_devices import TensorFlowDevices

        return TensorFlowDevices()
    if backend.BACKEND == "torch":
        from keras_elmo.backend.torch_processes import TorchProcesses

        return TorchProcesses()
    raise ElmoError(f"Keras on {backend.BACKEND} does not train")
