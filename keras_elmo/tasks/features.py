"""What a task model knows of each word: ELMo, and vectors of its own."""

from collections import Counter
from itertools import chain

import keras
import numpy as np
from keras import ops

from keras_elmo.embedding.embedder import Embedder
from keras_elmo.errors import ElmoError
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.word_embedding import WordEmbedding
from keras_elmo.models.elmo import Elmo
from keras_elmo.models.elmo import output_names
from keras_elmo.text.characters import BOS
from keras_elmo.text.characters import EOS
from keras_elmo.text.characters import MAX_WORD_LENGTH
from keras_elmo.text.characters import batch_to_ids
from keras_elmo.text.characters import not_text
from keras_elmo.text.characters import tokens_of
from keras_elmo.text.vocabulary_encoder import VocabularyEncoder

PLACES = ("input", "output", "both")
CHARACTERS = [[2, 16], [3, 32], [4, 16]]  # filters of the vectors that are trained from scratch


@keras.saving.register_keras_serializable(package="keras_elmo")
class TokenFeatures(keras.layers.Layer):
    """The vectors of words that a task model works on.

        x = [ELMo ; word and character vectors]

    Either part may be left out: with words alone it is the model without ELMo, trained from
    scratch.

    Args:
        elmo: an `Elmo`. Its `layer_norm`, `dropout` and `mix_regularizer` hold here too.
        words: list of str, words that get a vector of their own, beside one made of their
            characters, cut where 99 % of these words end; `None`: no such vectors.
        place: where ELMo enters: at the `"input"` of the task's own layers, at their `"output"`,
            or at `"both"`, each by a mix of its own.
        word_dim: int, size of the word vectors.
        dropout: float in [0, 1), share of the word and character vectors dropped in training.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        inputs: dict of tensors, from `encode`.
        training: bool, whether dropout is on.

    Returns:
        `x, y, mask`: (batch, time, D) for the input of the task's layers, (batch, time, 2P) for
        their output or `None`, (batch, time) bool.

    Raises:
        ElmoError: if there is neither ELMo nor words, or the model keeps state or boundaries.

    Example:
        >>> features = TokenFeatures(keras_elmo.load(), words=["the", "cat"])
        >>> x, _, mask = features(features.encode([["the", "dog", "barks"]]))

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 3.3.
    """

    def __init__(self, elmo=None, words=None, place="input", word_dim=100, dropout=0.3, **kwargs):
        super().__init__(**kwargs)
        _check(elmo, words, place)
        self.place = place
        self.words = words
        self.word_dim = word_dim
        self.dropout = dropout
        self.elmo = elmo and _with_mixes(elmo, 2 if place == "both" else 1)
        self.elmo_dropout = keras.layers.Dropout(elmo.dropout) if elmo else None
        self.word_embedding = None
        if words is not None:
            self.word_encoder = VocabularyEncoder(
                words=list(dict.fromkeys([BOS, EOS, "<UNK>", *words]))
            )
            characters = CharCNNEmbedding(
                filters=CHARACTERS, num_highways=0, max_word_length=_word_length(words)
            )
            self.word_embedding = WordEmbedding(
                1 + len(self.word_encoder.words), word_dim, characters, name="word_embedding"
            )
        self.word_dropout = keras.layers.Dropout(dropout)

    @property
    def mixes(self):
        """The `ScalarMix` layers, by their place."""
        if self.elmo is None:
            return {}
        names = [name.replace("elmo", "scalar_mix") for name in self._names]
        layers = [getattr(self.elmo, name) for name in names]
        return dict(zip(self._places, layers, strict=True))

    @property
    def frozen(self):
        """Whether no weight of the biLM is trained."""
        return self.elmo is not None and not any(
            variable.trainable
            for layer in (self.elmo.embedding, self.elmo.bilm)
            for variable in layer.variables
        )

    @property
    def cacheable(self):
        """Whether the layers of each sentence may be computed once and for all."""
        # AllenNLP's statistics count the boundaries, which are gone in what is kept.
        return self.frozen and self.elmo.layer_norm != "allennlp"

    def encode(self, sentences, layers=None, compared=False):
        """The inputs for a batch of sentences, as a dict of NumPy arrays.

        Args:
            sentences: lists of tokens.
            layers: the biLM's layers for each, (L + 1, tokens, 2P); `None`: they are computed
                from `char_ids` by the model.
            compared: bool, whether the words are for `exact_matches`, which takes the `char_ids`
                where there are no `word_ids`.
        """
        inputs = {}
        if layers is not None:
            inputs["layers"], inputs["mask"] = _stack(layers)
        if self.elmo is not None and (layers is None or (compared and self.words is None)):
            inputs["char_ids"] = self.elmo.encoder.encode_batch(sentences)
        if self.words is not None:
            length = self.word_embedding.characters.max_word_length
            parts = self.word_encoder.encode_batch(sentences), batch_to_ids(sentences, length)
            inputs["word_ids"] = np.concatenate(parts, axis=-1)
        return inputs

    def embed(self, sentences):
        """All layers of the biLM for each sentence, equal ones shared: (L + 1, tokens, 2P)."""
        distinct = {tuple(sentence): None for sentence in sentences}
        embedder = Embedder(self.elmo, layers="all")
        distinct.update(zip(distinct, embedder.stream(list(distinct)), strict=True))
        return [distinct[tuple(sentence)] for sentence in sentences]

    def build(self, inputs_shape=None):
        pass  # the parts build themselves when they are first called

    def call(self, inputs, training=None):
        mixed, mask = self._mixed(inputs, training)
        parts = [mixed["input"]] if "input" in mixed else []
        if self.word_embedding is not None:
            ids = inputs["word_ids"]
            mask = self.word_embedding.compute_mask(ids)
            parts.append(self.word_dropout(self.word_embedding(ids), training=training))
        return ops.concatenate(parts, axis=-1), mixed.get("output"), mask

    def _mixed(self, inputs, training):
        """What ELMo gives to each place, and the mask."""
        if self.elmo is None:
            return {}, None
        if "layers" in inputs:
            layers, mask = inputs["layers"], inputs["mask"]
            return {
                place: self.elmo_dropout(mix(layers, mask=mask), training=training)
                for place, mix in self.mixes.items()
            }, mask
        outputs = self.elmo(inputs["char_ids"], training=training)
        found = [outputs[name] for name in self._names]
        return dict(zip(self._places, found, strict=True)), outputs["mask"]

    @property
    def _places(self):
        return ["input", "output"] if self.place == "both" else [self.place]

    @property
    def _names(self):
        return output_names(len(self._places))

    def save_assets(self, dir_path):
        if self.elmo is not None:
            self.elmo.save_assets(dir_path)

    def load_assets(self, dir_path):
        if self.elmo is not None:
            self.elmo.load_assets(dir_path)

    def get_config(self):
        return {
            **super().get_config(),
            "elmo": keras.saving.serialize_keras_object(self.elmo),
            "words": None if self.words is None else list(self.words),
            "place": self.place,
            "word_dim": self.word_dim,
            "dropout": self.dropout,
        }

    @classmethod
    def from_config(cls, config):
        elmo = keras.saving.deserialize_keras_object(config.pop("elmo"))
        return cls(elmo=elmo, **config)


