import keras
import numpy as np
import pytest

from keras_elmo.optimizers.row_adagrad import RowAdagrad
from keras_elmo.optimizers.row_adamw import RowAdamW

PAIRS = {
    "adagrad": (
        lambda: RowAdagrad(0.2),
        lambda: keras.optimizers.Adagrad(0.2, initial_accumulator_value=1.0, epsilon=0.0),
    ),
    "adamw": (
        lambda: RowAdamW(0.1, weight_decay=0.02),
        lambda: keras.optimizers.AdamW(0.1, weight_decay=0.02),
    ),
}


def numpy(variable):
    return keras.ops.convert_to_numpy(variable)


@pytest.mark.parametrize("name", PAIRS)
def test_an_update_of_all_rows_is_that_of_keras(name):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(6, 3)).astype("float32")
    tables = [keras.Variable(start) for _ in range(2)]
    others = [keras.Variable(start) for _ in range(2)]
    ours, theirs = (make() for make in PAIRS[name])
    for optimizer, *variables in zip((ours, theirs), tables, others, strict=True):
        optimizer.build(variables)
    for _ in range(3):
        order = rng.permutation(6).astype("int32")
        gradient = rng.normal(size=(6, 3)).astype("float32")
        values = keras.ops.convert_to_tensor(numpy(tables[0])[order])
        ours.apply_rows(
            tables[0],
            keras.ops.convert_to_tensor(order),
            values,
            keras.ops.convert_to_tensor(gradient[order]),
        )
        gradient = keras.ops.convert_to_tensor(gradient)
        ours.apply([gradient], [others[0]])
        theirs.apply([gradient, gradient], [tables[1], others[1]])
        np.testing.assert_allclose(numpy(tables[0]), numpy(tables[1]), atol=1e-6)
        np.testing.assert_allclose(numpy(others[0]), numpy(others[1]), atol=1e-6)


@pytest.mark.parametrize("name", PAIRS)
def test_other_rows_rest(name):
    start = np.ones((5, 2), "float32")
    table = keras.Variable(start)
    optimizer = PAIRS[name][0]()
    optimizer.build([table])
    rows = keras.ops.convert_to_tensor(np.array([3, 1], "int32"))
    ones = keras.ops.ones((2, 2))
    optimizer.apply_rows(table, rows, ones, ones)
    changed = (numpy(table) != start).all(axis=1)
    assert changed.tolist() == [False, True, False, True, False]
    np.testing.assert_array_equal(numpy(table)[[0, 2, 4]], start[[0, 2, 4]])
