"""A class, or a similarity, for each pair of sentences."""

import keras
from keras import ops

from keras_elmo.layers.attention import masked_max
from keras_elmo.layers.attention import masked_mean
from keras_elmo.layers.attention import masked_softmax
from keras_elmo.layers.bidirectional_lstm import BidirectionalLSTM
from keras_elmo.tasks.classifier import Classifier
from keras_elmo.tasks.features import exact_matches


@keras.saving.register_keras_serializable(package="keras_elmo")
class PairClassifier(Classifier):
    """Compares two sentences word by word: entailment, paraphrase, similarity (ESIM).

        a, b = [BiLSTM([x ; is the word in the other sentence?]) ; ELMo at the output]
        e_ij = a_i b_j;  a~_i = sum_j softmax_j(e_ij) b_j, and b~ alike
        m = BiLSTM(relu([a ; a~ ; a - a~ ; a * a~] W));  v = [mean m ; max m] of both sentences

    One set of weights reads both sentences.

    Args:
        features: `TokenFeatures`, or an `Elmo`.
        labels: list of str, all classes, or the labels of the training pairs; `None`: targets are
            numbers.
        units: int, size of each direction of the BiLSTMs.
        dropout: float in [0, 1).
        tokenizer: for sentences given as str, a name for `get_tokenizer`.
        **kwargs: `metrics`, see `Classifier`, and `name`.

    Example:
        >>> classifier = PairClassifier(keras_elmo.load(), ["no", "yes"])
        >>> classifier.predict([("It rains .", "It is wet .")])
        ['yes']

    Reference:
        Chen et al. (2017), Enhanced LSTM for natural language inference.
    """

    texts = ("first", "second")
    compares = True

    def __init__(self, features, labels=None, units=128, dropout=0.3, **kwargs):
        super().__init__(features, labels, **kwargs)
        self.units, self.dropout = units, dropout
        self.lstm = BidirectionalLSTM(units, dropout=dropout, name="lstm")
        self.comparison = keras.layers.Dense(units, activation="relu", name="comparison")
        self.composition = BidirectionalLSTM(units, dropout=dropout, name="composition")
        self.hidden = keras.layers.Dense(units, activation="tanh", name="hidden")
        self.dropout_layer = keras.layers.Dropout(dropout)
        self.projection = keras.layers.Dense(self.num_outputs, name="projection")
        self._make_weights()

    def call(self, inputs, training=None):
        in_second, in_first = exact_matches(inputs["first"], inputs["second"])
        a, a_mask = self._words(inputs["first"], training, in_second)
        b, b_mask = self._words(inputs["second"], training, in_first)
        scores = ops.matmul(a, ops.swapaxes(b, 1, 2))  # (batch, n, m)
        weights = masked_softmax(scores, b_mask[:, None, :])
        back = masked_softmax(ops.swapaxes(scores, 1, 2), a_mask[:, None, :])
        pooled = [
            *self._compare(a, ops.matmul(weights, b), a_mask, training),
            *self._compare(b, ops.matmul(back, a), b_mask, training),
        ]
        x = self.dropout_layer(ops.concatenate(pooled, axis=-1), training=training)
        x = self.dropout_layer(self.hidden(x), training=training)
        return {"logits": self.projection(x), "attention": weights}

    def _compare(self, own, other, mask, training):
        x = self.comparison(ops.concatenate([own, other, own - other, own * other], axis=-1))
        x = self.composition(x, mask=mask, training=training)
        return masked_mean(x, mask), masked_max(x, mask)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "dropout": self.dropout}
