"""The only package that asks which backend runs: loops, compilation, gradients, devices."""

import functools
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np

from keras_elmo.errors import ElmoError

BACKEND = keras.backend.backend()


def require(name):
    """Refuses to go on where Keras runs on another backend."""
    if name != BACKEND:
        raise ElmoError(
            f"this runs on {name}, but Keras runs on {BACKEND}: set KERAS_BACKEND={name}"
        )


def run_command_on(name):
    """Runs `keras-elmo` once more with the same arguments on a backend; returns its status."""
    if importlib.util.find_spec(name) is None:
        raise ElmoError(f'this needs the package {name}: pip install "keras-elmo[{name}]"')
    command = [sys.executable, "-m", "keras_elmo", *sys.argv[1:]]
    return subprocess.run(command, env={**os.environ, "KERAS_BACKEND": name}).returncode


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
    return _SCANS.get(BACKEND, _python_scan)(step, inputs, state, reverse)


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


def lstm_step_in_place():
    """A step of the LSTM that reuses the memory of its input `z`, where that is faster and allowed.

    PyTorch without gradients spends as long on fresh memory as on the products. XLA has no use
    for it.

    Returns:
        A function of the arguments of `recurrence.lstm_step` and the forget bias, or `None`.
    """
    if BACKEND != "torch":
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
    if BACKEND != "torch":
        return False
    import torch

    on_processor = kernel.device.type == "cpu" and torch.backends.mkldnn.is_available()
    return on_processor and kernel.dtype == torch.float32 and torch.is_inference_mode_enabled()


def _one_dnn_linear(x, weight, bias=None):
    import torch

    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


def compiled_once(*static):
    """Decorates a function of tensors that holds a loop, its arguments named `static` apart.

    JAX compiles a loop that stands outside of compiled code anew in every call, unless the
    function around it is compiled, once for each shape. Elsewhere the function stays as it is.
    """
    if BACKEND != "jax":
        return lambda function: function
    import jax

    return functools.partial(jax.jit, static_argnames=static)


def concrete(x):
    """The values of a tensor as a NumPy array, or `None` where it is symbolic or being traced."""
    if isinstance(x, keras.KerasTensor):
        return None
    if BACKEND == "jax":
        import jax

        return None if isinstance(x, jax.core.Tracer) else keras.ops.convert_to_numpy(x)
    if BACKEND == "tensorflow":
        return x.numpy() if hasattr(x, "numpy") else None
    if BACKEND == "openvino" or (BACKEND == "torch" and x.device.type == "meta"):
        return None  # OpenVINO traces with tensors that look like any other
    return keras.ops.convert_to_numpy(x)


def jit(function, layer):
    """Compiles a function of tensors for inference, once for each shape of its arguments.

    The weights are read anew in every call. PyTorch runs the function as it is, without gradients.

    Args:
        function: a function of `*arrays` that returns tensors, calls the layer and changes nothing.
        layer: the built layer whose weights the function reads.

    Returns:
        The compiled function.
    """
    return _JITS.get(BACKEND, _no_jit)(function, layer)


def _jax_jit(function, layer):
    import jax

    @jax.jit
    def pure(values, *arrays):
        # Weights that a closure holds would be built into the program.
        with keras.StatelessScope(state_mapping=zip(layer.variables, values, strict=True)):
            return function(*arrays)

    return lambda *arrays: pure([v.value for v in layer.variables], *arrays)


def _tensorflow_jit(function, layer):
    import tensorflow as tf

    return tf.function(function, jit_compile=True)


def _torch_jit(function, layer):
    import torch

    def run(*arrays):
        with torch.inference_mode():
            return function(*keras.tree.map_structure(keras.ops.convert_to_tensor, arrays))

    return run


def _no_jit(function, layer):
    return function


_JITS = {"jax": _jax_jit, "tensorflow": _tensorflow_jit, "torch": _torch_jit}


def seed_step(*numbers):
    """Seeds the dropout of a training step where no variable of the model holds its state.

    That of PyTorch draws from a generator of the process, which no checkpoint brings back.

    Args:
        *numbers: ints: a seed, the number of the step, the number of the process.
    """
    if BACKEND == "torch":
        import torch

        torch.manual_seed(np.random.SeedSequence(numbers).generate_state(1)[0])


