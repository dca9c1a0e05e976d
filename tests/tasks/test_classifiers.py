import h5py
import keras
import numpy as np
import pytest

from keras_elmo import ElmoError
from keras_elmo import tasks
from keras_elmo.tasks import PairClassifier
from keras_elmo.tasks import TextClassifier

TEXTS = ["so very good", "so very bad", "good", "bad film"]
LABELS = ["yes", "no", "yes", "no"]
PAIRS = [("It rains .", "It is wet"), ("It rains .", "It is dry ."), ("Sun", "dry"), ("Sun", "wet")]


def fit(model, examples, targets, epochs=30):
    return model.fit(examples, targets, epochs=epochs, batch_size=4, learning_rate=0.04, verbose=0)


@pytest.mark.parametrize(("kind", "place"), [("elmo", "input"), ("both", "both")])
def test_texts(make_features, tmp_path, kind, place):
    model = TextClassifier(make_features(kind, place), LABELS, units=8, dropout=0.0)
    fit(model, TEXTS, LABELS)
    assert model.predict(TEXTS, batch_size=4) == LABELS
    assert model.evaluate(TEXTS, LABELS) == {"accuracy": 100.0}
    model.save(tmp_path / "model")
    again = tasks.load(tmp_path / "model")
    assert again.labels == ["no", "yes"]
    assert again.predict(TEXTS, batch_size=4) == LABELS


def test_pairs(make_features, tmp_path):
    model = PairClassifier(make_features("both"), LABELS, units=8, dropout=0.0, metrics=["f1"])
    fit(model, PAIRS, LABELS)
    assert model.predict(PAIRS, batch_size=4) == LABELS
    model.save(tmp_path / "model")
    again = tasks.load(tmp_path / "model")
    assert again.predict(PAIRS, batch_size=4) == LABELS
    assert again.evaluate(PAIRS, LABELS) == {"f1": 100.0}


def test_similarity(make_features):
    model = PairClassifier(make_features("both"), units=8, dropout=0.0)
    history = fit(model, PAIRS, [4.0, 0.5, 5.0, 1.0], epochs=60)
    assert history.history["loss"][-1] < 0.5
    scores = model.evaluate(PAIRS, [4.0, 0.5, 5.0, 1.0])
    assert list(scores) == ["pearson_spearman", "pearson", "spearman"]
    assert scores["pearson"] > 90


@pytest.mark.parametrize("example", ["a b", ("a b",), ("a", "b", "c")])
def test_what_is_no_pair(make_features, example):
    model = PairClassifier(make_features(), LABELS, units=4)
    with pytest.raises(TypeError, match="expected a pair of texts, got"):
        model.predict([example])


def test_the_order_and_the_padding_do_not_matter(make_features):
    model = PairClassifier(make_features(), LABELS, units=8)
    batch = model.read([*PAIRS, ("a " * 40, "b")])
    logits = [
        model.predict_on_batch(tasks.task_model.Batches(model, texts, batch_size=size)[0][0])
        for texts, size in ((batch[:1], 1), (batch, 5))
    ]
    order = tasks.task_model.Batches(model, batch, batch_size=5).rows(0).tolist()
    here = logits[1]["logits"][order.index(0)]
    np.testing.assert_allclose(logits[0]["logits"][0], here, atol=1e-5)


def test_an_empty_sentence_has_an_answer(make_features):
    model = TextClassifier(make_features(), LABELS, units=8)
    assert model.predict([[], "good"])[0] in LABELS


@pytest.mark.parametrize(
    ("labels", "targets", "message"),
    [
        (["no", "yes"], ["no", "no", "no", "no"], "no training example of the label 'yes'"),
        (["no", "yes"], ["no", "yes", "no", "so"], "example 3: the label 'so' is not among"),
    ],
)
def test_wrong_labels(make_features, labels, targets, message):
    keras.utils.set_random_seed(0)
    model = TextClassifier(make_features(), labels, units=4)
    with pytest.raises(ElmoError, match=message):
        model.fit(TEXTS, targets)


def test_targets_that_cannot_be_scored(make_features):
    model = TextClassifier(make_features(), LABELS, units=4)
    with pytest.warns(UserWarning, match="1 labels to be scored are unknown.*: 'so'"):
        model.evaluate(TEXTS[:2], [LABELS[0], "so"])
    model = PairClassifier(make_features(), units=4)
    for target in ("good", float("nan")):
        for call in (model.fit, model.evaluate):
            with pytest.raises(ElmoError, match="example 1: the target .* is not a finite number"):
                call(PAIRS[:2], [1.0, target])


def test_a_single_class_is_saved_and_loaded(make_features, tmp_path):
    """Nothing is learned of it: its moments are zeros."""
    model = TextClassifier(make_features("both"), ["yes"], units=8)
    fit(model, TEXTS, ["yes"] * 4, epochs=1)
    model.save(tmp_path / "model")
    assert tasks.load(tmp_path / "model").predict(TEXTS) == ["yes"] * 4


def test_a_matrix_of_the_elmo_that_is_all_zeros(make_features, tmp_path):
    TextClassifier(make_features("both"), LABELS, units=8).save(tmp_path / "model")
    kernel = "features/elmo/layers/bi_lm/backward_1/vars/0"
    with h5py.File(tmp_path / "model" / "model.weights.h5", "r+") as file:
        file[kernel][...] = 0
    with pytest.raises(ElmoError, match=rf"weights\.h5: tensor {kernel} is all zeros"):
        tasks.load(tmp_path / "model")


def test_one_example_has_no_correlation(make_features):
    model = PairClassifier(make_features(), units=8)
    with pytest.raises(ElmoError, match="a correlation needs two or more"):
        model.evaluate(PAIRS[:1], [1.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1, not 0"),
        ({"batch_size": -1}, "batch_size must be at least 1, not -1"),
        ({"layer_decay": -1.0}, "layer_decay must be more than 0 and at most 1, not -1.0"),
        ({"layer_decay": 2}, "layer_decay must be more than 0 and at most 1, not 2"),
    ],
)
def test_numbers_that_make_no_sense(make_features, options, message):
    model = TextClassifier(make_features(), LABELS, units=8)
    with pytest.raises(ElmoError, match=message):
        model.fit(TEXTS, LABELS, **options)
