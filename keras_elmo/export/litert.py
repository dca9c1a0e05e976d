"""A .tflite file for phones and other devices."""

import tempfile

from keras_elmo.errors import ElmoError
from keras_elmo.export import graph
from keras_elmo.files import replaced

WEIGHTS = ("int8", "float16", "float32")


def save(model, path, weights="int8", outputs=graph.OUTPUTS, lengths=None):
    """Writes a LiteRT file that holds builtin operations only, whole or not at all.

    It reads the character ids `char_ids` (1, time, characters) int32 of one sentence, made by
    `keras_elmo.batch_to_ids` or by the ten lines for Kotlin and Swift in docs/serving.md. An
    `Elmo` answers what `outputs` names; any other model whose one input is character ids, such as
    a tagger, answers what it always does.

    Args:
        model: an `Elmo`, or another Keras model on character ids, on the TensorFlow backend.
        path: path that ends in `.tflite` and is free.
        weights: `"int8"`, a quarter of the size and the fastest; `"float16"`, half the size; or
            `"float32"`.
        outputs: of an `Elmo`: any of `"mix"`, answered as `elmo` (1, time, 2P), `"top"`, the last
            layer (1, time, 2P), and `"all"`, answered as `layers` (1, L + 1, time, 2P).
        lengths: `None`: one signature `serving_default` for any length. Or a list of int: one
            signature `length_N` each for sentences padded with zeros to N words, as LiteRT's
            CompiledModel needs them. They share the weights.

    Raises:
        ElmoError: if the path is taken or has another ending, or an option is unknown, or
            a length below 1.

    Example:
        >>> litert.save(keras_elmo.load(), "elmo.tflite", outputs=["mix"])
    """
    tf = graph.tensorflow()
    path = graph.check_target(path, ".tflite")
    graph.check_choice("weights", weights, WEIGHTS)
    if min(lengths or [1]) < 1:
        raise ElmoError(f"lengths must be at least 1, not {min(lengths)}")
    times = {f"length_{n}": n for n in lengths or ()} or {"serving_default": None}
    shapes = [(1, time) for time in times.values()]
    module, functions = graph.traced(model, outputs, shapes)
    signatures = dict(zip(times, functions, strict=True))
    with tempfile.TemporaryDirectory() as folder, replaced(path) as temporary:
        tf.saved_model.save(module, folder, signatures=signatures)
        temporary.write_bytes(_convert(tf, folder, list(signatures), weights))


def _convert(tf, folder, signatures, weights):
    converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=signatures)
    # Builtins alone, so that an operation no phone has is an error here and not there.
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    # Without it every step of the loop copies the outputs of all steps.
    converter._experimental_enable_dynamic_update_slice = True
    if weights != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if weights == "float16":
        converter.target_spec.supported_types = [tf.float16]
    return converter.convert()
