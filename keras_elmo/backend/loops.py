"""Loops over time."""

import keras

from keras_elmo import backend
from keras_elmo.errors import ElmoError


def scan(step, inputs, state, reverse=False, like=None):
    """Runs `state, outputs = step(state, inputs[t])` over the first axis of the inputs.

    The loop is compiled (`lax.scan`, `tf.while_loop`) and its program does not grow with time;
    PyTorch runs a plain Python loop.

    Args:
        step: a pure function `(state, slices) -> (state, outputs)` on tuples of tensors.
        inputs: a tuple of tensors of shape (time, ...).
        state: a tuple of tensors.
        reverse: run from the last slice to the first; outputs stay in the order of the inputs.
        like: a tuple of tensors that have the shapes and dtypes of the outputs of a step; `None`:
            there is one, like the first of the state.

    Returns:
        The final state, and the tuple of outputs, each stacked to (time, ...).
    """
    like = state[:1] if like is None else like
    return _SCANS.get(backend.BACKEND, _python_scan)(step, inputs, state, reverse, like)


def _jax_scan(step, inputs, state, reverse, like):
    import jax

    return jax.lax.scan(step, state, inputs, reverse=reverse)


def _tensorflow_scan(step, inputs, state, reverse, like):
    import tensorflow as tf

    # Reversed here and not by its index: a converter to ONNX takes every read for one at `t`.
    turn = (lambda x: tf.reverse(x, [0])) if reverse else tf.identity
    inputs = [turn(x) for x in inputs]
    time = tf.shape(inputs[0])[0]
    slices = [
        tf.TensorArray(x.dtype, size=time, element_shape=x.shape[1:]).unstack(x) for x in inputs
    ]
    outputs = tuple(
        tf.TensorArray(x.dtype, size=time, element_shape=x.shape, name=f"outputs_{k}")
        for k, x in enumerate(like)
    )

    def body(t, state, outputs):
        new, found = step(state, tuple(x.read(t) for x in slices))
        for after, before in zip(new, state, strict=True):
            after.set_shape(before.shape)  # a batch of one and an unknown one broadcast to unknown
        pairs = zip(outputs, found, strict=True)
        return t + 1, new, tuple(output.write(t, one) for output, one in pairs)

    # maximum_iterations lets XLA size the stacks that the gradient needs.
    _, state, outputs = tf.while_loop(
        lambda t, *_: t < time, body, (0, tuple(state), outputs), maximum_iterations=time
    )
    return state, tuple(turn(output.stack()) for output in outputs)


def _torch_scan(step, inputs, state, reverse, like):
    import torch

    if torch.is_grad_enabled():
        return _python_scan(step, inputs, state, reverse, like)
    # Each output goes where it belongs while a cache still holds it, and its memory is free again.
    time = inputs[0].shape[0]
    outputs = tuple(x.new_empty((time, *x.shape)) for x in like)
    for t in reversed(range(time)) if reverse else range(time):
        state, found = step(state, tuple(x[t] for x in inputs))
        for output, one in zip(outputs, found, strict=True):
            output[t] = one
    return state, outputs


def _python_scan(step, inputs, state, reverse, like):
    times = range(inputs[0].shape[0])
    outputs = []
    for t in reversed(times) if reverse else times:
        state, found = step(state, tuple(x[t] for x in inputs))
        outputs.append(found)
    if not outputs:
        return state, tuple(keras.ops.zeros((0, *x.shape), dtype=x.dtype) for x in like)
    outputs = zip(*(outputs[::-1] if reverse else outputs), strict=True)
    return state, tuple(keras.ops.stack(output) for output in outputs)


def _openvino_scan(step, inputs, state, reverse, like):
    # A graph without an input is evaluated wrongly where one LSTM layer follows another.
    if not _has_parameter(inputs[0]):
        raise ElmoError(
            "Keras on OpenVINO runs a biLM in `predict` alone; for other uses write a model by "
            "`keras-elmo export MODEL TARGET --format openvino`"
        )
    return _python_scan(step, inputs, state, reverse, like)


def _has_parameter(tensor):
    """Whether an OpenVINO tensor depends on an input of its graph."""
    nodes, seen = [tensor.output.get_node()], set()
    while nodes:
        node = nodes.pop()
        if node.get_type_name() == "Parameter":
            return True
        if node.get_name() not in seen:
            seen.add(node.get_name())
            nodes += [value.get_node() for value in node.input_values()]
    return False


_SCANS = {
    "jax": _jax_scan,
    "tensorflow": _tensorflow_scan,
    "torch": _torch_scan,
    "openvino": _openvino_scan,
}
