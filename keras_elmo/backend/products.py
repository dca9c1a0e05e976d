"""Products of matrices, and what PyTorch does better by hand."""

import keras

from keras_elmo import backend
from keras_elmo.backend.custom_gradient import with_gradient
from keras_elmo.backend.layouts import LAYOUTS


def lstm_step_in_place(gates):
    """A step of the LSTM that reuses the memory of its gates, where that is faster and allowed.

    PyTorch without gradients spends as long on fresh memory as on the products. XLA has no use
    for it.

    Args:
        gates: (batch, 4 * units), as for `recurrence.lstm_step`.

    Returns:
        A function of the arguments of `recurrence.lstm_step` and the forget bias, or `None`.
    """
    if backend.BACKEND != "torch":
        return None
    import torch

    fits = torch.is_inference_mode_enabled() and gates.dtype == torch.float32
    return _torch_lstm_step if fits else None


def _torch_lstm_step(gates, c, project, cell_clip, projection_clip, forget_bias):
    # tanh(x) = 2 sigmoid(2 x) - 1: PyTorch's own takes nine times as long as its sigmoid.
    i, j, f, o = gates.chunk(4, dim=-1)
    i.sigmoid_()
    j.mul_(2).sigmoid_()
    c = f.add_(forget_bias).sigmoid_().mul(c).sub_(i).addcmul_(i, j, value=2)
    if cell_clip is not None:
        c.clamp_(-cell_clip, cell_clip)
    h = c.mul(2).sigmoid_().mul_(2).sub_(1).mul_(o.sigmoid_())
    if project is not None:
        h = project(h)
        if projection_clip is not None:
            h.clamp_(-projection_clip, projection_clip)
    return h, c


def tanh(x):
    """The hyperbolic tangent; for PyTorch without gradients by its sigmoid."""
    if _torch_float32_alone(x):
        return x.mul(2).sigmoid_().mul_(2).sub_(1)
    return keras.ops.tanh(x)


def activated_gates(z, forget_bias):
    """i, j, f, o of gates (batch, 4 * units): sigmoid(f + forget_bias), tanh(j), sigmoid else.

    PyTorch does it where they lie; they are not to be used again.
    """
    i, j, f, o = keras.ops.split(z, 4, axis=-1)
    if _torch_float32_alone(z):
        f.add_(forget_bias)
        j.mul_(2)
        z.sigmoid_()
        j.mul_(2).sub_(1)
        return i, j, f, o
    sigmoid = keras.ops.sigmoid
    return sigmoid(i), keras.ops.tanh(j), sigmoid(f + forget_bias), sigmoid(o)


def _torch_float32_alone(x):
    """Whether it is float32 of PyTorch, without gradients: it may then be overwritten.

    In half precision 2 sigmoid(2 x) - 1 would be too coarse for tanh(x).
    """
    if backend.BACKEND != "torch":
        return False
    import torch

    return x.dtype == torch.float32 and not torch.is_grad_enabled()


def powers(logits):
    """exp(logit - highest of its row), and the highest (rows,); PyTorch overwrites the logits."""
    if _torch_float32_alone(logits):
        highest = logits.amax(dim=-1)
        return logits.sub_(highest[:, None]).exp_(), highest
    highest = keras.ops.max(logits, axis=-1)
    return keras.ops.exp(logits - highest[:, None]), highest


def scaled_rows(x, factors):
    """Each row of x (rows, n) times its factor (rows,); PyTorch overwrites x."""
    if _torch_float32_alone(x):
        return x.mul_(factors[:, None])
    return x * factors[:, None]


def product_over_rows(x, y):
    """The product x^T y."""
    return _multiply(keras.ops.transpose(x), y)


def add_product_over_rows(total, x, y):
    """The sum of a total and x^T y; PyTorch adds where the total lies."""
    if _torch_float32_alone(total):
        return total.add_(product_over_rows(x, y))
    return total + product_over_rows(x, y)


def matmul(x, kernel):
    """The product of two matrices, by the fastest library that the backend has, and its gradient.

    PyTorch multiplies by MKL if not asked, also for a gradient; so the gradient is written here.
    """
    kernel = keras.ops.convert_to_tensor(kernel)
    if not _one_dnn_differentiates(x, kernel):
        return affine([kernel])(x)

    def run(x, kernel):
        def pull_back(d_y):
            d_y = d_y.contiguous()  # that of a sum is one number, for oneDNN too little
            return _multiply(d_y, keras.ops.transpose(kernel)), product_over_rows(x, d_y)

        return (_multiply(x, kernel),), pull_back

    return with_gradient(run, x, kernel)[0]


def _multiply(x, y):
    """The product of two matrices that are used once: their layouts are not worth a change."""
    if _one_dnn_fits(x) and _one_dnn_fits(y):
        return _one_dnn_linear(x, keras.ops.transpose(y))
    return keras.ops.matmul(x, y)


def matmul_rows(x, kernel):
    """The product of the last axis with a matrix, as one two-dimensional product."""
    rows = matmul(keras.ops.reshape(x, (-1, kernel.shape[0])), kernel)
    return keras.ops.reshape(rows, (*keras.ops.shape(x)[:-1], kernel.shape[1]))


def affine(kernels, bias=None):
    """The function `x -> x @ kernel + bias` of matrices, prepared for many calls.

    Args:
        kernels: list of matrices; the kernel is all of them, one below the other.
        bias: vector, or `None`.
    """
    kernels = [keras.ops.convert_to_tensor(kernel) for kernel in kernels]
    if all(map(_one_dnn_fits, kernels)):
        layout = _one_dnn_layout(kernels)
        return lambda x: _one_dnn_linear(x, layout, bias)
    kernel = _below_each_other(kernels)
    if bias is None:
        return lambda x: keras.ops.matmul(x, kernel)
    return lambda x: keras.ops.matmul(x, kernel) + bias


def _below_each_other(kernels):
    return kernels[0] if len(kernels) == 1 else keras.ops.concatenate(kernels, axis=0)


def _one_dnn_layout(kernels):
    import torch

    layouts = LAYOUTS.get()
    key = tuple(map(id, kernels))
    if layouts is not None and key in layouts:
        return layouts[key]
    layout = torch.ops.mkldnn._reorder_linear_weight(_below_each_other(kernels).t(), None)
    if layouts is not None and all(isinstance(kernel, torch.nn.Parameter) for kernel in kernels):
        layouts[key] = layout  # what is no weight has an identity for this call alone
    return layout


def _one_dnn_fits(kernel):
    """Whether PyTorch can multiply by oneDNN: without gradients, float32, on a processor.

    It multiplies by MKL if not asked, which is half as fast on processors of other makers.
    """
    return _torch_float32_alone(kernel) and _has_one_dnn(kernel)


def _one_dnn_differentiates(x, kernel):
    """Whether PyTorch is to find a gradient of what oneDNN can multiply."""
    if backend.BACKEND != "torch":
        return False
    import torch

    if not torch.is_grad_enabled() or not (x.requires_grad or kernel.requires_grad):
        return False
    return all(part.dtype == torch.float32 and _has_one_dnn(part) for part in (x, kernel))


def _has_one_dnn(x):
    import torch

    return x.device.type == "cpu" and x.numel() > 0 and torch.backends.mkldnn.is_available()


def _one_dnn_linear(x, weight, bias=None):
    import torch

    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
