import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import ElmoError
from keras_elmo.tasks import TokenClassifier
from keras_elmo.tasks import adapt
from keras_elmo.tasks import fine_tuning
from tests.tasks.conftest import SENTENCES
from tests.tasks.conftest import TAGS


@pytest.fixture
def tagger(make_features):
    return TokenClassifier(make_features(), TAGS, units=4)


def values(layer):
    return {v.path: ops.convert_to_numpy(v).copy() for v in layer.variables}


def changed(before, layer):
    after = values(layer)
    return {path for path in before if not np.array_equal(before[path], after[path])}


def test_phases(make_elmo):
    elmo = make_elmo()
    assert fine_tuning.phases(elmo, "mix", 5) == [(0, 5, 0)]
    assert fine_tuning.phases(elmo, "all", 5) == [(0, 5, 3)]
    gradual = [(0, 1, 0), (1, 2, 1), (2, 3, 2), (3, 5, 3)]
    assert fine_tuning.phases(elmo, "gradual", 5) == gradual
    assert fine_tuning.phases(elmo, "gradual", 2) == [(0, 1, 0), (1, 2, 1)]
    assert fine_tuning.phases(None, "gradual", 2) == [(0, 2, 0)]
    with pytest.raises(ElmoError, match="fine_tune must be one of mix, gradual, all"):
        fine_tuning.phases(elmo, "some", 2)


@pytest.mark.parametrize(
    ("strategy", "epochs", "parts"),
    [
        ("gradual", 1, []),
        ("gradual", 2, ["forward_1", "backward_1"]),
        ("all", 1, ["forward_0", "forward_1", "backward_0", "backward_1", "embedding"]),
    ],
)
def test_what_is_trained(tagger, strategy, epochs, parts):
    elmo = tagger.features.elmo
    layers = {
        f"{d}_{k}": getattr(elmo.bilm, f"{d}_{k}") for d in ("forward", "backward") for k in (0, 1)
    }
    layers["embedding"] = elmo.embedding
    before = {name: values(layer) for name, layer in layers.items()}
    history = tagger.fit(
        SENTENCES, TAGS, epochs=epochs, batch_size=4, fine_tune=strategy, verbose=0
    )
    moved = [name for name, layer in layers.items() if changed(before[name], layer)]
    assert sorted(moved) == sorted(parts)
    assert len(history.history["loss"]) == epochs


def test_layers_learn_at_their_own_rate():
    rates = {"a": 0.5, "b": 0.25}
    steps = {}
    for name in "abc":
        variable = keras.Variable(np.ones(3, "float32"), name=name)
        optimizer = fine_tuning.LayerwiseAdam(rates, learning_rate=0.1)
        optimizer.build([variable])
        optimizer.apply([ops.ones(3)], [variable])
        steps[name] = 1.0 - ops.convert_to_numpy(variable)
    np.testing.assert_allclose(steps["a"], 0.5 * steps["c"], rtol=1e-5)
    np.testing.assert_allclose(steps["b"], 0.25 * steps["c"], rtol=1e-5)
    again = fine_tuning.LayerwiseAdam.from_config(optimizer.get_config())
    assert again.rates == rates


def test_rates_fall_with_the_depth(make_elmo):
    elmo = make_elmo()
    rates = fine_tuning.learning_rates(elmo, 0.5)
    assert {rates[v.path] for v in elmo.bilm.forward_1.variables} == {0.5}
    assert {rates[v.path] for v in elmo.bilm.backward_0.variables} == {0.25}
    assert {rates[v.path] for v in elmo.embedding.variables} == {0.125}
    assert len(rates) == len(elmo.bilm.variables) + len(elmo.embedding.variables)


def test_layer_decay_is_used(make_features):
    steps = {}
    for decay in (1.0, 0.01):
        tagger = TokenClassifier(make_features(), TAGS, units=4, dropout=0.0)
        before = values(tagger.features.elmo.bilm)
        tagger.fit(
            SENTENCES, TAGS, epochs=1, batch_size=4, fine_tune="all", layer_decay=decay, verbose=0
        )
        after = values(tagger.features.elmo.bilm)
        steps[decay] = max(np.abs(before[path] - after[path]).max() for path in before)
    assert steps[0.01] == pytest.approx(0.01 * steps[1.0], rel=0.1)


def test_adapting_lowers_the_loss_on_the_text(make_elmo):
    elmo = make_elmo()
    before = values(elmo.bilm)
    sentences = SENTENCES * 5
    history = adapt(elmo, sentences, epochs=3, batch_size=2, unroll=5, learning_rate=0.2, verbose=0)
    assert changed(before, elmo.bilm)
    assert history.history["loss"][-1] < history.history["loss"][0]
    with pytest.raises(ElmoError, match="no sentence to adapt"):
        adapt(elmo, [[]])


@pytest.mark.parametrize("sentences", ["a sentence", ["a sentence", "and another"]])
def test_adapting_to_a_string(make_elmo, sentences):
    with pytest.raises(TypeError, match="Expected a list of"):
        adapt(make_elmo(), sentences)


def test_adapting_for_no_epoch(make_elmo):
    with pytest.raises(ElmoError, match="epochs must be at least 1, not 0"):
        adapt(make_elmo(), [["a", "sentence"]], epochs=0)
