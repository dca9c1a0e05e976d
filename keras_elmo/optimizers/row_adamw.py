"""AdamW that can update a few rows of a large table."""

import keras
from keras import ops

from keras_elmo import backend


@keras.saving.register_keras_serializable(package="keras_elmo")
class RowAdamW(keras.optimizers.AdamW):
    """AdamW, and a lazy update of single rows: those without gradient rest.

        m' = b1 m + (1 - b1) g,  v' = b2 v + (1 - b2) g^2
        w' = (1 - decay * rate) w - rate sqrt(1 - b2^t) / (1 - b1^t) m' / (sqrt(v') + epsilon)

    Plain AdamW moves and decays every row in every step, which a large softmax cannot afford;
    here the moments of a row wait until it is used again.

    Args:
        learning_rate: float or a schedule.
        weight_decay: float.
        **kwargs: other arguments of `keras.optimizers.AdamW`.

    Example:
        >>> model.compile(RowAdamW(learning_rate=0.001))

    Reference:
        Loshchilov and Hutter (2019), Decoupled weight decay regularization.
    """

    def __init__(self, learning_rate=0.001, weight_decay=0.01, name="adamw", **kwargs):
        super().__init__(
            learning_rate=learning_rate, weight_decay=weight_decay, name=name, **kwargs
        )

    def apply_rows(self, variable, rows, values, gradients):
        """Updates the rows of one variable; call it before `apply`, which counts the step.

        Args:
            variable: a variable the optimizer was built with.
            rows: (rows,) int, each row at most once.
            values: (rows, ...), what the rows hold now.
            gradients: (rows, ...).
        """
        number = self._get_variable_index(variable)
        step = ops.cast(self.iterations + 1, "float32")
        moments = []
        for slots, beta, target in (
            (self._momentums, self.beta_1, gradients),
            (self._velocities, self.beta_2, ops.square(gradients)),
        ):
            moment = ops.take(slots[number], rows, axis=0)
            moment = moment + (1 - beta) * (target - moment)
            backend.assign_rows(slots[number], rows, moment)
            moments.append(moment)
        scale = ops.sqrt(1 - self.beta_2**step) / (1 - self.beta_1**step)
        update = scale * moments[0] / (ops.sqrt(moments[1]) + self.epsilon)
        decay = self.weight_decay * values
        backend.assign_rows(variable, rows, values - self.learning_rate * (update + decay))
