import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.embedding.words import WordVectors
from tests.fixtures import make_sentences

WORDS = [word for sentence in make_sentences((40,)) for word in sentence]


@pytest.fixture
def words(elmo):
    return WordVectors(elmo.embedding, elmo.encoder, capacity=64)


def directly(elmo, words):
    return keras.ops.convert_to_numpy(elmo.embedding(keras_elmo.batch_to_ids([words])))[0]


def test_equals_the_embedding(elmo, words):
    sequence = [*WORDS, WORDS[3], "", "<S>", *WORDS[::-1]]
    np.testing.assert_allclose(words(sequence), directly(elmo, sequence), atol=1e-5)


def test_boundaries(elmo, words):
    np.testing.assert_allclose(words.boundaries, directly(elmo, ["<S>", "</S>"]), atol=1e-5)


def test_each_type_is_computed_once(words, monkeypatch):
    computed = []
    embed = words._embed
    monkeypatch.setattr(words, "_embed", lambda ids: computed.append(len(ids)) or embed(ids))
    words(["a", "b", "a", "a"])
    words(["b", "a"])
    assert len(computed) == 1


def test_the_table_is_bounded_and_stays_right(elmo, words):
    for first in range(0, 300, 30):
        some = [f"word{k}" for k in range(first, first + 40)]
        np.testing.assert_allclose(words(some), directly(elmo, some), atol=1e-5)
    assert len(words.table) == 64


def test_more_types_at_once_than_the_table_holds(elmo, words):
    many = [f"word{k}" for k in range(100)]
    np.testing.assert_allclose(words(many), directly(elmo, many), atol=1e-5)


def test_few_shapes(words, monkeypatch):
    shapes = set()
    embed = words._embed
    monkeypatch.setattr(words, "_embed", lambda ids: shapes.add(ids.shape) or embed(ids))
    for length in range(60):
        words(["x" * length])
        words([f"{'y' * length}{k}" for k in range(20)])
    assert len(shapes) <= 6
