"""Attention between a text and a question, in both directions."""

import keras
from keras import ops

from keras_elmo.layers.attention import masked_softmax


@keras.saving.register_keras_serializable(package="keras_elmo")
class TrilinearSimilarity(keras.layers.Layer):
    """How alike two vectors are, by learned weights.

        s_ij = w1 h_i + w2 u_j + w3 (h_i * u_j) + b

    Args:
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        first: (batch, n, D) float.
        second: (batch, m, D) float.

    Returns:
        (batch, n, m).

    Example:
        >>> x = keras.random.normal((2, 5, 4))
        >>> TrilinearSimilarity()(x, x[:, :3]).shape
        (2, 5, 3)

    Reference:
        Seo et al. (2017), Bidirectional attention flow, section 2, layer 4.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, first_shape, second_shape=None):
        for name in ("first", "second", "both"):
            setattr(self, name, self.add_weight(name=name, shape=(first_shape[-1], 1)))
        self.bias = self.add_weight(name="bias", shape=(), initializer="zeros")

    def call(self, first, second):
        both = ops.matmul(first * self.both[:, 0], ops.swapaxes(second, 1, 2))
        rows, columns = ops.matmul(first, self.first), ops.matmul(second, self.second)
        return both + rows + ops.swapaxes(columns, 1, 2) + self.bias

    def compute_mask(self, first, previous_mask=None):
        return None

    def compute_output_spec(self, first, second):
        return keras.KerasTensor((*first.shape[:2], second.shape[1]), self.compute_dtype)


@keras.saving.register_keras_serializable(package="keras_elmo")
class BidirectionalAttention(keras.layers.Layer):
    """Bidirectional attention flow: what of a question matters to each word of a text, and back.

        a_i = sum_j softmax_j(s_ij) u_j;  b = sum_i softmax_i(max_j s_ij) h_i
        y_i = [h_i ; a_i ; h_i * a_i ; h_i * b]

    Args:
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        context: h, (batch, n, D) float.
        query: u, (batch, m, D) float.
        context_mask: (batch, n) bool, or `None`.
        query_mask: (batch, m) bool, or `None`.

    Returns:
        `outputs, weights`: (batch, n, 4D) and softmax_j(s_ij) (batch, n, m).

    Example:
        >>> x = keras.random.normal((2, 5, 4))
        >>> outputs, weights = BidirectionalAttention()(x, x[:, :3])
        >>> outputs.shape, weights.shape
        ((2, 5, 16), (2, 5, 3))

    Reference:
        Seo et al. (2017), Bidirectional attention flow for machine comprehension, section 2.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.similarity = TrilinearSimilarity(name="similarity", dtype=self.dtype_policy)

    def build(self, context_shape, query_shape=None):
        self.similarity.build(context_shape, query_shape)

    def call(self, context, query, context_mask=None, query_mask=None):
        scores = self.similarity(context, query)  # (batch, n, m)
        columns = None if query_mask is None else query_mask[:, None, :]
        weights = masked_softmax(scores, columns)
        attended = ops.matmul(weights, query)  # (batch, n, D)
        if columns is not None:
            scores = ops.where(columns, scores, ops.full_like(scores, -1e4))
        back = masked_softmax(ops.max(scores, axis=-1), context_mask)  # (batch, n)
        summary = ops.sum(back[..., None] * context, axis=1, keepdims=True)  # (batch, 1, D)
        outputs = [context, attended, context * attended, context * summary]
        return ops.concatenate(outputs, axis=-1), weights

    def compute_mask(self, context, previous_mask=None):
        return None, None

    def compute_output_spec(self, context, query, context_mask=None, query_mask=None):
        batch, n, size = context.shape
        shapes = (batch, n, 4 * size), (batch, n, query.shape[1])
        return tuple(keras.KerasTensor(shape, self.compute_dtype) for shape in shapes)
