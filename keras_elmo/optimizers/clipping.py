"""Gradients clipped together."""

from keras import ops


def clip_by_global_norm(gradients, clip_norm):
    """Scales gradients so that their common norm is at most `clip_norm`.

        g * clip_norm / max(norm, clip_norm),  norm = sqrt(sum of the squares of all)

    Args:
        gradients: list of tensors.
        clip_norm: float above 0, or `None`: they stay as they are.

    Returns:
        A list of tensors.

    Example:
        >>> clip_by_global_norm([ops.array([3.0, 4.0])], 1.0)  # [[0.6, 0.8]]

    Reference:
        Pascanu et al. (2013), On the difficulty of training recurrent neural networks, section 3.2.
    """
    if clip_norm is None:
        return gradients
    norm = ops.sqrt(sum(ops.sum(ops.square(gradient)) for gradient in gradients))
    scale = clip_norm / ops.maximum(norm, clip_norm)
    return [gradient * scale for gradient in gradients]
