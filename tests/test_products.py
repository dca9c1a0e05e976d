import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import backend
from keras_elmo.backend import products

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 6)).astype("float32")
BIAS = RNG.normal(size=5).astype("float32")


class Two(keras.Layer):
    """Holds two matrices that are one kernel together."""

    def __init__(self):
        super().__init__()
        upper, lower = (keras.initializers.RandomNormal(stddev=1.0, seed=k) for k in range(2))
        self.upper = self.add_weight(shape=(2, 5), initializer=upper, name="upper")
        self.lower = self.add_weight(shape=(4, 5), initializer=lower, name="lower")

    def numpy(self):
        return np.concatenate([ops.convert_to_numpy(w.value) for w in (self.upper, self.lower)])


@pytest.fixture
def layer():
    return Two()


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("bias", [None, BIAS])
def test_affine_of_kernels_below_each_other(layer, frozen, bias):
    expected = X @ layer.numpy() + (0 if bias is None else bias)
    bias = None if bias is None else ops.convert_to_tensor(bias)

    def function(x):
        return products.affine([layer.upper, layer.lower], bias)(x)

    np.testing.assert_allclose(
        ops.convert_to_numpy(function(ops.convert_to_tensor(X))), expected, atol=1e-4
    )
    compiled = backend.jit(function, layer, frozen)
    for _ in range(3):
        np.testing.assert_allclose(ops.convert_to_numpy(compiled(X)), expected, atol=1e-4)


def test_weights_that_may_change_are_read_in_every_call(layer):
    compiled = backend.jit(lambda x: products.affine([layer.upper, layer.lower])(x), layer)
    compiled(X)
    layer.upper.assign(ops.ones((2, 5)))
    np.testing.assert_allclose(ops.convert_to_numpy(compiled(X)), X @ layer.numpy(), atol=1e-4)


def test_what_is_no_weight_is_never_kept(layer):
    """A matrix that a call computes, such as one that was int8, may lie where the last one lay."""
    compiled = backend.jit(lambda x, k: products.matmul(x, layer.lower * k), layer, frozen=True)
    for k in np.arange(1.0, 9.0, dtype="float32"):
        found = ops.convert_to_numpy(compiled(X[:, :4], k))
        np.testing.assert_allclose(found, X[:, :4] @ layer.numpy()[2:] * k, atol=1e-4)


@pytest.mark.skipif(keras.config.backend() != "torch", reason="the others compile")
def test_frozen_weights_are_laid_out_once(layer, monkeypatch):
    made = []
    below = products._below_each_other
    monkeypatch.setattr(products, "_below_each_other", lambda k: made.append(k) or below(k))
    compiled = backend.jit(lambda x: products.affine([layer.upper, layer.lower])(x), layer, True)
    for _ in range(3):
        compiled(X)
    assert len(made) == 1


@pytest.mark.torch
def test_small_numbers_keep_their_tanh_in_half_precision():
    import torch

    gates = torch.full((1, 4), 1e-3, dtype=torch.bfloat16)
    with torch.no_grad():
        assert float(products.tanh(gates)[0, 0]) == pytest.approx(1e-3, rel=1e-2)
        assert float(products.activated_gates(gates, 1.0)[1]) == pytest.approx(1e-3, rel=1e-2)


@pytest.mark.parametrize("alone", [False, True])
def test_softmax_in_parts(alone):
    """Large logits too; `alone`: without gradients, where PyTorch works in place."""
    logits = RNG.normal(size=(3, 7)).astype("float32") * 50
    factor, x = (RNG.normal(size=shape).astype("float32") for shape in ((3,), (3, 4)))
    log_sum = np.logaddexp.reduce(logits.astype("float64"), axis=1)
    expected = np.exp(logits - log_sum[:, None]) * factor[:, None]

    def run(logits, factor, x):
        powers, highest = products.powers(logits + 0.0)
        sums = ops.log(ops.sum(powers, axis=-1)) + highest
        shares = products.scaled_rows(powers, ops.exp(highest - sums) * factor)
        total = products.add_product_over_rows(ops.ones((4, 7)), x, shares)
        return sums, shares, total

    tensors = [ops.convert_to_tensor(value) for value in (logits, factor, x)]
    found = backend.jit(run, keras.Sequential())(*tensors) if alone else run(*tensors)
    sums, shares, total = map(ops.convert_to_numpy, found)
    np.testing.assert_allclose(sums, log_sum, rtol=1e-6)
    np.testing.assert_allclose(shares, expected, atol=1e-5)
    np.testing.assert_allclose(total, 1 + x.T @ expected, atol=1e-5)


@pytest.mark.torch
@pytest.mark.parametrize("loss", ["sum", "square"])
@pytest.mark.parametrize("rows", [3, 0])
def test_gradient_of_matmul(layer, loss, rows):
    """Written by hand for PyTorch; that of the sum comes as one number, laid out as many."""
    import torch

    x = torch.tensor(X[:rows, 2:], requires_grad=True)
    kernel = layer.lower.value

    def gradients(product):
        y = product(x, kernel)
        return torch.autograd.grad((y if loss == "sum" else y**2).sum(), (x, kernel))

    for found, expected in zip(gradients(products.matmul), gradients(torch.matmul), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.torch
def test_second_derivative_of_matmul(layer):
    import torch

    x = torch.tensor(X[:, 2:], requires_grad=True)
    kernel = layer.lower.value

    def penalty_gradients(product):
        (slope,) = torch.autograd.grad((product(x, kernel) ** 2).sum(), x, create_graph=True)
        return torch.autograd.grad((slope**2).sum(), (x, kernel))

    pairs = zip(penalty_gradients(products.matmul), penalty_gradients(torch.matmul), strict=True)
    for found, expected in pairs:
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("alone", [False, True])
def test_product_over_rows(alone):
    y = RNG.normal(size=(3, 5)).astype("float32")
    tensors = [ops.convert_to_tensor(value) for value in (X, y)]
    run = products.product_over_rows
    found = backend.jit(run, keras.Sequential())(*tensors) if alone else run(*tensors)
    np.testing.assert_allclose(ops.convert_to_numpy(found), X.T @ y, atol=1e-5)
