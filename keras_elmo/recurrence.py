"""The projected LSTM as pure functions: one step, and a loop over time."""

from keras import ops

from keras_elmo import backend
from keras_elmo.backend import loops
from keras_elmo.backend import products
from keras_elmo.backpropagation import FORGET_BIAS
from keras_elmo.backpropagation import lstm_with_gradient
from keras_elmo.backpropagation import new_state


def lstm_step(gates, c, project, cell_clip, projection_clip):
    """One step of the LSTM with projection, its gates already multiplied.

        i, j, f, o = gates
        c' = clip(sigmoid(f + 1) c + sigmoid(i) tanh(j), cell_clip)
        h' = clip((sigmoid(o) tanh(c')) Wp, projection_clip)

    Args:
        gates: (batch, 4 * units), x W + h R + b, in the order i, j, f, o. Not to be used again.
        c: (batch, units), the previous cell.
        project: the function `h -> h Wp` of `projection`, or `None`.
        cell_clip: largest absolute value of the cell, or `None`.
        projection_clip: largest absolute value of a projected output, or `None`.

    Returns:
        The new `h` and `c`.
    """
    in_place = products.lstm_step_in_place(gates)
    if in_place is not None:
        return in_place(gates, c, project, cell_clip, projection_clip, FORGET_BIAS)
    gates = products.activated_gates(gates, FORGET_BIAS)
    return new_state(gates, c, project, cell_clip, projection_clip)


def projection(kernel):
    """The function `h -> h Wp`, prepared for many steps; `None` where there is no projection."""
    return None if kernel is None else products.affine([kernel])


def gates_hoisted(inputs, kernel, recurrent_kernel, bias, places=None):
    """The input product of all steps at once, the other one in each step.

    Args:
        inputs: (time, batch, input_dim); with `places` distinct inputs, (words, input_dim).
        kernel: (input_dim, 4 * units).
        recurrent_kernel: (projection_dim, 4 * units).
        bias: (4 * units,).
        places: (time, batch) int, or `None`: which of the distinct inputs stands where.

    Returns:
        What the loop reads, (time, batch, ...), and the function of a slice of it and `h` that
        gives the gates of a step.
    """
    products_of_inputs = products.matmul_rows(inputs, kernel)
    recurrent = products.affine([recurrent_kernel], bias)

    def gates(x, h):
        z = recurrent(h)
        z += x  # where tensors can be changed, this takes no new memory
        return z

    if places is None:
        return products_of_inputs, gates
    return places, lambda place, h: gates(ops.take(products_of_inputs, place, axis=0), h)


def gates_in_loop(inputs, kernel, recurrent_kernel, bias):
    """Both products in each step, as one: x W + h R = [x ; h] [W ; R].

    Faster than `gates_hoisted` where no gradient is wanted: the gates of all steps are more than
    a cache holds, and slower to write and read again than to compute.

    Args, returns:
        as for `gates_hoisted`.
    """
    both = products.affine([kernel, recurrent_kernel], bias)
    return inputs, lambda x, h: both(ops.concatenate([x, h], axis=-1))


@backend.compiled_once("clips", "go_backwards", "hoisted", "training")
def lstm(
    inputs,
    mask,
    state,
    weights,
    clips,
    go_backwards=False,
    starts=None,
    places=None,
    hoisted=True,
    training=False,
):
    """Runs the LSTM with projection over whole sentences.

    A masked position is skipped: the state passes it unchanged, its output is exactly 0. So
    padding on either side and holes are all exact, and going backwards reverses each sentence
    inside its own length.

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
        hoisted: bool, whether the inputs of all steps are multiplied by their kernel in one
            product before the loop (`gates_hoisted`, or else `gates_in_loop`).
        training: bool, whether the gradient is wanted: where all rows read inputs of their own
            from end to end, it goes by `lstm_with_gradient`, which gives the same in less time.

    Returns:
        The outputs (batch, time, projection_dim) and the final `(h, c)`.
    """
    *gate_weights, projection_kernel = weights
    if mask is not None and places is None:  # a NaN in the padding would reach the gradient
        inputs = ops.where(mask[..., None], inputs, ops.zeros_like(inputs))
    if training and starts is None and places is None:
        return _lstm_for_training(inputs, mask, state, weights, clips, go_backwards)
    if places is not None:
        read, gates = gates_hoisted(inputs, *gate_weights, ops.swapaxes(places, 0, 1))
    else:
        prepare = gates_hoisted if hoisted else gates_in_loop
        read, gates = prepare(ops.swapaxes(inputs, 0, 1), *gate_weights)
    project = projection(projection_kernel)
    initial = tuple(state)

    def step(state, slices):
        x, *marks = slices
        if starts is not None:
            start = marks.pop()
            state = tuple(ops.where(start, *pair) for pair in zip(initial, state, strict=True))
        h, c = lstm_step(gates(x, state[0]), state[1], project, *clips)
        if mask is None:
            return (h, c), (h,)
        real = marks[0]
        held = ops.where(real, h, state[0]), ops.where(real, c, state[1])
        return held, (ops.where(real, h, ops.zeros_like(h)),)

    marks = (ops.swapaxes(x, 0, 1)[..., None] for x in (mask, starts) if x is not None)
    state, (outputs,) = loops.scan(step, (read, *marks), initial, reverse=go_backwards)
    return ops.swapaxes(outputs, 0, 1), state


def _lstm_for_training(inputs, mask, state, weights, clips, go_backwards):
    inputs = ops.swapaxes(inputs, 0, 1)
    marks = None if mask is None else ops.swapaxes(mask, 0, 1)
    outputs, state = lstm_with_gradient(inputs, marks, state, weights, clips, go_backwards)
    outputs = ops.swapaxes(outputs, 0, 1)
    if mask is not None:
        outputs = ops.where(mask[..., None], outputs, ops.zeros_like(outputs))
    return outputs, state
