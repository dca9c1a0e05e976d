import numpy as np
from keras import ops

from keras_elmo.layers import CharCNNEmbedding
from keras_elmo.layers import WordEmbedding
from tests.contract import MASK
from tests.contract import LayerContract


class TestWordEmbedding(LayerContract):
    takes_mask = False
    initializers = {"embeddings_initializer": "table", "kernel_initializer": "projection/kernel"}

    def make(self, **arguments):
        characters = CharCNNEmbedding(
            [[1, 3], [3, 4]], num_highways=1, char_embedding_dim=4, num_chars=20, max_word_length=6
        )
        arguments = {"characters": characters, "projection_dim": 5} | arguments
        return WordEmbedding(num_words=9, word_dim=2, **arguments)

    def make_inputs(self, mask=MASK, padding=0.0):
        rng = np.random.default_rng(0)
        words = rng.integers(1, 9, (*mask.shape, 1))
        ids = np.concatenate([words, rng.integers(1, 20, (*mask.shape, 6))], axis=-1)
        return np.where(mask[..., None], ids, 0 if padding == 0 else 7).astype("int32")

    def test_by_hand(self):
        layer, ids = self.layer(), self.make_inputs()
        words = ops.convert_to_numpy(layer.table)[ids[..., 0]]
        characters = ops.convert_to_numpy(layer.characters(ids[..., 1:]))
        kernel, bias = (ops.convert_to_numpy(v) for v in layer.projection.weights)
        expected = np.concatenate([words, characters], axis=-1) @ kernel + bias
        np.testing.assert_allclose(ops.convert_to_numpy(layer(ids)), expected, rtol=0, atol=1e-5)

    def test_words_alone(self):
        layer = WordEmbedding(num_words=9, word_dim=2)
        ids = np.array([[[3], [8], [0]]], dtype="int32")
        expected = ops.convert_to_numpy(layer(ids))
        np.testing.assert_array_equal(expected, ops.convert_to_numpy(layer.table)[ids[..., 0]])
        assert ops.convert_to_numpy(layer.compute_mask(ids)).tolist() == [[True, True, False]]
        assert layer.max_word_length == 1
