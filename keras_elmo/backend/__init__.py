"""The only package that asks which backend runs. Here: compilation, gradients, threads."""

import ctypes
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
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8  # options of mallopt


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


def on_processor(tensor):
    """Whether what is made of a tensor runs on a processor, and not on an accelerator."""
    if BACKEND == "jax":
        import jax

        return jax.default_backend() == "cpu"
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return not tf.config.list_physical_devices("GPU")
    return BACKEND == "torch" and tensor.device.type == "cpu"


def looks_up_in_training(tensor):
    """Whether a gradient through looked up rows is faster than one through a product.

    A graph of TensorFlow that XLA does not compile loses half its speed by it.
    """
    return BACKEND != "tensorflow" and on_processor(tensor)


def jit(function, layer, frozen=False):
    """Compiles a function of tensors for inference, once for each shape of its arguments.

    The weights are read anew in every call. PyTorch runs the function as it is, without gradients.

    Args:
        function: a function of `*arrays` that returns tensors, calls the layer and changes nothing.
        layer: the built layer whose weights the function reads.
        frozen: bool, whether the weights will never change. PyTorch then lays them out in memory
            as its products want them, once and not in every call.

    Returns:
        The compiled function.
    """
    return _JITS.get(BACKEND, _no_jit)(function, layer, frozen)


def is_compiled():
    """Whether `jit` compiles, so that operations in a row need no memory between them."""
    return BACKEND in ("jax", "tensorflow")


def _jax_jit(function, layer, frozen):
    import jax

    @jax.jit
    def pure(values, *arrays):
        # Weights that a closure holds would be built into the program.
        with keras.StatelessScope(state_mapping=zip(layer.variables, values, strict=True)):
            return function(*arrays)

    return lambda *arrays: pure([v.value for v in layer.variables], *arrays)


def _tensorflow_jit(function, layer, frozen):
    import tensorflow as tf

    programs = {}

    def run(*arrays):
        shapes = tuple((x.dtype, *x.shape) for x in tf.nest.flatten(arrays))
        if shapes not in programs:
            # TensorFlow warns of many shapes of a function, which it knows by its code: hidden.
            hidden = functools.partial(function)
            programs[shapes] = tf.function(hidden, jit_compile=True)
        return programs[shapes](*arrays)

    return run


def _torch_jit(function, layer, frozen):
    import torch

    from keras_elmo.backend.layouts import kept_layouts

    layouts = {} if frozen else None

    def run(*arrays):
        with torch.inference_mode(), kept_layouts(layouts):
            return function(*keras.tree.map_structure(keras.ops.convert_to_tensor, arrays))

    return run


def _no_jit(function, layer, frozen):
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


def keep_freed_memory():
    """Lets the process keep the memory that it frees, where it would ask the system for it anew.

    Every batch on a processor takes and frees hundreds of megabytes; glibc gives them back, and to
    get them again, page by page, costs a tenth of embedding and a quarter of a step of training.
    One arena, since all but the first hold no more than 64 MB.
    """
    if not sys.platform.startswith("linux"):
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # that of glibc alone; the numbers are those of its malloc.h
        for option, value in ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, 2**31 - 1)):
            library.mallopt(option, value)


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
