"""A Keras model on character ids as a plain TensorFlow function that owns its weights."""

import importlib
from pathlib import Path

import keras

from keras_elmo import backend
from keras_elmo.errors import ElmoError
from keras_elmo.models.elmo import Elmo
from keras_elmo.models.elmo import output_names

OUTPUTS = ("mix", "top", "all")


def require(package, extra):
    """Imports an optional package, or says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ElmoError(
            f'this needs the package {package}: pip install "keras-elmo[{extra}]"'
        ) from None


def tensorflow():
    """TensorFlow, where Keras runs on it."""
    if backend.BACKEND != "tensorflow":
        raise ElmoError(
            f"models are exported on the TensorFlow backend, Keras runs on {backend.BACKEND}: "
            "set KERAS_BACKEND=tensorflow, or save the model and run `keras-elmo export`"
        )
    return require("tensorflow", "tensorflow")


def check_target(path, suffix=""):
    """The path to write, which must be free and end in the suffix."""
    path = Path(path).expanduser()
    if path.suffix != suffix and suffix:
        raise ElmoError(f"{path}: the name must end in {suffix}")
    if path.exists():
        raise ElmoError(f"{path}: exists already; remove it or give another name")
    return path


def check_elmo(elmo):
    """Refuses an Elmo whose answer would not depend on its words alone."""
    if elmo.bilm.stateful:
        raise ElmoError("a stateful model can't be exported; load it with stateful=False")
    if elmo.keep_boundaries:
        raise ElmoError(
            "a model that keeps the boundaries can't be exported; load it with "
            "keep_boundaries=False"
        )
    if not hasattr(elmo.embedding, "max_word_length"):
        raise ElmoError(
            f"only models that read characters can be exported, not a "
            f"{type(elmo.embedding).__name__}"
        )


def function(model, dtype="float32"):
    """A function of character ids that calls the model on weights of its own.

    Args:
        model: a Keras model whose one input is character ids (batch, time, characters).
        dtype: of the weights as they are stored; they compute in the type of the model.

    Returns:
        A `tf.Module` with the variables, and a Python function to be traced: character ids to the
        model's outputs.

    Example:
        >>> module, answer = function(keras_elmo.load())
        >>> answer(tf.constant(keras_elmo.batch_to_ids([["Hello"]])))["elmo"].shape[:2]
        TensorShape([1, 1])
    """
    tf = tensorflow()
    if isinstance(model, Elmo):
        check_elmo(model)
    module = tf.Module()
    module.weights = {
        variable.path: tf.Variable(
            tf.cast(variable.value, dtype) if "float" in variable.dtype else variable.value,
            trainable=False,
        )
        for variable in model.variables
    }

    def answer(char_ids):
        mapping = [(v, tf.cast(module.weights[v.path], v.dtype)) for v in model.variables]
        with keras.StatelessScope(state_mapping=mapping):
            return model(char_ids, training=False)

    return module, answer


def select(model, answer, outputs=OUTPUTS):
    """Narrows what an Elmo answers to named outputs; of another model, names its outputs.

    Args:
        model: the Keras model.
        answer: the function of it, from `function`.
        outputs: for an Elmo: any of `"mix"`, `"top"`, `"all"`.

    Returns:
        A function of character ids that returns a dict of tensors.

    Raises:
        ElmoError: if an output is unknown.

    Example:
        >>> select(elmo, answer, ["top"])(char_ids)["top"]
    """
    unknown = [name for name in outputs if name not in OUTPUTS]
    if unknown or not outputs:
        raise ElmoError(f"outputs must be any of {', '.join(OUTPUTS)}, not {unknown}")

    def selected(char_ids):
        found = answer(char_ids)
        if not isinstance(model, Elmo):
            return found if isinstance(found, dict) else {"output": found}
        chosen = {}
        if "mix" in outputs:
            chosen.update(mixes(found))
        if "top" in outputs:
            chosen["top"] = found["layers"][:, -1]
        if "all" in outputs:
            chosen["layers"] = found["layers"]
        return chosen

    return selected


def mixes(outputs):
    """The entries of an Elmo's outputs that are mixes: `elmo`, or `elmo_0`, `elmo_1`, ..."""
    return {name: outputs[name] for name in output_names(len(outputs) - 2)}


def input_shape(model):
    """The shape (None, None, characters) of a model's one input, character ids."""
    shapes = [tuple(x.shape) for x in model.inputs]
    if len(shapes) != 1 or len(shapes[0]) != 3 or shapes[0][-1] is None:
        raise ElmoError(
            f"the model must read character ids (batch, time, characters), not {shapes}"
        )
    return shapes[0]
