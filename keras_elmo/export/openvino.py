"""An OpenVINO model."""

import tempfile

from keras_elmo.export import graph
from keras_elmo.files import replaced


def save(model, path, outputs=graph.OUTPUTS, weights="float32"):
    """Writes an OpenVINO model for any batch and any length, whole or not at all.

    It reads and answers what an ONNX file does, see `keras_elmo.export.onnx.save`. The weights lie
    in a second file beside it, of the same name and the ending `.bin`.

    Args:
        model: an `Elmo`, or another Keras model on character ids, on the TensorFlow backend.
        path: path that ends in `.xml`; it and the `.bin` beside it must be free.
        outputs: of an `Elmo`: any of `"mix"`, `"top"`, `"all"`.
        weights: `"float32"` or `"float16"`, half the size.

    Raises:
        ElmoError: if a path is taken or has another ending, an option is unknown, or a package
            is missing.

    Example:
        >>> openvino.save(keras_elmo.load(), "elmo.xml")
        >>> model = openvino.Core().compile_model("elmo.xml", "CPU")
        >>> model(keras_elmo.batch_to_ids([["Hello"]]))["elmo"]
    """
    tf = graph.tensorflow()
    graph.check_choice("weights", weights, ("float32", "float16"))
    path = graph.check_target(path, ".xml")
    weights_path = graph.check_target(path.with_suffix(".bin"))
    openvino = graph.require("openvino", "openvino")
    module, [function] = graph.traced(model, outputs)
    with (
        tempfile.TemporaryDirectory() as folder,
        replaced(path) as temporary,
        replaced(weights_path) as temporary_weights,
    ):
        tf.saved_model.save(module, folder, signatures=function)
        # Ten times as fast as `convert_model`, which also reports its use to the makers.
        converted = openvino.Core().read_model(folder)
        openvino.save_model(converted, temporary, compress_to_fp16=weights == "float16")
        temporary.with_suffix(".bin").rename(temporary_weights)
