"""Products of matrices, and what PyTorch does better by hand."""

import keras

from keras_elmo import backend


def lstm_step_in_place():
    """A step of the LSTM that reuses the memory of its input `z`, where that is faster and allowed.

    PyTorch without gradients spends as long on fresh memory as on the products. XLA has no use
    for it.

    Returns:
        A function of the arguments of `recurrence.lstm_step` and the forget bias, or `None`.
    """
    if backend.BACKEND != "torch":
        return None
    import torch

    return _torch_lstm_step if torch.is_inference_mode_enabled() else None


def _torch_lstm_step(z, h, c, recurrent, projection, cell_clip, projection_clip, forget_bias):
    i, j, f, o = z.add_(recurrent(h)).chunk(4, dim=-1)
    c = f.add_(forget_bias).sigmoid_().mul(c).addcmul_(i.sigmoid_(), j.tanh_())
    if cell_clip is not None:
        c.clamp_(-cell_clip, cell_clip)
    h = o.sigmoid_().mul_(c.tanh())
    if projection is not None:
        h = projection(h)
        if projection_clip is not None:
            h.clamp_(-projection_clip, projection_clip)
    return h, c


def matmul(x, kernel):
    """The product of two matrices, by the fastest library that the backend has."""
    kernel = keras.ops.convert_to_tensor(kernel)
    if _one_dnn_fits(kernel):
        return _one_dnn_linear(x, kernel.t())
    return keras.ops.matmul(x, kernel)


def affine(kernel, bias=None):
    """The function `x -> x @ kernel + bias` of matrices, prepared for many calls."""
    kernel = keras.ops.convert_to_tensor(kernel)
    if _one_dnn_fits(kernel):
        import torch

        packed = torch.ops.mkldnn._reorder_linear_weight(kernel.t(), None)
        return lambda x: _one_dnn_linear(x, packed, bias)
    if bias is None:
        return lambda x: keras.ops.matmul(x, kernel)
    return lambda x: keras.ops.matmul(x, kernel) + bias


def _one_dnn_fits(kernel):
    """Whether PyTorch can multiply by oneDNN: without gradients, float32, on a processor.

    It multiplies by MKL if not asked, which is half as fast on processors of other makers.
    """
    if backend.BACKEND != "torch":
        return False
    import torch

    on_processor = kernel.device.type == "cpu" and torch.backends.mkldnn.is_available()
    return on_processor and kernel.dtype == torch.float32 and torch.is_inference_mode_enabled()


def _one_dnn_linear(x, weight, bias=None):
    import torch

    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
