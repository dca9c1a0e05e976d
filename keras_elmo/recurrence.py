"""The projected LSTM as pure functions: one step, and a loop over time."""

from keras import ops

from keras_elmo import backend
from keras_elmo.backend import loops
from keras_elmo.backend import products

FORGET_BIAS = 1.0  # added when it runs; published files do not store it


def matmul_rows(x, kernel):
    """The product of the last axis with a matrix, as one two-dimensional product."""
    rows = products.matmul(ops.reshape(x, (-1, kernel.shape[0])), kernel)
    return ops.reshape(rows, (*ops.shape(x)[:-1], kernel.shape[1]))


def step_weights(recurrent_kernel, bias, projection_kernel):
    """What `lstm_step` multiplies by, prepared once for all steps.

    Returns:
        The functions `h -> h R + b` and `h -> h Wp`, or `None` for the latter.
    """
    projection = None if projection_kernel is None else products.affine(projection_kernel)
    return products.affine(recurrent_kernel, bias), projection


def lstm_step(z, h, c, recurrent, projection, cell_clip, projection_clip):
    """One step of the LSTM with projection, its input product already in `z`.

        i, j, f, o = z + h R + b
        c' = clip(sigmoid(f + 1) c + sigmoid(i) tanh(j), cell_clip)
        h' = clip((sigmoid(o) tanh(c')) Wp, projection_clip)

    Args:
        z: (batch, 4 * units), the input times its kernel, gates in the order i, j, f, o.
        h: (batch, projection_dim), the previous output.
        c: (batch, units), the previous cell.
        recurrent: the function `h -> h R + b` of `step_weights`.
        projection: the function `h -> h Wp` of `step_weights`, or `None`.
        cell_clip: largest absolute value of the cell, or `None`.
        projection_clip: largest absolute value of a projected output, or `None`.

    Returns:
        The new `h` and `c`.
    """
    in_place = products.lstm_step_in_place()
    if in_place is not None:
        return in_place(z, h, c, recurrent, projection, cell_clip, projection_clip, FORGET_BIAS)
    i, j, f, o = ops.split(z + recurrent(h), 4, axis=-1)
    c = ops.sigmoid(f + FORGET_BIAS) * c + ops.sigmoid(i) * ops.tanh(j)
    if cell_clip is not None:
        c = ops.clip(c, -cell_clip, cell_clip)
    h = ops.sigmoid(o) * ops.tanh(c)
    if projection is not None:
        h = projection(h)
        if projection_clip is not None:
            h = ops.clip(h, -projection_clip, projection_clip)
    return h, c


@backend.compiled_once("clips", "go_backwards")
def lstm(inputs, mask, state, weights, clips, go_backwards=False, starts=None, places=None):
    """Runs the LSTM with projection over whole sentences.

    The inputs of all steps are multiplied by their kernel in one product before the loop. A
    masked position is skipped: the state passes it unchanged, its output is exactly 0. So padding
    on either side and holes are all exact, and going backwards reverses each sentence inside its
    own length.

    Args:
        inputs: (batch, time, input_dim); with `places` distinct inputs, (words, input_dim).
        mask: (batch, time) bool, or `None`.
        state: `(h, c)`, of shapes (batch, projection_dim) and (batch, units).
        weights: `(kernel, recurrent_kernel, bias, projection_kernel)`.
        clips: `(cell_clip, projection_clip)`.
        go_backwards: read from the last position to the first.
        starts: (batch, time) bool, or `None`: where the state is set to `state` again before the
            step, so that sentences which share a row know nothing of each other.
        places: (batch, time) int, or `None`: which of the distinct inputs stands where. Each is
            multiplied once, however often it stands there.

    Returns:
        The outputs (batch, time, projection_dim) and the final `(h, c)`.
    """
    kernel, *recurrent_weights = weights
    step_products = step_weights(*recurrent_weights)
    if places is not None:
        table = matmul_rows(inputs, kernel)  # (words, 4 * units)
        z = ops.swapaxes(places, 0, 1)
    else:
        if mask is not None:  # a NaN in the padding would reach the gradient
            inputs = ops.where(mask[..., None], inputs, ops.zeros_like(inputs))
        z = matmul_rows(ops.swapaxes(inputs, 0, 1), kernel)  # (time, batch, 4 * units)

    initial = tuple(state)

    def step(state, slices):
        z, *marks = slices
        if places is not None:
            z = ops.take(table, z, axis=0)
        if starts is not None:
            start = marks.pop()
            state = tuple(ops.where(start, *pair) for pair in zip(initial, state, strict=True))
        h, c = lstm_step(z, *state, *step_products, *clips)
        if mask is None:
            return (h, c), h
        real = marks[0]
        held = ops.where(real, h, state[0]), ops.where(real, c, state[1])
        return held, ops.where(real, h, ops.zeros_like(h))

    marks = (ops.swapaxes(x, 0, 1)[..., None] for x in (mask, starts) if x is not None)
    state, outputs = loops.scan(step, (z, *marks), initial, reverse=go_backwards)
    return ops.swapaxes(outputs, 0, 1), state
