import math

import pytest

from keras_elmo.training.building import build_model
from keras_elmo.training.estimate import estimate
from keras_elmo.training.recipe import Recipe
from keras_elmo.training.vocabulary import Vocabulary

SIZES = {"filters": [[1, 4]], "projection_dim": 4, "units": 8, "batch_size": 2, "num_samples": 3}


@pytest.fixture
def seconds(monkeypatch):
    """Gives the seconds that runs take on a machine of that speed."""

    def estimated(operations_per_second, steps=10, **settings):
        monkeypatch.setattr(
            "keras_elmo.training.estimate._operations_per_second", lambda: operations_per_second
        )
        recipe = Recipe(**SIZES, **settings)
        model = build_model(recipe, Vocabulary(["<S>", "</S>", "<UNK>", "a"]), steps)
        return estimate(model, recipe, steps)[1]

    return estimated


def test_many_small_steps_take_time_on_any_machine(seconds):
    least = seconds(math.inf)
    assert 0.1 < least < seconds(1e6)
    assert seconds(math.inf, steps=20) == pytest.approx(2 * least)
    assert seconds(math.inf, unroll=40) == pytest.approx(2 * least)
