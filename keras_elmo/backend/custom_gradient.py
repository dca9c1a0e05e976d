"""Functions whose gradient is written by hand."""

import functools

from keras_elmo import backend


def with_gradient(function, *tensors):
    """Runs a function of tensors that brings its gradient along.

    Args:
        function: from `*tensors` to a tuple of tensors and the function that takes the gradients
            of a loss with respect to these, one argument each, to a tuple of those with respect
            to `*tensors`. Neither may read a variable.
        *tensors: what it is run on, of floats.

    Returns:
        The tuple of tensors.
    """
    return _RUNS.get(backend.BACKEND, _run_alone)(function, *tensors)


def _jax_run(function, *tensors):
    import jax

    def run(*tensors):
        outputs, pull_back = function(*tensors)
        return outputs, lambda gradients: pull_back(*gradients)

    return jax.custom_gradient(run)(*tensors)


def _tensorflow_run(function, *tensors):
    import tensorflow as tf

    return tf.custom_gradient(function)(*tensors)


def _torch_run(function, *tensors):
    return _torch_function().apply(function, *tensors)


@functools.cache
def _torch_function():
    import torch

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, function, *tensors):
            outputs, ctx.pull_back = function(*tensors)
            # Views, since what the gradient holds on to must not know of it in its turn: only
            # the garbage collector would free such a ring.
            return tuple(x.view_as(x) for x in outputs)

        @staticmethod
        def backward(ctx, *gradients):
            return None, *ctx.pull_back(*gradients)

    return Function


def _run_alone(function, *tensors):
    return function(*tensors)[0]


_RUNS = {"jax": _jax_run, "tensorflow": _tensorflow_run, "torch": _torch_run}
