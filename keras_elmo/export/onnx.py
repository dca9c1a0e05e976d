"""An ONNX file."""

from keras_elmo.export import graph
from keras_elmo.files import replaced

OPSET = 17


def save(model, path, outputs=graph.OUTPUTS):
    """Writes an ONNX file for any batch and any length, whole or not at all.

    It reads `char_ids` (batch, time, characters) int32 from `keras_elmo.batch_to_ids`. An `Elmo`
    answers what `outputs` names, any other model on character ids what it always does. The
    weights are float32; ONNX Runtime's own tools quantize them.

    Args:
        model: an `Elmo`, or another Keras model on character ids, on the TensorFlow backend.
        path: path that ends in `.onnx` and is free.
        outputs: of an `Elmo`: any of `"mix"`, answered as `elmo` (batch, time, 2P), `"top"`, the
            last layer (batch, time, 2P), and `"all"`, answered as `layers`
            (batch, L + 1, time, 2P).

    Raises:
        ElmoError: if the path is taken or has another ending, an option is unknown, or a package
            is missing.

    Example:
        >>> onnx.save(keras_elmo.load(), "elmo.onnx")
        >>> session = onnxruntime.InferenceSession("elmo.onnx")
        >>> session.run(["elmo"], {"char_ids": keras_elmo.batch_to_ids([["Hello"]])})
    """
    graph.tensorflow()
    path = graph.check_target(path, ".onnx")
    tf2onnx = graph.require("tf2onnx", "onnx")
    _, [function] = graph.traced(model, outputs)
    proto, _ = tf2onnx.convert.from_function(
        function, input_signature=function.input_signature, opset=OPSET
    )
    with replaced(path) as temporary:
        temporary.write_bytes(proto.SerializeToString())
