"""From a sentence to a sentence: translation."""

import re

import keras
import numpy as np
from keras import ops

from keras_elmo import backend
from keras_elmo.errors import ElmoError
from keras_elmo.layers.attention import masked_mean
from keras_elmo.layers.attention import masked_softmax
from keras_elmo.layers.bidirectional_lstm import BidirectionalLSTM
from keras_elmo.layers.projected_lstm import ProjectedLSTM
from keras_elmo.tasks import metrics
from keras_elmo.tasks.beam_search import beam_search
from keras_elmo.tasks.task_model import TaskModel
from keras_elmo.text.characters import BOS
from keras_elmo.text.characters import EOS
from keras_elmo.text.characters import batch_to_ids

MARKERS = ["", BOS, EOS, "<UNK>"]  # by their ids; 0 is no token
BEGIN, END, UNKNOWN = 1, 2, 3


@keras.saving.register_keras_serializable(package="keras_elmo")
class Seq2Seq(TaskModel):
    """Translates: ELMo and a BiLSTM read, an LSTM with attention writes, by beam search.

        s_t = LSTM([y_(t-1) ; lm_(t-1)]);  c_t = sum_i softmax_i(s_t W h_i) h_i
        p_t = softmax(V tanh(U [s_t ; c_t]))

    lm is the top forward layer of a biLM of the target language, frozen, where one is given.

    Args:
        features: `TokenFeatures`, or an `Elmo`, of the source language.
        words: list of str, the words it can write, the frequent first.
        units: int, size of each direction of the reader, and of the writer.
        word_dim: int, size of the vectors of written words.
        dropout: float in [0, 1).
        language_model: an `Elmo` of the target language, or `None`.
        beam: int, sentences that are followed at a time.
        longest: int, words of the longest translation.
        tokenizer: for sources given as str, a name for `get_tokenizer`.
        **kwargs: `name` of every Keras model.

    Example:
        >>> words = frequent_words(map(words_of, russian))
        >>> model = Seq2Seq(keras_elmo.load(), words)
        >>> history = model.fit(english, russian)
        >>> model.predict(["Horses are dangerous animals ."])

    Reference:
        Luong, Pham and Manning (2015), Effective approaches to attention-based neural machine
        translation, section 3.1 ("general").
    """

    texts = ("source",)

    def __init__(
        self,
        features,
        words,
        units=256,
        word_dim=128,
        dropout=0.2,
        language_model=None,
        beam=4,
        longest=60,
        **kwargs,
    ):
        super().__init__(features, **kwargs)
        self.words = [word for word in words if word not in MARKERS]
        self.units, self.word_dim, self.dropout = units, word_dim, dropout
        self.beam, self.longest = beam, longest
        self.entries = [*MARKERS, *self.words]
        self._ids = {word: k for k, word in enumerate(self.entries)}
        self.lstm = BidirectionalLSTM(units, dropout=dropout, name="lstm")
        self.bridge = keras.layers.Dense(2 * units, activation="tanh", name="bridge")
        self.embedding = keras.layers.Embedding(len(self.entries), word_dim, name="embedding")
        self.writer = ProjectedLSTM(units, cell_clip=None, name="writer")
        self.attention = keras.layers.Dense(units, use_bias=False, name="attention")
        self.hidden = keras.layers.Dense(units, activation="tanh", name="hidden")
        self.projection = keras.layers.Dense(len(self.entries), name="projection")
        self.dropout_layer = keras.layers.Dropout(dropout)
        self.language_model = language_model
        if language_model is not None:
            language_model.trainable = False
        self._make_weights()
        self._step = backend.jit(self.write_word, self)

    def _make_weights(self):
        self.word_vectors = None
        if self.language_model is not None:
            size = self.language_model.bilm.output_dim
            self.word_vectors = self.add_weight(
                name="word_vectors", shape=(len(self.entries), size), trainable=False
            )
            words = batch_to_ids([[entry or BOS for entry in self.entries]])[0]
            self.word_vectors.assign(self.language_model.embedding(words))
        memory = ops.zeros((1, 2, 2 * self.units + self._beside()))
        mask = ops.ones((1, 2), dtype="bool")
        self._write(ops.ones((1, 2), dtype="int32"), memory, mask, self.first_state(memory, mask))
        super()._make_weights()

    def _beside(self):
        """Size of ELMo at the output of the reader."""
        mix = self.features.mixes.get("output")
        return 0 if mix is None else 2 * self.features.elmo.bilm.output_dim

    def call(self, inputs, training=None):
        memory, mask = self._words(inputs["source"], training)
        return {"memory": memory, "mask": mask}

    def first_state(self, memory, mask):
        """The state of the writer before its first word, a list of tensors (batch, ...)."""
        state = ops.split(self.bridge(masked_mean(memory, mask)), 2, axis=-1)
        if self.language_model is None:
            return state
        bilm = self.language_model.bilm
        return [*state, *bilm.get_forward_state(ops.shape(memory)[0])]

    def _write(self, ids, memory, mask, state, training=False):
        """Logits of the next word after each of the words, and the new state."""
        x = self.embedding(ids)
        h, c, *model_state = state
        if self.language_model is not None:
            vectors = ops.take(ops.convert_to_tensor(self.word_vectors), ids, axis=0)
            layers, model_state = self.language_model.bilm.run_direction(
                "forward", vectors, model_state
            )
            x = ops.concatenate([x, layers[-1]], axis=-1)
        x = self.dropout_layer(x, training=training)
        x, (h, c) = self.writer(x, initial_state=[h, c])
        keys = self.attention(memory)
        weights = masked_softmax(ops.matmul(x, ops.swapaxes(keys, 1, 2)), mask[:, None, :])
        x = self.hidden(ops.concatenate([x, ops.matmul(weights, memory)], axis=-1))
        return self.projection(self.dropout_layer(x, training=training)), [h, c, *model_state]

    def write_word(self, ids, memory, mask, *state):
        """Log-probabilities of the next word after one word of each row, and the new state."""
        logits, state = self._write(ids[:, None], memory, mask, list(state))
        return ops.log_softmax(logits[:, 0], axis=-1), state

    def search_options(self):
        """What both searches are told."""
        options = {"beam": self.beam, "longest": self.longest, "begin": BEGIN, "end": END}
        return {**options, "never": [0, BEGIN, UNKNOWN]}

    def losses_of(self, targets, outputs):
        """Negative log-likelihood of each sentence, (batch,)."""
        ids = targets["ids"]
        state = self.first_state(outputs["memory"], outputs["mask"])
        logits, _ = self._write(ids[:, :-1], outputs["memory"], outputs["mask"], state, True)
        wanted = ids[:, 1:]
        losses = keras.losses.sparse_categorical_crossentropy(wanted, logits, from_logits=True)
        return ops.sum(losses * ops.cast(wanted > 0, losses.dtype), axis=-1)

    def encode_target(self, text, target, number):
        """The ids of a translation between its markers."""
        words = words_of(target) if isinstance(target, str) else target
        if not words:
            raise ElmoError(f"example {number}: an empty translation")
        ids = [self._ids.get(word, UNKNOWN) for word in words[: self.longest]]
        return np.array([BEGIN, *ids, END], dtype=np.int32)

    def stack_targets(self, targets):
        """Ids of a batch, padded."""
        ids = np.zeros((len(targets), max(map(len, targets))), dtype=np.int32)
        for row, target in zip(ids, targets, strict=True):
            row[: len(target)] = target
        return {"ids": ids}

    def answers(self, batches):
        """The best translation of every text."""
        answers = [None] * len(batches.texts)
        for index in range(len(batches)):
            outputs = self.predict_on_batch(batches[index][0])
            memory, mask = outputs["memory"], outputs["mask"]
            state = self.first_state(*map(ops.convert_to_tensor, (memory, mask)))
            found = beam_search(
                self._step,
                memory,
                mask,
                [ops.convert_to_numpy(part) for part in state],
                **self.search_options(),
            )
            for row, ids in zip(batches.rows(index), found, strict=False):
                answers[row] = text_of([self.entries[k] for k in ids])
        return answers

    def score(self, truths, predictions):
        """`bleu` and `chrf` by sacrebleu."""
        return metrics.translations(truths, predictions)

    def get_config(self):
        return {
            **super().get_config(),
            "words": list(self.words),
            "language_model": keras.saving.serialize_keras_object(self.language_model),
            **{
                name: getattr(self, name)
                for name in ("units", "word_dim", "dropout", "beam", "longest")
            },
        }

    @classmethod
    def from_config(cls, config):
        model = keras.saving.deserialize_keras_object(config.pop("language_model"))
        return super().from_config({**config, "language_model": model})


def words_of(text):
    """The words and marks of a sentence to be written.

    Example:
        >>> words_of("Horses, too.")
        ['Horses', ',', 'too', '.']
    """
    return re.findall(r"\w+|[^\w\s]", text)


def text_of(words):
    """The sentence that such words and marks make.

    Example:
        >>> text_of(["Horses", ",", "too", "."])
        'Horses, too.'
    """
    text = re.sub(r" ([.,!?;:%)\]}»…]+)", r"\1", " ".join(words))
    text = re.sub(r"([(\[{«]) ", r"\1", text)
    return re.sub(r"(\w) ([-'’]) (\w)", r"\1\2\3", text)
