"""Which backend Keras takes where nobody said so; runs before anything imports Keras.

Keras by itself takes TensorFlow, installed or not, and writes that down in its keras.json.
"""

import json
import os
from importlib.util import find_spec
from pathlib import Path

BACKENDS = ("tensorflow", "jax", "torch")


def choose():
    """Names the first installed backend to Keras, unless the one it would take is installed.

    Raises:
        ImportError: if no backend is installed, or the one that KERAS_BACKEND names is not.

    Example:
        >>> choose()
        >>> import keras
    """
    named = os.environ.get("KERAS_BACKEND")
    if find_spec(named or _configured()) is not None:
        return
    if named:
        raise ImportError(
            f"KERAS_BACKEND is {named}, which is not installed: pip install "
            f'"keras-elmo[{named}]", or set KERAS_BACKEND to another of {", ".join(BACKENDS)}'
        )
    installed = [name for name in BACKENDS if find_spec(name) is not None]
    if not installed:
        raise ImportError(
            'keras_elmo needs a backend of Keras: pip install "keras-elmo[jax]", or [torch], or '
            "[tensorflow]"
        )
    os.environ["KERAS_BACKEND"] = installed[0]


def _configured():
    """The backend in Keras' own settings; TensorFlow where there are none."""
    path = Path(os.environ.get("KERAS_HOME", "~/.keras")).expanduser() / "keras.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))["backend"]
    except (OSError, ValueError, LookupError, TypeError):
        return BACKENDS[0]


choose()
