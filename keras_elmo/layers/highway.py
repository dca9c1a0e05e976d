"""One highway layer."""

import keras

from keras_elmo.layers import quantization
from keras_elmo.layers.dense import Dense


@keras.saving.register_keras_serializable(package="keras_elmo")
class Highway(keras.layers.Layer):
    """Mixes a transformed input with the input itself, by a learned gate an element.

        g = sigmoid(x Wc + bc)
        y = g * relu(x Wt + bt) + (1 - g) * x

    Args:
        activation: name or function, applied to the transformed input.
        carry_bias: float, where every element of bc starts; -2 lets most of the input pass.
        kernel_initializer: initializer of Wc and Wt, (dim, dim).
        bias_initializer: initializer of bt, (dim,).
        kernel_regularizer: regularizer of Wc and Wt.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        inputs: (..., dim) float.

    Returns:
        A tensor of the shape of the inputs.

    Example:
        >>> Highway()(keras.random.normal((2, 5, 16))).shape
        (2, 5, 16)

    Reference:
        Srivastava, Greff and Schmidhuber (2015), Highway networks, section 2; Peters et al. (2018),
        Deep contextualized word representations, section 3.4.
    """

    def __init__(
        self,
        activation="relu",
        carry_bias=-2.0,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = keras.activations.get(activation)
        self.carry_bias = carry_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)

    def build(self, input_shape):
        carry_bias = keras.initializers.Constant(self.carry_bias)
        self.carry = self._dense("carry", input_shape, "sigmoid", carry_bias)
        self.transform = self._dense(
            "transform", input_shape, self.activation, self.bias_initializer
        )

    def _dense(self, name, input_shape, activation, bias_initializer):
        layer = Dense(
            input_shape[-1],
            activation=activation,
            # A clone, for an unseeded initializer draws the same values each time it is called.
            kernel_initializer=self.kernel_initializer.clone(),
            bias_initializer=bias_initializer,
            kernel_regularizer=self.kernel_regularizer,
            dtype=quantization.policy(self, name),
            trainable=self.trainable,
            name=name,
        )
        layer.build(input_shape)
        return layer

    def call(self, inputs):
        gate = self.carry(inputs)
        return gate * self.transform(inputs) + (1 - gate) * inputs

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {
            **super().get_config(),
            **quantization.policies(self),
            "activation": keras.activations.serialize(self.activation),
            "carry_bias": self.carry_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }
