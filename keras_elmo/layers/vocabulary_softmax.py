"""The output layer of a language model."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_elmo")
class VocabularySoftmax(keras.layers.Layer):
    """Log-probability of the true words, by a softmax over the whole vocabulary.

        log p(w | x) = x W[w] + b[w] - log sum_v exp(x W[v] + b[v])

    The vocabulary is worked through in chunks, so the logits of all words never exist at once.

    Args:
        vocabulary_size: int, V.
        chunk_size: int, words a chunk.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        inputs: (..., dim), outputs of one direction of the biLM.
        targets: (...) int, ids of the true words.

    Returns:
        (...) float32, the log-probabilities.

    Example:
        >>> softmax = VocabularySoftmax(vocabulary_size=1000)
        >>> softmax(keras.random.normal((2, 7, 16)), keras.ops.ones((2, 7), "int32")).shape
        (2, 7)
    """

    def __init__(self, vocabulary_size, chunk_size=8192, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.chunk_size = chunk_size

    def build(self, inputs_shape, targets_shape=None):
        dim = inputs_shape[-1]
        self.kernel = self.add_weight(
            name="kernel",
            shape=(self.vocabulary_size, dim),
            initializer=keras.initializers.RandomNormal(stddev=dim**-0.5),
        )
        self.bias = self.add_weight(name="bias", shape=(self.vocabulary_size,), initializer="zeros")

    def call(self, inputs, targets):
        inputs = ops.cast(inputs, "float32")
        kernel, bias = ops.convert_to_tensor(self.kernel), ops.convert_to_tensor(self.bias)
        total = None
        for start in range(0, self.vocabulary_size, self.chunk_size):
            chunk = slice(start, start + self.chunk_size)
            logits = ops.matmul(inputs, ops.transpose(kernel[chunk])) + bias[chunk]
            part = ops.logsumexp(logits, axis=-1)
            total = part if total is None else ops.logaddexp(total, part)
        true = ops.sum(inputs * ops.take(kernel, targets, axis=0), axis=-1)
        return true + ops.take(bias, targets) - total

    def compute_output_spec(self, inputs, targets):
        return keras.KerasTensor(inputs.shape[:-1], "float32")

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "chunk_size": self.chunk_size,
        }
