"""A tag for each token: named entities, parts of speech."""

from itertools import chain

import keras
import numpy as np
from keras import ops

from keras_elmo.errors import ElmoError
from keras_elmo.layers.bidirectional_lstm import BidirectionalLSTM
from keras_elmo.layers.crf import CRF
from keras_elmo.layers.crf import argmax
from keras_elmo.tasks import metrics
from keras_elmo.tasks import tags
from keras_elmo.tasks.labels import distinct_labels
from keras_elmo.tasks.labels import warn_of_unknown
from keras_elmo.tasks.task_model import TaskModel

DECODERS = ("crf", "softmax")


@keras.saving.register_keras_serializable(package="keras_elmo")
class TokenClassifier(TaskModel):
    """Tags the tokens of a sentence: a BiLSTM, then a CRF or a softmax.

        h = [BiLSTM(x) ; ELMo at the output];  tags = decoder(h W + b)

    Labels of the BIO scheme are told by looking: a CRF then never gives an I- tag that nothing
    began, and scores are those of whole entities.

    Args:
        features: `TokenFeatures`, or an `Elmo`.
        labels: list of str, all tags; or the tags of the training sentences, as lists.
        units: int, size of each direction of the BiLSTM.
        num_layers: int, layers of the BiLSTM.
        dropout: float in [0, 1), before and after the BiLSTM.
        decoder: `"crf"`, the best tags as a whole, or `"softmax"`, each tag for itself.
        tokenizer: for sentences given as str, a name for `get_tokenizer`.
        **kwargs: `name` of every Keras model.

    Raises:
        ElmoError: if a tag was not among the labels, or tags and tokens don't match.

    Example:
        >>> sentences, tags = read_conll("train.bio")
        >>> tagger = TokenClassifier(keras_elmo.load(), tags)
        >>> history = tagger.fit(sentences, tags, epochs=10)
        >>> tagger.predict(["Paris is big"])
        [['B-LOC', 'O', 'O']]

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 4 (named entities).
    """

    def __init__(
        self,
        features,
        labels,
        units=128,
        num_layers=1,
        dropout=0.3,
        decoder="crf",
        tokenizer="whitespace",
        **kwargs,
    ):
        super().__init__(features, tokenizer, **kwargs)
        if decoder not in DECODERS:
            raise ElmoError(f"decoder must be crf or softmax, not {decoder!r}")
        self.labels = distinct_labels(labels)
        self.units, self.num_layers, self.dropout = units, num_layers, dropout
        self.decoder = decoder
        self._ids = {label: k for k, label in enumerate(self.labels)}
        self._bio = tags.is_bio(self.labels)
        self.lstm = BidirectionalLSTM(units, num_layers, dropout, name="lstm")
        self.dropout_layer = keras.layers.Dropout(dropout)
        self.projection = keras.layers.Dense(len(self.labels), name="projection")
        self.crf = None
        if decoder == "crf":
            rules = tags.constraints(self.labels) if self._bio else (None, None)
            self.crf = CRF(len(self.labels), *rules, name="crf")
        self._make_weights()

    def call(self, inputs, training=None):
        x, mask = self._words(inputs["text"], training)
        logits = self.projection(self.dropout_layer(x, training=training))
        outputs = {"logits": logits, "mask": mask}
        if not training:
            outputs["tags"] = self._decode(logits, mask)
        return outputs

    def _decode(self, logits, mask):
        if self.crf is not None:
            return self.crf(logits, mask=mask)
        return ops.where(mask, argmax(logits), 0)

    def losses_of(self, targets, outputs):
        """Negative log-likelihood of the tags of each sentence, (batch,)."""
        logits, mask, wanted = outputs["logits"], outputs["mask"], targets["tags"]
        if self.crf is not None:
            return -self.crf.log_likelihood(logits, wanted, mask)
        losses = keras.losses.sparse_categorical_crossentropy(wanted, logits, from_logits=True)
        return ops.sum(ops.where(mask, losses, ops.zeros_like(losses)), axis=-1)

    def check_truths(self, examples, texts, targets):
        super().check_truths(examples, texts, targets)
        for number, (text, target) in enumerate(zip(texts, targets, strict=True)):
            _check_count(text, target, number)
        warn_of_unknown(self._ids, chain.from_iterable(targets))

    def encode_target(self, text, target, number):
        """The ids of the tags of one sentence."""
        _check_count(text, target, number)
        try:
            return np.array([self._ids[tag] for tag in target], dtype=np.int32)
        except KeyError as error:
            raise ElmoError(
                f"sentence {number}: the tag {error} is not among the labels "
                f"({', '.join(self.labels)}); give all tags as `labels`"
            ) from None

    def stack_targets(self, targets):
        """Ids of a batch of sentences, padded."""
        stacked = np.zeros((len(targets), max(map(len, targets))), dtype=np.int32)
        for row, target in zip(stacked, targets, strict=True):
            row[: len(target)] = target
        return {"tags": stacked}

    def decode(self, output, text):
        """The tags of one sentence."""
        return [self.labels[k] for k in output["tags"][: len(text["text"])]]

    def score(self, truths, predictions):
        """`f1`, `precision`, `recall` and `f1_TYPE` of entities (seqeval); or `accuracy`."""
        if self._bio:
            return metrics.entities(truths, predictions)
        return metrics.tokens(truths, predictions)

    def get_config(self):
        return {
            **super().get_config(),
            "labels": list(self.labels),
            "units": self.units,
            "num_layers": self.num_layers,
            "dropout": self.dropout,
            "decoder": self.decoder,
        }


def _check_count(text, target, number):
    if len(target) != len(text["text"]):
        raise ElmoError(
            f"sentence {number}: {len(text['text'])} tokens, but {len(target)} tags "
            f"({' '.join(text['text'])[:60]})"
        )
