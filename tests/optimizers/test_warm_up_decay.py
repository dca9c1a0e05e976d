import keras
import numpy as np
import pytest

from keras_elmo.optimizers.warm_up_decay import WarmUpDecay


@pytest.mark.parametrize(
    ("decay", "expected"),
    [("constant", [2, 2, 2]), ("linear", [2, 1, 0]), ("cosine", [2, 1, 0])],
)
def test_rises_in_a_line_and_falls_by_its_shape(decay, expected):
    schedule = WarmUpDecay(2.0, steps=108, warm_up_steps=8, decay=decay)
    values = [float(schedule(step)) for step in (0, 3, 7)]
    np.testing.assert_allclose(values, [0.25, 1, 2], rtol=1e-6)
    values = [float(schedule(step)) for step in (8, 58, 108)]
    np.testing.assert_allclose(values, expected, atol=1e-6)


def test_cosine_is_that_of_keras():
    ours = WarmUpDecay(0.3, steps=50, decay="cosine")
    theirs = keras.optimizers.schedules.CosineDecay(0.3, 50)
    for step in (0, 13, 49, 60):
        assert float(ours(step)) == pytest.approx(float(theirs(step)), abs=1e-6)


def test_its_settings_come_back():
    schedule = WarmUpDecay(0.3, steps=50, warm_up_steps=5, decay="linear")
    again = WarmUpDecay.from_config(schedule.get_config())
    assert float(again(20)) == float(schedule(20))
