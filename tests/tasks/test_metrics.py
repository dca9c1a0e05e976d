import itertools

import numpy as np
import pytest

from keras_elmo import ElmoError
from keras_elmo.tasks import metrics
from keras_elmo.tasks import tags


def test_entities_count_whole():
    truths = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O"]]
    answers = [["B-PER", "O", "O", "B-LOC"], ["B-LOC", "B-PER"]]
    scores = metrics.entities(truths, answers)
    # 3 true, 4 found, 2 right
    assert scores["precision"] == 50.0
    assert scores["recall"] == pytest.approx(200 / 3)
    assert scores["f1"] == pytest.approx(400 / 7)
    assert (scores["f1_LOC"], scores["f1_PER"]) == (100.0, 0.0)


def test_classes():
    truths, answers = ["1", "1", "0", "0"], ["1", "0", "0", "0"]
    names = ["accuracy", "f1", "accuracy_f1", "matthews"]
    scores = metrics.classes(truths, answers, names)
    matthews = (1 * 2 - 0 * 1) / np.sqrt(1 * 2 * 2 * 3)
    expected = [75, 200 / 3, (75 + 200 / 3) / 2, 100 * matthews]
    assert list(scores.values()) == pytest.approx(expected)
    with pytest.raises(ElmoError, match="unknown metric 'bleu'"):
        metrics.classes(truths, answers, ["bleu"])


def test_correlations():
    names = ["pearson", "spearman", "pearson_spearman"]
    scores = metrics.classes([1.0, 2.0, 3.0], [1.0, 4.0, 9.0], names)
    pearson = 100 * np.corrcoef([1, 2, 3], [1, 4, 9])[0, 1]
    assert list(scores.values()) == pytest.approx([pearson, 100, (pearson + 100) / 2])
    assert metrics.classes([1.0, 2.0], [3.0, 3.0], ["pearson"]) == {"pearson": 0.0}


@pytest.mark.parametrize(
    ("answers", "prediction", "f1", "exact"),
    [
        (["the Cat"], "cat.", 100, 100),
        (["Denver Broncos", "The Denver Broncos!"], "a  denver broncos", 100, 100),
        (["gold"], "gold anniversary", 200 / 3, 0),
        (["gold", "golden anniversary"], "golden", 200 / 3, 0),
        (["x"], "", 0, 0),
        (["1,000"], "1000", 100, 100),
    ],
)
def test_squad(answers, prediction, f1, exact):
    found = metrics.squad([answers], [prediction])
    assert found == pytest.approx({"f1": f1, "exact_match": exact})


def test_translations():
    same = "the cat sat on the mat ."
    assert metrics.translations([same], [same]) == pytest.approx({"bleu": 100, "chrf": 100})
    assert metrics.translations([same], ["xyz"])["chrf"] < 5


def test_tags():
    assert tags.broken(["O", "I-A", "I-A", "I-B", "B-B", "I-B"]) == [1, 3]
    assert tags.mended(["I-A", "I-A", "I-B"]) == ["B-A", "I-A", "B-B"]
    labels = ["O", "B-A", "I-A", "B-B", "I-B"]
    transitions, starts = tags.constraints(labels)
    pairs = itertools.product(labels, labels)
    flat = itertools.chain.from_iterable(transitions)
    allowed = {pair for pair, ok in zip(pairs, flat, strict=True) if ok}
    assert {(a, b) for a, b in allowed if b == "I-A"} == {("B-A", "I-A"), ("I-A", "I-A")}
    assert starts == [True, True, False, True, False]
    assert not tags.is_bio(["O"])
