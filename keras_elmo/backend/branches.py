"""Parts of a loss that do not need each other, made at once."""

import functools

from keras_elmo import backend


def at_once(functions, variables, *tensors):
    """Runs functions of the same tensors, on the processor under PyTorch each on its own cores.

    TensorFlow and XLA see by themselves what can run at once. PyTorch divides one operation after
    the other over the cores, which wait for each other at the end of each: in the loop of an LSTM
    that takes as long as the operations. The gradients are found in the same way.

    Args:
        functions: list of functions of `*tensors` that return tuples of as many tensors. They may
            not draw random numbers, whose order would be left to chance.
        variables: list of the variables that any of them reads.
        *tensors: what they are run on.

    Returns:
        A list of what they return.
    """
    if not _shares_cores(len(functions), tensors):
        return [function(*tensors) for function in functions]
    parameters = [variable.value for variable in variables]
    found = _torch_function().apply(functions, len(tensors), *tensors, *parameters)
    return _parts(found, len(functions))


def _shares_cores(count, tensors):
    """Whether PyTorch has a core or more for each of so many functions of these tensors."""
    if backend.BACKEND != "torch":
        return False
    import torch

    return torch.get_num_threads() >= count and all(map(backend.on_processor, tensors))


@functools.cache
def _torch_function():
    import torch

    class Function(torch.autograd.Function):
        """A graph of its own for each of the functions, inside one node of the graph around."""

        @staticmethod
        def forward(ctx, functions, count, *tensors):
            def run(function):
                with torch.enable_grad():
                    own = [x.detach().requires_grad_(x.requires_grad) for x in tensors[:count]]
                    return own, function(*own)

            ctx.set_materialize_grads(False)
            ctx.parameters = tensors[count:]
            ctx.runs = list(_threads(len(functions)).map(run, functions))
            return tuple(x.detach() for _, outputs in ctx.runs for x in outputs)

        @staticmethod
        def backward(ctx, *gradients):
            def pull_back(run, gradients):
                own, outputs = run
                used = [k for k, gradient in enumerate(gradients) if gradient is not None]
                inputs = [*own, *ctx.parameters]
                learned = [k for k, x in enumerate(inputs) if x.requires_grad]
                found = torch.autograd.grad(
                    [outputs[k] for k in used],
                    [inputs[k] for k in learned],
                    [gradients[k] for k in used],
                    allow_unused=True,
                )
                found = dict(zip(learned, found, strict=True))
                return [found.get(k) for k in range(len(inputs))]

            parts = _parts(gradients, len(ctx.runs))
            found = _threads(len(parts)).map(pull_back, ctx.runs, parts)
            ctx.runs = None
            return None, None, *map(_sum, zip(*found, strict=True))

    return Function


@functools.cache
def _threads(count):
    return backend.thread_pool(count)


def _parts(values, count):
    size = len(values) // count
    return [values[first : first + size] for first in range(0, len(values), size)]


def _sum(values):
    values = [value for value in values if value is not None]
    return sum(values[1:], start=values[0]) if values else None
