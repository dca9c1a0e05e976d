import keras
import pytest

import keras_elmo
from keras_elmo.tasks import TokenFeatures

SENTENCES = [
    ["Anna", "Berg", "lives", "in", "Paris", "."],
    ["Paris", "is", "big"],
    ["He", "met", "Anna"],
    ["It", "rains"],
]
TAGS = [
    ["B-PER", "I-PER", "O", "O", "B-LOC", "O"],
    ["B-LOC", "O", "O"],
    ["O", "O", "B-PER"],
    ["O", "O"],
]


@pytest.fixture(scope="session")
def make_elmo():
    """A function that makes a small random ELMo, always the same."""

    def make(**arguments):
        keras.utils.set_random_seed(3)
        embedding = keras_elmo.CharCNNEmbedding(filters=[[1, 8], [3, 8]], projection_dim=8)
        bilm = keras_elmo.BiLM(num_layers=2, units=12, projection_dim=8)
        return keras_elmo.Elmo(embedding, bilm, **arguments)

    return make


@pytest.fixture(scope="session")
def make_features(make_elmo):
    """A function that makes the features of words: "elmo", "words" or "both"."""

    def make(kind="elmo", place="input", **arguments):
        elmo = None if kind == "words" else make_elmo(**arguments)
        words = None if kind == "elmo" else ["Paris", "Anna", "is", "in"]
        return TokenFeatures(elmo, words, place, word_dim=8, dropout=0.0)

    return make
