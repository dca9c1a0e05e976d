import numpy as np
import pytest

from keras_elmo.tasks import TokenClassifier
from keras_elmo.tasks import TokenFeatures
from keras_elmo.tasks.batches import Batches
from keras_elmo.tasks.batches import pad

LENGTHS = [3, 2, 40, 20, 0, 17]
SENTENCES = [["word"] * n for n in LENGTHS]
TAGS = [["A", "B", "A", "A"] * 10] * len(LENGTHS)
TAGS = [tags[:n] for tags, n in zip(TAGS, LENGTHS, strict=True)]


@pytest.fixture
def tagger(make_features):
    return TokenClassifier(make_features("both"), ["A", "B"], units=4)


def test_pad():
    assert pad(np.ones((2, 3, 5)), 4).shape == (4, 16, 5)
    assert pad(np.ones((2, 17)), 2).shape == (2, 32)
    assert pad(np.ones((2, 3, 0, 5)), 2, axis=2).shape == (2, 3, 16, 5)
    assert pad(np.ones(2), 3).tolist() == [1, 1, 0]


@pytest.mark.parametrize("seed", [None, 1])
def test_every_sentence_once_an_epoch(tagger, seed):
    batches = Batches(tagger, tagger.read(SENTENCES), batch_size=4, seed=seed)
    orders = []
    for _ in range(3):
        rows = [row for k in range(len(batches)) for row in batches.rows(k)]
        assert sorted(rows) == list(range(len(LENGTHS)))
        orders.append(rows)
        batches.on_epoch_begin()
    assert (orders[0] == orders[1] == orders[2]) == (seed is None)


def test_batches_are_full_and_of_few_shapes(tagger):
    encoded = [
        tagger.encode_target(t, y, 0) for t, y in zip(tagger.read(SENTENCES), TAGS, strict=True)
    ]
    batches = Batches(tagger, tagger.read(SENTENCES), encoded, batch_size=4)
    for k in range(len(batches)):
        inputs, targets, weights = batches[k]
        time = inputs["text"]["char_ids"].shape[1]
        assert time % 16 == (k == 0)
        assert inputs["text"]["word_ids"].shape[:2] == targets["tags"].shape == (4, time)
        assert weights.sum() == len(batches.rows(k))


def test_training_takes_sentences_of_all_lengths(tagger):
    history = tagger.fit(SENTENCES, TAGS, epochs=2, batch_size=1, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


@pytest.mark.parametrize(("words", "length"), [(["the", "cat"], 8), (["б" * 12], 32), ([], 8)])
def test_words_have_as_many_characters_as_they_need(words, length):
    features = TokenFeatures(words=words, word_dim=4)
    assert features.encode([["x" * 99]])["word_ids"].shape == (1, 1, 1 + length)
    assert features(features.encode([["x" * 99]]))[0].shape == (1, 1, 4 + 64)