def thread_pool(count):
    """A pool of threads that run compiled functions at once and share the cores between them.

    The compiled programs of TensorFlow and JAX share one pool of cores by themselves; a thread
    that calls PyTorch has one of its own.
    """
    if BACKEND != "torch":
        return ThreadPoolExecutor(count)
    import torch

    cores = torch.get_num_threads()
    return ThreadPoolExecutor(
        count, initializer=torch.set_num_threads, initargs=(max(1, cores // count),)
    )


def model_step(model, step, *arguments):
    """Runs a training or test step as Keras calls it, `step(data)` changing the variables.

    JAX wants a pure function: there the variables live in a scope while the step runs, and the
    new values are handed back.

    Args:
        model: the `keras.Model`.
        step: a function of the data that returns logs.
        *arguments: those of `train_step` or `test_step`: the data, under JAX after the state.

    Returns:
        The logs, under JAX with the new state.
    """
    if BACKEND != "jax":
        return step(*arguments)
    state, data = arguments
    groups = [model.trainable_variables, model.non_trainable_variables, model.metrics_variables]
    if len(state) == 4:
        groups.insert(2, model.optimizer.variables)
    mapping = [
        pair for group in zip(groups, state, strict=True) for pair in zip(*group, strict=True)
    ]
    with keras.StatelessScope(state_mapping=mapping) as scope:
        logs = step(data)
    return logs, tuple([scope.get_current_value(v) for v in group] for group in groups)


def gradients(loss_function, model, variables, tensors):
    """Gradients of a loss with respect to variables and to tensors that it is given.

    Args:
        loss_function: a function of `*tensors` that returns the loss and anything else.
        model: the `keras.Model` whose variables the function reads.
        variables: list of variables of the model.
        tensors: list of tensors.

    Returns:
        What the function returned, the gradients of the variables, those of the tensors.
    """
    values, found = _GRADIENTS[BACKEND](loss_function, model, variables, tensors)
    return values, found[: len(variables)], found[len(variables) :]


def _jax_gradients(loss_function, model, variables, tensors):
    import jax

    others = model.non_trainable_variables

    def pure(values, tensors):
        mapping = [(v, v.value) for v in model.variables]  # of the scope around this one
        mapping += zip(variables, values, strict=True)
        with keras.StatelessScope(state_mapping=mapping) as scope:
            loss, rest = loss_function(*tensors)
        return loss, (rest, [scope.get_current_value(v) for v in others])

    function = jax.value_and_grad(pure, argnums=(0, 1), has_aux=True)
    (loss, (rest, updates)), found = function([v.value for v in variables], tensors)
    for variable, value in zip(others, updates, strict=True):
        variable.assign(value)
    return (loss, rest), [*found[0], *found[1]]


def _tensorflow_gradients(loss_function, model, variables, tensors):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(tensors)
        loss, rest = loss_function(*tensors)
    found = tape.gradient(loss, [*(v.value for v in variables), *tensors])
    return (loss, rest), [tf.convert_to_tensor(gradient) for gradient in found]


def _torch_gradients(loss_function, model, variables, tensors):
    import torch

    tensors = [x.detach().requires_grad_() for x in tensors]
    loss, rest = loss_function(*tensors)
    found = torch.autograd.grad(loss, [*(v.value for v in variables), *tensors])
    return (loss.detach(), keras.tree.map_structure(torch.Tensor.detach, rest)), list(found)


_GRADIENTS = {
    "jax": _jax_gradients,
    "tensorflow": _tensorflow_gradients,
    "torch": _torch_gradients,
}


def assign_rows(variable, rows, values):
    """Overwrites some rows of a variable where it lies; no row may be named twice."""
    if BACKEND == "jax":
        variable.assign(variable.value.at[rows].set(values, unique_indices=True))
    elif BACKEND == "tensorflow":
        import tensorflow as tf

        variable.value.scatter_update(tf.IndexedSlices(values, rows))
    elif BACKEND == "torch":
        variable.value.data.index_copy_(0, rows.long(), values.detach())