def as_features(features):
    """`TokenFeatures`, made from an `Elmo` where one is given."""
    if isinstance(features, TokenFeatures):
        return features
    if isinstance(features, Elmo):
        return TokenFeatures(features)
    raise TypeError(f"Expected TokenFeatures or an Elmo, got {type(features).__name__}.")


def exact_matches(first, second):
    """Which words stand in the other text too, letter for letter as far as ids go.

    Without it a model has to learn from few examples that a word is the same as itself.

    Args:
        first: dict of tensors, from `TokenFeatures.encode`.
        second: likewise, of the other texts.

    Returns:
        (batch, time of the first, 1) bool, and the same of the second.

    Reference:
        Chen et al. (2017), Reading Wikipedia to answer open-domain questions, section 3.2.
    """
    name = "word_ids" if "word_ids" in first else "char_ids"
    one, other = first[name][:, :, None], second[name][:, None]
    same = ops.all(ops.equal(one, other), axis=-1)
    same = ops.logical_and(same, ops.any(ops.greater(one, 0), axis=-1))  # padding is no word
    return ops.any(same, axis=2)[..., None], ops.any(same, axis=1)[..., None]


def frequent_words(sentences, min_count=2):
    """The words of sentences that occur often enough to learn a vector, the frequent first.

    Args:
        sentences: iterable of lists of tokens.
        min_count: int, how often.

    Returns:
        A list of str.

    Raises:
        TypeError: if a str stands where a list of tokens belongs.

    Example:
        >>> frequent_words([["a", "b", "a"]])
        ['a']
    """
    counts = Counter(chain.from_iterable(map(tokens_of, not_text(sentences, "sentences"))))
    return [word for word, count in counts.most_common() if count >= min_count]


def _word_length(words):
    """Character ids that hold 99 % of the words; those of ELMo take three times as long."""
    lengths = [len(word.encode("utf-8", "ignore")) for word in words] or [0]
    bytes_and_marks = 2 + int(np.quantile(lengths, 0.99, method="higher"))
    return min(MAX_WORD_LENGTH, 8 * -(-bytes_and_marks // 8))


def _check(elmo, words, place):
    if place not in PLACES:
        raise ElmoError(f"place must be one of {', '.join(PLACES)}, not {place!r}")
    if words is not None:
        not_text(words, "words")
    if words is None and (elmo is None or place == "output"):
        raise ElmoError("nothing to read: give an `elmo` at the input, or `words`")
    if elmo is not None and (elmo.keep_boundaries or elmo.bilm.stateful):
        raise ElmoError("a task model needs an Elmo without boundaries and without state")


def _with_mixes(elmo, count):
    """The same layers under this number of mixes."""
    if elmo.num_representations == count:
        return elmo
    options = ("layer_norm", "dropout", "mix_regularizer", "trainable_bilm", "encoder")
    return Elmo(
        elmo.embedding,
        elmo.bilm,
        num_representations=count,
        **{name: getattr(elmo, name) for name in options},
    )


def _stack(layers):
    """Arrays (L + 1, tokens, 2P) as one (batch, L + 1, time, 2P), and the mask (batch, time)."""
    lengths = np.array([array.shape[1] for array in layers])
    count, _, size = layers[0].shape
    time = lengths.max(initial=0)
    stacked = np.zeros((len(layers), count, time, size), dtype=layers[0].dtype)
    for row, array in zip(stacked, layers, strict=True):
        row[:, : array.shape[1]] = array
    return stacked, np.arange(time) < lengths[:, None]
