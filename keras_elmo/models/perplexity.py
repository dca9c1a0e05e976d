"""Perplexity as a metric."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_elmo")
class Perplexity(keras.metrics.Mean):
    """The exponential of a mean loss."""

    def result(self):
        return ops.exp(super().result())
