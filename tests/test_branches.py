"""What is run at once gives the numbers and gradients of one after the other."""

import functools
import threading

import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo.backend.branches import at_once


@pytest.fixture
def two_threads():
    import torch

    count = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(count)


@pytest.mark.torch
def test_numbers_gradients_and_threads(two_threads):
    import torch

    kernels = [keras.Variable(np.full((3, 3), k + 1.0, "float32")) for k in range(2)]
    unused = keras.Variable(np.ones(2, "float32"))
    ran = []

    def branch(k, x, y):
        ran.append(threading.current_thread().name)
        product = ops.matmul(ops.tanh(x), kernels[k])
        return ops.sum(product * y) if k else ops.sum(product), product

    functions = [functools.partial(branch, k) for k in range(2)]
    found = []
    for run in (at_once, lambda functions, _, *tensors: [f(*tensors) for f in functions]):
        x, y = (torch.arange(6.0).reshape(2, 3).requires_grad_() for _ in range(2))
        (one, _), (other, product) = run(functions, [*kernels, unused], x, y)
        wanted = [x, y, *(kernel.value for kernel in kernels)]
        gradients = torch.autograd.grad(one + 3 * other, wanted)
        found.append([part.detach().numpy() for part in (one, other, product, *gradients)])
    for here, there in zip(*found, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-6)
    assert threading.current_thread().name not in ran[:2]
    assert ran[2:] == [threading.current_thread().name] * 2


@pytest.mark.torch
def test_an_error_in_one_is_raised(two_threads):
    def fails(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        at_once([fails, fails], [], ops.ones(3))
