"""Requests that TensorFlow Serving answers before it calls a SavedModel ready."""

from keras_elmo.export import graph

FILE = "tf_serving_warmup_requests"
SENTENCES = ["Hello !", "The cat sat on the mat .", " ".join(["word"] * 40)]


def write(folder, name, inputs=("strings",)):
    """Writes `assets.extra/tf_serving_warmup_requests` into a SavedModel's folder.

    Args:
        folder: path of the SavedModel.
        name: str, under which the server will know the model.
        inputs: names of the inputs of its signature `default`, each strings (batch,).

    Raises:
        ElmoError: if tensorflow-serving-api is not installed.

    Example:
        >>> write("models/elmo/1", "elmo")
    """
    tf = graph.require("tensorflow", "tensorflow")
    log = graph.require("tensorflow_serving.apis.prediction_log_pb2", "serving")
    extra = folder / "assets.extra"
    extra.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(extra / FILE)) as writer:
        for size in range(1, len(SENTENCES) + 1):
            request = log.PredictLog()
            spec = request.request.model_spec
            spec.name, spec.signature_name = name, "default"
            strings = tf.make_tensor_proto(SENTENCES[:size], dtype=tf.string)
            for key in inputs:
                request.request.inputs[key].CopyFrom(strings)
            writer.write(log.PredictionLog(predict_log=request).SerializeToString())
