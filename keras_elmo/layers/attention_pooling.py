"""One vector for a sentence: a mean over its words whose weights are learned."""

import keras
from keras import ops

from keras_elmo.layers.attention import masked_softmax


@keras.saving.register_keras_serializable(package="keras_elmo")
class AttentionPooling(keras.layers.Layer):
    """Pools the words of a sentence by additive attention.

        a_t = softmax_t(v tanh(x_t W + b));  y = sum_t a_t x_t

    Args:
        units: int, size of the hidden layer.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        inputs: (batch, time, D) float.
        mask: (batch, time) bool, or `None`.

    Returns:
        `pooled, weights`: (batch, D), 0 for a sentence without words, and the a_t (batch, time).

    Example:
        >>> pooled, weights = AttentionPooling(units=4)(keras.random.normal((2, 5, 8)))
        >>> pooled.shape, weights.shape
        ((2, 8), (2, 5))

    Reference:
        Yang et al. (2016), Hierarchical attention networks, section 2.2.
    """

    def __init__(self, units=64, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = units
        self.hidden = keras.layers.Dense(units, activation="tanh", dtype=self.dtype_policy)
        self.score = keras.layers.Dense(1, use_bias=False, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.hidden.build(input_shape)
        self.score.build((*input_shape[:-1], self.units))

    def call(self, inputs, mask=None):
        weights = masked_softmax(self.score(self.hidden(inputs))[..., 0], mask)
        return ops.sum(weights[..., None] * inputs, axis=1), weights

    def compute_output_spec(self, inputs, mask=None):
        shapes = (inputs.shape[0], inputs.shape[-1]), inputs.shape[:2]
        return tuple(keras.KerasTensor(shape, self.compute_dtype) for shape in shapes)

    def compute_mask(self, inputs, previous_mask=None):
        return None, None

    def get_config(self):
        return {**super().get_config(), "units": self.units}
