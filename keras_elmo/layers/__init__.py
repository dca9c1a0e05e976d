"""The Keras layers of ELMo."""

from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.boundaries import AddBoundaries
from keras_elmo.layers.boundaries import RemoveBoundaries
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.projected_lstm import ProjectedLSTM
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.layers.word_embedding import WordEmbedding

__all__ = [
    "AddBoundaries",
    "BiLM",
    "CharCNNEmbedding",
    "Highway",
    "ProjectedLSTM",
    "RemoveBoundaries",
    "ScalarMix",
    "WordEmbedding",
]
