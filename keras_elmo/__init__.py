"""ELMo, deep contextualized word representations, for Keras 3."""

from keras_elmo import default_backend  # noqa: F401  (first, before Keras is imported)
from keras_elmo.embedding.embedder import Embedder
from keras_elmo.errors import ElmoError
from keras_elmo.layers import BiLM
from keras_elmo.layers import CharCNNEmbedding
from keras_elmo.layers import Highway
from keras_elmo.layers import ProjectedLSTM
from keras_elmo.layers import ScalarMix
from keras_elmo.models.elmo import Elmo
from keras_elmo.presets import load
from keras_elmo.text.characters import batch_to_ids
from keras_elmo.version import __version__

__all__ = [
    "BiLM",
    "CharCNNEmbedding",
    "Elmo",
    "ElmoError",
    "Embedder",
    "Highway",
    "ProjectedLSTM",
    "ScalarMix",
    "__version__",
    "batch_to_ids",
    "load",
]
