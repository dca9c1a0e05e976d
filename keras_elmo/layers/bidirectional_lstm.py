"""A plain bidirectional LSTM, for the models that stand on top of ELMo."""

import keras
from keras import ops

from keras_elmo.layers.projected_lstm import ProjectedLSTM


@keras.saving.register_keras_serializable(package="keras_elmo")
class BidirectionalLSTM(keras.layers.Layer):
    """Layers of LSTMs that read a sentence in both directions.

        y_k = [forward_k(y_(k-1)) ; backward_k(y_(k-1))],  y_0 = x

    Unlike in a `BiLM` each layer sees both directions of the one below. Masked positions are
    skipped and exactly 0; the backward direction starts at each sentence's own end.

    Args:
        units: int, size of one direction.
        num_layers: int.
        dropout: float in [0, 1), share of each layer's input dropped in training.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        inputs: (batch, time, input_dim) float.
        mask: (batch, time) bool, or `None`.
        training: bool, whether dropout is on.

    Returns:
        (batch, time, 2 * units).

    Example:
        >>> BidirectionalLSTM(units=4)(keras.random.normal((2, 5, 3))).shape
        (2, 5, 8)

    Reference:
        Graves and Schmidhuber (2005), Framewise phoneme classification with bidirectional LSTM.
    """

    def __init__(self, units, num_layers=1, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = units
        self.num_layers = num_layers
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        for k in range(num_layers):
            for direction in ("forward", "backward"):
                lstm = ProjectedLSTM(
                    units,
                    cell_clip=None,
                    recurrent_initializer="orthogonal",
                    name=f"{direction}_{k}",
                    dtype=self.dtype_policy,
                )
                setattr(self, lstm.name, lstm)

    def build(self, input_shape):
        for k in range(self.num_layers):
            size = input_shape[-1] if k == 0 else 2 * self.units
            for direction in ("forward", "backward"):
                getattr(self, f"{direction}_{k}").build((*input_shape[:-1], size))

    def call(self, inputs, mask=None, training=None):
        x = inputs
        for k in range(self.num_layers):
            x = self.dropout_layer(x, training=training)
            forward, _ = getattr(self, f"forward_{k}")(x, mask=mask)
            backward, _ = getattr(self, f"backward_{k}")(x, mask=mask, go_backwards=True)
            x = ops.concatenate([forward, backward], axis=-1)
        return x

    def compute_output_spec(self, inputs, mask=None, training=None):
        return keras.KerasTensor((*inputs.shape[:-1], 2 * self.units), self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "num_layers": self.num_layers,
            "dropout": self.dropout,
        }
