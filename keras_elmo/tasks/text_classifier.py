"""A class for each sentence: sentiment, subjectivity, acceptability."""

import keras

from keras_elmo.layers.attention_pooling import AttentionPooling
from keras_elmo.layers.bidirectional_lstm import BidirectionalLSTM
from keras_elmo.tasks.classifier import Classifier


@keras.saving.register_keras_serializable(package="keras_elmo")
class TextClassifier(Classifier):
    """Classifies a sentence: a BiLSTM, attentive pooling over its words, a softmax.

        h = [BiLSTM(x) ; ELMo at the output];  p = softmax(W pool(h) + b)

    Args:
        features: `TokenFeatures`, or an `Elmo`.
        labels: list of str, all classes; or the labels of the training sentences.
        units: int, size of each direction of the BiLSTM.
        dropout: float in [0, 1), before the BiLSTM and before the softmax.
        tokenizer: for sentences given as str, a name for `get_tokenizer`.
        **kwargs: `metrics`, see `Classifier`, and `name`.

    Example:
        >>> classifier = TextClassifier(keras_elmo.load(), ["bad", "good"])
        >>> history = classifier.fit(["so good", "so bad"], ["good", "bad"])
        >>> classifier.predict(["so very good"])
        ['good']

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 4 (sentiment).
    """

    def __init__(self, features, labels, units=128, dropout=0.3, **kwargs):
        super().__init__(features, labels, **kwargs)
        self.units, self.dropout = units, dropout
        self.lstm = BidirectionalLSTM(units, dropout=dropout, name="lstm")
        self.pooling = AttentionPooling(units, name="pooling")
        self.dropout_layer = keras.layers.Dropout(dropout)
        self.projection = keras.layers.Dense(self.num_outputs, name="projection")
        self._make_weights()

    def call(self, inputs, training=None):
        x, mask = self._words(inputs["text"], training)
        pooled, weights = self.pooling(x, mask=mask)
        logits = self.projection(self.dropout_layer(pooled, training=training))
        return {"logits": logits, "attention": weights}

    def get_config(self):
        return {**super().get_config(), "units": self.units, "dropout": self.dropout}
