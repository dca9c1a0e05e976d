"""The model of a training run: new, or one that goes on from another."""

import keras
import numpy as np

from keras_elmo.convert import detect
from keras_elmo.convert.language_model import has_softmax
from keras_elmo.convert.language_model import read_softmax
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.models.language_model import LanguageModel
from keras_elmo.optimizers.row_adagrad import RowAdagrad
from keras_elmo.optimizers.row_adamw import RowAdamW
from keras_elmo.optimizers.warm_up_decay import WarmUpDecay
from keras_elmo.presets import located
from keras_elmo.training.initialization import initialize

OPTIMIZERS = {"adagrad": (RowAdagrad, 0.2), "adamw": (RowAdamW, 0.001)}


class Origin:
    """A model to go on from: its layers, and its softmax if it has one.

    Args:
        source: as for `keras_elmo.load`.

    Attributes:
        vocabulary: `Vocabulary` of its softmax, or `None`.

    Example:
        >>> Origin("my_elmo").vocabulary.words[:3]
        ['<S>', '</S>', '<UNK>']
    """

    def __init__(self, source):
        with located(source) as (kind, place):
            self.elmo = detect.LOADERS[kind](place)
            self.vocabulary = None
            if has_softmax(kind, place):
                *self._softmax, self.vocabulary = read_softmax(kind, place)

    def layers(self, recipe):
        """Its embedding and biLM as layers that train."""
        return (
            _copy(self.elmo.embedding, dtype=recipe.dtype),
            _copy(self.elmo.bilm, dtype=recipe.dtype, dropout=recipe.dropout, stateful=False),
        )

    def fill(self, model, vocabulary):
        """Sets the weights of a model, in the softmax those of the words that both know."""
        model.embedding.set_weights(self.elmo.embedding.get_weights())
        model.bilm.set_weights(self.elmo.bilm.get_weights())
        if self.vocabulary is None:
            return
        old = {word: number for number, word in enumerate(self.vocabulary.words)}
        pairs = [(new, old[w]) for new, w in enumerate(vocabulary.words) if w in old]
        to, source = np.array(pairs).T
        for variable, array in zip(model.softmax.weights, self._softmax, strict=True):
            filled = keras.ops.convert_to_numpy(variable).copy()
            filled[to] = array[source]
            variable.assign(filled)


def build_model(recipe, vocabulary, steps, origin=None):
    """Builds and compiles a language model.

    Args:
        recipe: `Recipe`.
        vocabulary: `Vocabulary`.
        steps: int, steps of the run, over which the learning rate falls.
        origin: `Origin`; its sizes then count, not those of the recipe.

    Returns:
        A `LanguageModel`.
    """
    keras.utils.set_random_seed(recipe.seed)
    layers = origin.layers(recipe) if origin else _new_layers(recipe)
    model = LanguageModel(
        *layers,
        len(vocabulary),
        recipe.batch_size,
        recipe.clip_norm,
        encoder=origin and origin.elmo.encoder,
        accumulation=recipe.accumulation,
        remat=recipe.remat,
    )
    initialize(model, recipe.seed, softmax_only=origin is not None)
    if origin:
        origin.fill(model, vocabulary)
    optimizer, rate = OPTIMIZERS[recipe.optimizer]
    if recipe.learning_rate is not None:
        rate = recipe.learning_rate
    if recipe.decay != "constant" or recipe.warm_up_steps:
        rate = WarmUpDecay(rate, steps, recipe.warm_up_steps, recipe.decay)
    model.compile(optimizer(rate))
    return model


def _new_layers(recipe):
    embedding = CharCNNEmbedding(
        recipe.filters,
        projection_dim=recipe.projection_dim,
        num_highways=recipe.num_highways,
        char_embedding_dim=recipe.char_embedding_dim,
        activation=recipe.activation,
        dtype=recipe.dtype,
        name="embedding",
    )
    bilm = BiLM(
        num_layers=recipe.num_layers,
        units=recipe.units,
        projection_dim=recipe.projection_dim,
        cell_clip=recipe.cell_clip,
        projection_clip=recipe.projection_clip,
        dropout=recipe.dropout,
        dtype=recipe.dtype,
        name="bilm",
    )
    return embedding, bilm


def _copy(layer, **changes):
    return type(layer).from_config({**layer.get_config(), "trainable": True, **changes})
