import logging

import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import backend
from keras_elmo.backend import loops


def step(state, slices):
    (total,) = state
    total = 2 * total + slices[0]
    return (total,), (total,)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse):
    x = np.arange(6, dtype="float32").reshape(3, 2)
    state, (outputs,) = loops.scan(
        step, (ops.convert_to_tensor(x),), (ops.ones((2,)),), reverse=reverse
    )
    total, expected = np.ones(2), np.zeros((3, 2))
    for t in (2, 1, 0) if reverse else (0, 1, 2):
        expected[t] = total = 2 * total + x[t]
    np.testing.assert_array_equal(ops.convert_to_numpy(outputs), expected)
    np.testing.assert_array_equal(ops.convert_to_numpy(state[0]), total)


@pytest.mark.torch
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_without_gradients(reverse):
    import torch

    with torch.no_grad():
        test_scan(reverse)
        test_scan_over_nothing()


def test_scan_over_nothing():
    state, (outputs,) = loops.scan(step, (ops.zeros((0, 2)),), (ops.ones((2,)),))
    assert outputs.shape == (0, 2)
    np.testing.assert_array_equal(ops.convert_to_numpy(state[0]), [1, 1])


def test_concrete():
    values = np.array([[1, 2]])
    np.testing.assert_array_equal(backend.concrete(ops.convert_to_tensor(values)), values)
    assert backend.concrete(keras.KerasTensor((2, 3))) is None


def test_concrete_while_tracing():
    class Probe(keras.layers.Layer):
        seen = []

        def call(self, x):
            self.seen.append(backend.concrete(x))
            return x

    inputs = keras.Input((2,))
    model = keras.Model(inputs, Probe()(inputs))
    model.predict_on_batch(np.ones((1, 2)))
    last = Probe.seen[-1]
    assert last is None or keras.config.backend() == "torch"


def test_jit():
    layer = keras.layers.Dense(2, use_bias=False, kernel_initializer="ones")
    layer.build((None, 3))
    function = backend.jit(layer, layer)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_allclose(ops.convert_to_numpy(function(x)), x @ np.ones((3, 2)))
    layer.kernel.assign(2 * np.ones((3, 2)))  # read anew
    np.testing.assert_allclose(ops.convert_to_numpy(function(x)), 2 * x @ np.ones((3, 2)))


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="a warning of TensorFlow")
def test_jit_of_many_shapes_does_not_warn(caplog):
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    function = backend.jit(layer, layer)
    logger = logging.getLogger("tensorflow")
    logger.addHandler(caplog.handler)
    try:
        for rows in range(1, 9):
            function(np.zeros((rows, 3), "float32"))
    finally:
        logger.removeHandler(caplog.handler)
    assert not caplog.records


def test_compiled_once_keeps_the_function():
    @backend.compiled_once("power")
    def function(x, power):
        return x**power

    assert float(function(ops.convert_to_tensor(3.0), power=2)) == 9.0


def test_assign_rows():
    variable = keras.Variable(np.zeros((4, 2), "float32"))
    rows, values = ops.convert_to_tensor([3, 1]), ops.convert_to_tensor([[1.0, 2.0], [3.0, 4.0]])
    backend.assign_rows(variable, rows, values)
    expected = [[0, 0], [3, 4], [0, 0], [1, 2]]
    np.testing.assert_array_equal(ops.convert_to_numpy(variable), expected)


def test_gradients():
    layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
    inputs = keras.Input((2,))
    model = keras.Model(inputs, layer(inputs))
    x = ops.convert_to_tensor([[1.0, 2.0], [3.0, 4.0]])

    def loss(x):
        outputs = model(x)
        return ops.sum(ops.square(outputs)), {"outputs": outputs}

    (value, rest), of_variables, of_tensors = backend.gradients(
        loss, model, model.trainable_variables, [x]
    )
    assert float(value) == 9 + 49
    np.testing.assert_allclose(ops.convert_to_numpy(rest["outputs"]), [[3], [7]])
    np.testing.assert_allclose(ops.convert_to_numpy(of_variables[0]), [[48], [68]])
    np.testing.assert_allclose(ops.convert_to_numpy(of_tensors[0]), [[6, 6], [14, 14]])


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_keep_freed_memory(monkeypatch, platform):
    options = {}

    class Library:
        @staticmethod
        def mallopt(option, value):
            options[option] = value

    monkeypatch.setattr(backend.sys, "platform", platform)
    monkeypatch.setattr(backend.ctypes, "CDLL", lambda path: Library())
    backend.keep_freed_memory()
    # M_ARENA_MAX, M_MMAP_MAX and M_TRIM_THRESHOLD of glibc's malloc.h
    assert options == ({-8: 1, -4: 0, -1: 2**31 - 1} if platform == "linux" else {})


def test_keep_freed_memory_without_glibc(monkeypatch):
    monkeypatch.setattr(backend.sys, "platform", "linux")
    monkeypatch.setattr(backend.ctypes, "CDLL", lambda path: object())
    backend.keep_freed_memory()
