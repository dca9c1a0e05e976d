"""A Keras model on character ids as a plain TensorFlow function that owns its weights."""

import importlib
from functools import partial
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
    backend.require("tensorflow")
    return require("tensorflow", "tensorflow")


def check_target(path, suffix=""):
    """The path to write, which must be free and end in the suffix."""
    path = Path(path).expanduser()
    if path.suffix != suffix and suffix:
        raise ElmoError(f"{path}: the name must end in {suffix}")
    if path.exists():
        raise ElmoError(f"{path}: exists already; remove it or give another name")
    return path


def check_choice(option, value, choices):
    """Refuses a value that is none of the choices."""
    if value not in choices:
        raise ElmoError(f"{option}: use {', '.join(choices)}, not {value!r}")


def check_elmo(elmo):
    """Refuses an Elmo that answers more than its words ask for."""
    if elmo.bilm.stateful:
        raise ElmoError("a stateful model can't be exported; load it with stateful=False")
    if elmo.keep_boundaries:
        raise ElmoError(
            "a model that keeps the boundaries can't be exported; load it with "
            "keep_boundaries=False"
        )


def function(model, dtype="float32", call=None):
    """A function of character ids that calls the model on weights of its own.

    Args:
        model: a Keras model whose one input is character ids (batch, time, characters).
        dtype: of the weights as they are stored; they compute in the type of the model.
        call: a function that uses the weights of the model; `None`: the model itself.

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
            return model(char_ids, training=False) if call is None else call(char_ids)

    return module, answer


def traced(model, outputs, shapes=((None, None),)):
    """A model as TensorFlow functions of `char_ids` that share its weights.

    Args:
        model: a Keras model whose one input is character ids (batch, time, characters).
        outputs: of an Elmo: any of `"mix"`, `"top"`, `"all"`, answered as `elmo` (or `elmo_0`,
            `elmo_1`, ...), `top` and `layers`. Another model answers what it always does.
        shapes: list of pairs (batch, time), `None` for any; one function each.

    Returns:
        A `tf.Module` with the weights, and a list of `tf.function`s that answer dicts of tensors.

    Raises:
        ElmoError: if an output is unknown, the model has other inputs, or was quantized.

    Example:
        >>> module, [function] = traced(keras_elmo.load(), ["top"])
        >>> function(tf.constant(keras_elmo.batch_to_ids([["Hello"]])))["top"].shape[:2]
        TensorShape([1, 1])
    """
    _check(model, outputs)
    characters = _characters(model)
    module, answer = function(model)
    select = partial(_select, outputs=outputs) if isinstance(model, Elmo) else _named

    def selected(char_ids):
        return select(answer(char_ids))

    specs = [((*shape, characters), "int32") for shape in shapes]
    return module, [signature(selected, char_ids=spec) for spec in specs]


def _check(model, outputs):
    if not outputs:
        raise ElmoError(f"outputs: name at least one of {', '.join(OUTPUTS)}")
    for name in outputs:
        check_choice("outputs", name, OUTPUTS)
    if tuple(outputs) != OUTPUTS and not isinstance(model, Elmo):
        raise ElmoError("outputs: an Elmo has a choice of them, other models answer all")
    if any(layer.quantization_mode is not None for layer in model._flatten_layers()):
        raise ElmoError(
            "a model that `quantize` made smaller has no such form; export it as it was before, "
            "for phones with int8 weights"
        )


def signature(function, **inputs):
    """A `tf.function` of named inputs, each a pair of shape and dtype."""
    import tensorflow as tf

    specs = [tf.TensorSpec(*spec, name=name) for name, spec in inputs.items()]
    return tf.function(function, input_signature=specs, autograph=False)


def mixes(outputs):
    """The entries of an Elmo's outputs that are mixes: `elmo`, or `elmo_0`, `elmo_1`, ..."""
    return {name: outputs[name] for name in output_names(len(outputs) - 2)}


def _select(found, outputs):
    chosen = {}
    if "mix" in outputs:
        chosen.update(mixes(found))
    if "top" in outputs:
        chosen["top"] = found["layers"][:, -1]
    if "all" in outputs:
        chosen["layers"] = found["layers"]
    return chosen


def _named(found):
    return found if isinstance(found, dict) else {"output": found}


def _characters(model):
    shapes = [tuple(x.shape) for x in model.inputs]
    if len(shapes) != 1 or len(shapes[0]) != 3 or shapes[0][-1] is None:
        raise ElmoError(
            f"the model must read character ids (batch, time, characters), not {shapes}"
        )
    return shapes[0][-1]
