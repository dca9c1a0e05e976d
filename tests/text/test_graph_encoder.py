import numpy as np
import pytest

from keras_elmo.text.character_encoder import CharacterEncoder
from keras_elmo.text.vocabulary_encoder import VocabularyEncoder
from tests.text.test_vocabulary_encoder import both

tf = pytest.importorskip("tensorflow")
GraphEncoder = pytest.importorskip("keras_elmo.text.graph_encoder").GraphEncoder

SENTENCES = [
    ["cat", "dog", "<bos>", "cats and cats"],
    ["é\u0301", "ca"],
    [],
    ["😀", "<eos>", "\u3000", "<oov>"],
]


@pytest.mark.parametrize(
    "encoder",
    [
        CharacterEncoder(9),
        both(),
        both(words=None),
        VocabularyEncoder(words=["<S>", "</S>", "<UNK>", "cat", "ca"]),
    ],
    ids=["bytes", "words and characters", "characters", "words"],
)
def test_equals_the_encoder(encoder):
    longest = max(map(len, SENTENCES))
    tokens = [sentence + [""] * (longest - len(sentence)) for sentence in SENTENCES]
    spec = tf.TensorSpec((None, None), "string")
    graph = tf.function(GraphEncoder(encoder), input_signature=[spec])
    np.testing.assert_array_equal(graph(tf.constant(tokens)), encoder.encode_batch(SENTENCES))
