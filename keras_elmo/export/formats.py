"""Models to files by the name of a format, as `keras-elmo export` does."""

from keras_elmo.errors import ElmoError
from keras_elmo.export import graph
from keras_elmo.export import litert
from keras_elmo.export import onnx
from keras_elmo.export import openvino
from keras_elmo.export import saved_model

SAVERS = {
    "savedmodel": saved_model.save,
    "litert": litert.save,
    "onnx": onnx.save,
    "openvino": openvino.save,
}
OPTIONS = {
    "savedmodel": {"weights", "tokenizer", "warm_up"},
    "litert": {"weights", "outputs", "lengths"},
    "onnx": {"outputs"},
    "openvino": {"weights", "outputs"},
}


def export(model, target, form, **options):
    """Writes a model in a format, whole or not at all.

    Args:
        model: an `Elmo`, or for other formats than `"savedmodel"` any Keras model on character
            ids, on the TensorFlow backend.
        target: path of the file or folder to write, which must be free.
        form: `"savedmodel"`, `"litert"`, `"onnx"` or `"openvino"`.
        **options: of the format's `save`; those that are `None`, `False` or empty count as not
            given.

    Raises:
        ElmoError: if the format is unknown or has no such option, or its `save` refuses.

    Example:
        >>> export(keras_elmo.load(), "elmo.tflite", "litert", weights="float16")
    """
    options = check(form, options)
    SAVERS[form](model, target, **options)


def check(form, options):
    """The options that are given, refused if the format is unknown or does not have them."""
    graph.check_choice("--format", form, tuple(SAVERS))
    given = {name: value for name, value in options.items() if value}
    for name in sorted(given.keys() - OPTIONS[form]):
        raise ElmoError(f"--{name.replace('_', '-')}: not an option of the format {form}")
    return given
