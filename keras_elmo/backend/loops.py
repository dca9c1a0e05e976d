"""Loops over time."""

import keras

from keras_elmo import backend
from keras_elmo.errors import ElmoError


def scan(step, inputs, state, reverse=False):
    """Runs `state, output = step(state, inputs[t])` over the first axis of the inputs.

    The loop is compiled (`lax.scan`, `tf.while_loop`) and its program does not grow with time;
    PyTorch runs a plain Python loop.

    Args:
        step: a pure function `(state, slices) -> (state, output)` on tuples of tensors and tensors.
        inputs: a tuple of tensors of shape (time, ...).
        state: a tuple of tensors.
        reverse: run from the last slice to the first; outputs stay in the order of the inputs.

    Returns:
        The final state, and the outputs stacked to (time, ...).
    """
    return _SCANS.get(backend.BACKEND, _python_scan)(step, inputs, state, reverse)


def _jax_scan(step, inputs, state, reverse):
    import jax

    return jax.lax.scan(step, state, inputs, reverse=reverse)


def _tensorflow_scan(step, inputs, state, reverse):
    import tensorflow as tf

    # Reversed here and not by its index: a converter to ONNX takes every read for one at `t`.
    turn = (lambda x: tf.reverse(x, [0])) if reverse else tf.identity
    inputs = [turn(x) for x in inputs]
    time = tf.shape(inputs[0])[0]
    slices = [
        tf.TensorArray(x.dtype, size=time, element_shape=x.shape[1:]).unstack(x) for x in inputs
    ]
    outputs = tf.TensorArray(state[0].dtype, size=time, element_shape=state[0].shape)

    def body(t, state, outputs):
        new, output = step(state, tuple(x.read(t) for x in slices))
        for after, before in zip(new, state, strict=True):
            after.set_shape(before.shape)  # a batch of one and an unknown one broadcast to unknown
        return t + 1, new, outputs.write(t, output)

    # maximum_iterations lets XLA size the stacks that the gradient needs.
    _, state, outputs = tf.while_loop(
        lambda t, *_: t < time, body, (0, tuple(state), outputs), maximum_iterations=time
    )
    return state, turn(outputs.stack())


def _python_scan(step, inputs, state, reverse):
    times = range(inputs[0].shape[0])
    outputs = []
    for t in reversed(times) if reverse else times:
        state, output = step(state, tuple(x[t] for x in inputs))
        outputs.append(output)
    if not outputs:
        return state, keras.ops.zeros((0, *state[0].shape), dtype=state[0].dtype)
    return state, keras.ops.stack(outputs[::-1] if reverse else outputs)


def _openvino_scan(step, inputs, state, reverse):
    # A graph without an input is evaluated wrongly where one LSTM layer follows another.
    if not _has_parameter(inputs[0]):
        raise ElmoError(
            "Keras on OpenVINO runs a biLM in `predict` alone; for other uses write a model by "
            "`keras-elmo export MODEL TARGET --format openvino`"
        )
    return _python_scan(step, inputs, state, reverse)


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


_SCANS = {"jax": _jax_scan, "tensorflow": _tensorflow_scan, "openvino": _openvino_scan}
