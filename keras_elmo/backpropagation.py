"""The projected LSTM with its gradient through time written by hand."""

from keras import ops

from keras_elmo.backend import loops
from keras_elmo.backend import products
from keras_elmo.backend.custom_gradient import with_gradient

FORGET_BIAS = 1.0  # added when it runs; published files do not store it


def new_state(gates, c, project, cell_clip, projection_clip):
    """The new `h` and `c` of a step, from the activated gates; see `recurrence.lstm_step`."""
    i, j, f, o = gates
    c = f * c + i * j
    if cell_clip is not None:
        c = ops.clip(c, -cell_clip, cell_clip)
    h = o * products.tanh(c)
    if project is not None:
        h = project(h)
        if projection_clip is not None:
            h = ops.clip(h, -projection_clip, projection_clip)
    return h, c


def lstm_with_gradient(inputs, mask, state, weights, clips, go_backwards=False):
    """Runs the LSTM as `recurrence.lstm` does, for training; time is the first axis here.

    Automatic differentiation multiplies for the gradient of the weights in every step of the loop.
    Here the loop back through time makes the gradients of the gates alone,

        dh_raw = dh' [|h'| < projection_clip]              dm = dh_raw Wp^T
        dc_raw = (dc' + dm o (1 - tanh(c')^2)) [|c'| < cell_clip]
        dz = (dc_raw j i (1 - i), dc_raw i (1 - j^2), dc_raw c f (1 - f), dm tanh(c') o (1 - o))
        dh = dz R^T                                        dc = dc_raw f

    and those of the weights follow by one product over all steps: d[W ; R] = sum [x ; h]^T dz,
    dWp = sum (o tanh(c'))^T dh_raw. A masked position hands dh' and dc' on as they are, and all
    of its own are 0. The four gates are kept apart: compilers write tensors that are put together
    from parts number by number.

    Args:
        inputs: (time, batch, input_dim), at least one step; finite where masked.
        mask: (time, batch) bool, or `None`.
        state: `(h, c)`, of shapes (batch, projection_dim) and (batch, units).
        weights: `(kernel, recurrent_kernel, bias, projection_kernel)`; the last may be `None`.
        clips: `(cell_clip, projection_clip)`.
        go_backwards: read from the last position to the first.

    Returns:
        The outputs (time, batch, projection_dim), at a masked position those before it, and the
        final `(h, c)`.
    """
    tensors = [inputs, *state, *(w for w in weights if w is not None)]
    marks = [] if mask is None else [ops.cast(mask[..., None], inputs.dtype)]
    count = len(tensors)

    def run(*given):
        tensors, marks = given[:count], given[count:]
        c, kept = _forward(marks, *tensors, clips=clips, go_backwards=go_backwards)

        def pull_back(d_outputs, d_c):
            found = _backward(d_outputs, d_c, tensors, (*kept, *marks), clips, go_backwards)
            return (*found, *map(ops.zeros_like, marks))

        return (kept[0], c), pull_back

    outputs, c = with_gradient(run, *tensors, *marks)
    return outputs, (outputs[0 if go_backwards else -1], c)


def _forward(
    marks, x, h, c, kernel, recurrent_kernel, bias, *projection_kernel, clips, go_backwards
):
    """The last cell, and of all steps the outputs, cells and the four activated gates."""
    x = products.matmul_rows(x, kernel)
    recurrent = products.affine([recurrent_kernel], bias)
    project = [products.affine([kernel]) for kernel in projection_kernel]

    def step(state, slices):
        z = recurrent(state[0])
        z += slices[0]  # where tensors can be changed, this takes no new memory
        gates = products.activated_gates(z, FORGET_BIAS)
        new = new_state(gates, state[1], project[0] if project else None, *clips)
        for real in slices[1:]:
            new = tuple(ops.where(real > 0, *pair) for pair in zip(new, state, strict=True))
        return new, (*new, *gates)

    (_, last), kept = loops.scan(step, (x, *marks), (h, c), go_backwards, like=(h, *[c] * 5))
    return last, kept


def _backward(d_outputs, d_c, tensors, kept, clips, go_backwards):
    """The gradients of all tensors of `_forward`."""
    x, h0, c0, kernel, recurrent_kernel, _, *projection_kernel = tensors
    outputs, cells = kept[:2]
    cell_clip, projection_clip = clips[0], clips[1] if projection_kernel else None
    recurrent = [products.affine([part]) for part in _transposed_parts(recurrent_kernel)]
    project = [products.affine([ops.transpose(kernel)]) for kernel in projection_kernel]

    def step(gradients, slices):
        d_h, d_c = gradients
        d_output, before, h, c, i, j, f, o, *marks = slices
        d_h += d_output
        handed_on = [((1 - real) * d_h, (1 - real) * d_c) for real in marks]
        for real in marks:
            d_h, d_c = real * d_h, real * d_c
        d_raw = _inside(d_h, h, projection_clip)
        d_m = project[0](d_raw) if project else d_raw
        squashed = products.tanh(c)
        m = o * squashed
        d_cell = _inside(d_c + d_m * (o - m * squashed), c, cell_clip)
        d_f = d_cell * f
        d_z = (
            d_cell * j * i * (1 - i),
            d_cell * i * (1 - j * j),
            d_f * before * (1 - f),
            d_m * m * (1 - o),
        )
        d_h = sum(product(part) for product, part in zip(recurrent, d_z, strict=True))
        for past_h, past_c in handed_on:
            d_h, d_f = d_h + past_h, d_f + past_c
        return (d_h, d_f), (*d_z, d_raw, m)

    start = ops.zeros_like(h0), d_c
    slices = d_outputs, _shifted(cells, c0, go_backwards), *kept
    (d_h0, d_c0), found = loops.scan(
        step, slices, start, not go_backwards, like=(*[c0] * 4, h0, c0)
    )
    *d_z, d_raw, m = (ops.reshape(part, (-1, part.shape[-1])) for part in found)
    read = ops.concatenate([x, _shifted(outputs, h0, go_backwards)], axis=-1)
    read = ops.reshape(read, (-1, read.shape[-1]))
    d_kernels = [products.product_over_rows(read, part) for part in d_z]
    d_kernels = ops.concatenate(d_kernels, axis=-1)
    d_x = sum(map(products.matmul, d_z, _transposed_parts(kernel)))
    return (
        ops.reshape(d_x, ops.shape(x)),
        d_h0,
        d_c0,
        d_kernels[: kernel.shape[0]],
        d_kernels[kernel.shape[0] :],
        ops.concatenate([ops.sum(part, axis=0) for part in d_z], axis=-1),
        *(products.product_over_rows(m, d_raw) for _ in projection_kernel),
    )


def _transposed_parts(kernel):
    """The transposed kernel of each gate."""
    return [ops.transpose(part) for part in ops.split(kernel, 4, axis=-1)]


def _shifted(values, first, go_backwards):
    """What stood there before each step: (time, batch, ...)."""
    if go_backwards:
        return ops.concatenate([values[1:], first[None]], axis=0)
    return ops.concatenate([first[None], values[:-1]], axis=0)


def _inside(gradient, values, clip):
    """The gradient where a value was not clipped, 0 elsewhere."""
    return gradient if clip is None else gradient * ops.cast(ops.abs(values) < clip, values.dtype)
