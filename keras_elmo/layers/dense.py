"""A dense layer on the product of the backend."""

import keras

from keras_elmo.backend.products import matmul_rows


class Dense(keras.layers.Dense):
    """`keras.layers.Dense`, multiplied by the fastest library that the backend has.

        y = activation(x W + b)

    Args:
        *args: as for `keras.layers.Dense`.
        **kwargs: as for `keras.layers.Dense`.

    Returns:
        (..., units).

    Example:
        >>> Dense(4)(keras.ops.ones((2, 3))).shape
        (2, 4)
    """

    def call(self, inputs, training=None):
        y = matmul_rows(inputs, self.kernel)
        if self.use_bias:
            y = y + self.bias
        return y if self.activation is None else self.activation(y)

    def quantize(self, mode=None, type_check=True, config=None):
        # Keras refuses subclasses, which could compute something else; this one does not.
        super().quantize(mode, type_check=False, config=config)
