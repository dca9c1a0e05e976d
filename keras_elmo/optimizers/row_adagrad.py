"""Adagrad that can update a few rows of a large table."""

import keras
from keras import ops

from keras_elmo import backend


@keras.saving.register_keras_serializable(package="keras_elmo")
class RowAdagrad(keras.optimizers.Adagrad):
    """Adagrad with the defaults of the original trainer, and an update of single rows.

        s' = s + g^2
        w' = w - learning_rate * g / sqrt(s' + epsilon)

    A row without gradient would not change anyway, so the update of the rows in use is exact.

    Args:
        learning_rate: float or a schedule.
        initial_accumulator_value: float, `s` at the start.
        epsilon: float; 0 in the original.
        **kwargs: other arguments of `keras.optimizers.Adagrad`.

    Example:
        >>> model.compile(RowAdagrad(learning_rate=0.2))

    Reference:
        Duchi et al. (2011), Adaptive subgradient methods.
    """

    def __init__(
        self,
        learning_rate=0.2,
        initial_accumulator_value=1.0,
        epsilon=0.0,
        name="adagrad",
        **kwargs,
    ):
        super().__init__(
            learning_rate=learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=epsilon,
            name=name,
            **kwargs,
        )

    def apply_rows(self, variable, rows, values, gradients):
        """Updates the rows of one variable; call it before `apply`, which counts the step.

        Args:
            variable: a variable the optimizer was built with.
            rows: (rows,) int, each row at most once.
            values: (rows, ...), what the rows hold now.
            gradients: (rows, ...).
        """
        accumulator = self._accumulators[self._get_variable_index(variable)]
        sums = ops.take(accumulator, rows, axis=0) + ops.square(gradients)
        steps = self.learning_rate * gradients / ops.sqrt(sums + self.epsilon)
        backend.assign_rows(accumulator, rows, sums)
        backend.assign_rows(variable, rows, values - steps)
