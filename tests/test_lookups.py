import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import backend
from keras_elmo.backend.lookups import largest_sum

WIDTH, ROWS, COUNT = 3, 7, 5


def sums(tables, numbers):
    """The sums over all windows, (words, positions, count)."""
    positions = numbers.shape[1] - WIDTH + 1
    return sum(tables[k][numbers[:, k : k + positions]] for k in range(WIDTH))


def gradient(d_largest, tables, numbers):
    """That of the tables, element by element."""
    first = sums(tables, numbers).argmax(axis=1)
    found = np.zeros_like(tables)
    for word, column in np.ndindex(first.shape):
        for k in range(WIDTH):
            number = numbers[word, first[word, column] + k]
            found[k, number, column] += d_largest[word, column]
    return found


def drawn(length, words=6):
    rng = np.random.default_rng(length)
    tables = rng.normal(size=(WIDTH, ROWS, COUNT)).astype("float32")
    return tables, rng.integers(0, ROWS, (words, length)).astype("int32")


class Tables(keras.Model):
    def __init__(self, tables):
        super().__init__()
        self.tables = self.add_weight(shape=tables.shape, initializer="zeros")
        self.tables.assign(tables)
        self.built = True


def found_gradient(d_largest, tables, numbers):
    model = Tables(tables)

    def loss():
        largest = largest_sum(model.tables.value, ops.convert_to_tensor(numbers))
        return ops.sum(largest * ops.convert_to_tensor(d_largest)), ()

    return ops.convert_to_numpy(backend.gradients(loss, model, [model.tables], [])[1][0])


@pytest.mark.parametrize("length", [WIDTH, 4, 16, 300])
def test_the_largest_sum_of_all_windows(length):
    tables, numbers = drawn(length)
    largest = largest_sum(ops.convert_to_tensor(tables), ops.convert_to_tensor(numbers))
    expected = sums(tables, numbers).max(axis=1)
    np.testing.assert_allclose(ops.convert_to_numpy(largest), expected, atol=1e-6)


@pytest.mark.parametrize("length", [WIDTH, 4, 16, 300])
def test_the_gradient_goes_to_what_was_summed(length):
    tables, numbers = drawn(length)
    d_largest = np.random.default_rng(1).normal(size=(len(numbers), COUNT)).astype("float32")
    found = found_gradient(d_largest, tables, numbers)
    np.testing.assert_allclose(found, gradient(d_largest, tables, numbers), atol=1e-5)


def test_of_equal_sums_one_alone_gets_the_gradient():
    tables, _ = drawn(WIDTH)
    numbers = np.full((2, 9), 3, dtype="int32")  # every window the same
    found = found_gradient(np.ones((2, COUNT), dtype="float32"), tables, numbers)
    np.testing.assert_allclose(found[:, 3], 2.0)
    assert found.sum() == 2.0 * WIDTH * COUNT


def test_a_nan_is_the_largest():
    tables, numbers = drawn(9)
    tables[0, numbers[0, 4], 2] = np.nan
    largest = largest_sum(ops.convert_to_tensor(tables), ops.convert_to_tensor(numbers))
    assert np.isnan(ops.convert_to_numpy(largest)[0, 2])
    d_largest = np.ones((len(numbers), COUNT), dtype="float32")
    assert found_gradient(d_largest, tables, numbers).shape == tables.shape
