import json

import numpy as np
import pytest

from keras_elmo.text.characters import batch_to_ids
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo.training.windows import WIDTHS
from keras_elmo.training.windows import Windows


@pytest.fixture
def corpus(tmp_path):
    rng = np.random.default_rng(3)
    for name in "ab":
        lengths = rng.integers(1, 30, 200)
        lines = [" ".join(f"w{i}" * (1 + i % 9) for i in rng.integers(0, 60, n)) for n in lengths]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
    return Corpus(tmp_path / "*.txt")


def characters(batch, places, width=50):
    """The full character ids of a batch's words."""
    tables = []
    for kept in WIDTHS:
        ids = batch[f"char_ids_{kept}"]
        tables.append(np.pad(ids, ((0, 0), (0, width - kept)), constant_values=261))
    return np.concatenate(tables)[places]


@pytest.mark.parametrize(("name", "batch_size", "unroll"), [("B4_U7", 4, 7), ("B32_U20", 32, 20)])
def test_batches_are_those_of_the_original(shared_data, name, batch_size, unroll):
    folder = shared_data / "fixtures-golden" / "C-tf1-checkpoint"
    golden = np.load(folder / "batches.npz")
    vocabulary = Vocabulary.read(folder / "vocab.txt")
    windows = Windows(Corpus(folder / "heldout.txt"), vocabulary, batch_size, unroll)
    count = len({key.split("/")[1] for key in golden if key.startswith(name)})
    for i, batch in zip(range(count), windows, strict=False):
        for direction, end in (("forward", ""), ("backward", "_reverse")):
            expected = golden[f"{name}/batch{i}/next_token_id{end}"]
            np.testing.assert_array_equal(batch[f"{direction}_targets"], expected)
            if name == "B4_U7":
                expected = golden[f"{name}/batch{i}/tokens_characters{end}"] + 1
                np.testing.assert_array_equal(characters(batch, batch[direction]), expected)


def test_long_sentence_loses_no_target(tmp_path):
    words = [f"w{i}" for i in range(45)]
    (tmp_path / "long.txt").write_text(" ".join(words) + "\n" + "x " * 40)
    corpus = Corpus(tmp_path / "long.txt")
    vocabulary = Vocabulary.build(corpus)
    batches = list(Windows(corpus, vocabulary, batch_size=1, unroll=20))[:3]
    forward = np.concatenate([batch["forward_targets"][0] for batch in batches])[:46]
    backward = np.concatenate([batch["backward_targets"][0] for batch in batches])[:46]
    assert [vocabulary.words[i] for i in forward] == [*words, "</S>"]
    assert [vocabulary.words[i] for i in backward] == [*words[::-1], "<S>"]
    inputs = np.concatenate([characters(batch, batch["forward"][0]) for batch in batches])[:46]
    np.testing.assert_array_equal(inputs, batch_to_ids([["<S>", *words]])[0])


def test_a_pass_holds_every_sentence_once(corpus):
    vocabulary = Vocabulary.build(corpus)
    windows = Windows(corpus, vocabulary, batch_size=1, unroll=1, seed=4)
    targets = [vocabulary.words[batch["forward_targets"][0, 0]] for batch in windows]
    assert len(targets) == corpus.num_predictions()
    sentences = sorted(" ".join(targets).split(" </S>"))
    assert sorted(s.strip() for s in sentences if s) == sorted(" ".join(s) for s in corpus)


@pytest.mark.parametrize("seed", [None, 5])
def test_goes_on_from_any_position(corpus, seed):
    vocabulary = Vocabulary.build(corpus, max_size=30)
    arguments = {"batch_size": 3, "unroll": 8, "seed": seed, "repeat": True}
    windows = Windows(corpus, vocabulary, **arguments)
    for _ in range(250):  # into the second pass
        next(windows)
    position = json.loads(json.dumps(windows.position))
    again = Windows(corpus, vocabulary, **arguments, position=position)
    for _ in range(300):
        expected, batch = next(windows), next(again)
        assert expected.keys() == batch.keys()
        for key in expected:
            np.testing.assert_array_equal(batch[key], expected[key])


def test_forgetting_words_changes_nothing(corpus, monkeypatch):
    vocabulary = Vocabulary.build(corpus)
    expected = list(Windows(corpus, vocabulary, batch_size=3, unroll=8))
    monkeypatch.setattr("keras_elmo.training.windows.MAX_TYPES", 10)
    batches = list(Windows(corpus, vocabulary, batch_size=3, unroll=8))
    for one, other in zip(expected, batches, strict=True):
        for key in one:
            np.testing.assert_array_equal(one[key], other[key])


def test_seed_decides_the_order(corpus):
    vocabulary = Vocabulary.build(corpus)

    def first(seed):
        return next(Windows(corpus, vocabulary, 4, 20, seed=seed))["forward_targets"]

    np.testing.assert_array_equal(first(1), first(1))
    assert (first(1) != first(2)).any()
    assert (first(1) != first(None)).any()


@pytest.mark.parametrize(("batch_size", "unroll"), [(3, 8), (500, 7)])
def test_complete_batches_hold_every_prediction_once(corpus, batch_size, unroll):
    vocabulary = Vocabulary.build(corpus)
    batches = list(Windows(corpus, vocabulary, batch_size, unroll, complete=True))
    assert sum(batch["mask"].sum() for batch in batches) == corpus.num_predictions()
    found = np.concatenate([batch["forward_targets"][batch["mask"]] for batch in batches])
    words = [word for sentence in corpus for word in (*sentence, "</S>")]
    np.testing.assert_array_equal(np.sort(found), np.sort(vocabulary.encode(words)))
    whole = list(Windows(corpus, vocabulary, batch_size, unroll))
    for batch, expected in zip(batches, whole, strict=False):
        assert batch["mask"].all()
        np.testing.assert_array_equal(batch["forward"], expected["forward"])
