"""Attention: a softmax over the positions of a sentence that leaves its padding out."""

from keras import ops


def masked_softmax(scores, mask=None):
    """Softmax over the last axis of scores, exactly 0 where the mask is false.

    Args:
        scores: (..., positions) float.
        mask: bool of a shape that broadcasts against the scores, or `None`.

    Returns:
        (..., positions); all 0 where no position is left.

    Example:
        >>> masked_softmax(ops.zeros((1, 3)), ops.array([[True, True, False]]))
        [[0.5, 0.5, 0.0]]
    """
    if mask is None:
        return ops.softmax(scores, axis=-1)
    scores = ops.where(mask, scores, ops.full_like(scores, -1e4))
    weights = ops.softmax(scores, axis=-1)
    return ops.where(mask, weights, ops.zeros_like(weights))


def masked_max(x, mask):
    """The largest value of each feature over the words, (batch, D); 0 for no words."""
    real = mask[..., None]
    highest = ops.max(ops.where(real, x, ops.full_like(x, -1e4)), axis=1)
    return ops.where(ops.any(real, axis=1), highest, ops.zeros_like(highest))


def masked_mean(x, mask):
    """The mean over the words of each sentence, (batch, D); 0 for no words."""
    real = ops.cast(mask[..., None], x.dtype)
    return ops.sum(x * real, axis=1) / ops.maximum(ops.sum(real, axis=1), 1)
