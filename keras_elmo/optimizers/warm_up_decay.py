"""A learning rate that rises at first and falls later."""

import math

import keras
from keras import ops

SHAPES = ("constant", "linear", "cosine")


@keras.saving.register_keras_serializable(package="keras_elmo")
class WarmUpDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Rises in a line over the first steps, then stays, or falls to 0 by a line or a cosine.

    Args:
        rate: float, the highest learning rate.
        steps: int, steps of the run.
        warm_up_steps: int, steps of the rise.
        decay: `"constant"`, `"linear"` or `"cosine"`.

    Example:
        >>> RowAdamW(WarmUpDecay(0.001, steps=100_000, warm_up_steps=1000, decay="cosine"))
    """

    def __init__(self, rate, steps, warm_up_steps=0, decay="constant"):
        self.rate, self.steps = rate, steps
        self.warm_up_steps, self.decay = warm_up_steps, decay

    def __call__(self, step):
        step = ops.cast(step, "float32")
        rise = ops.minimum(1.0, (step + 1) / max(1, self.warm_up_steps))
        done = (step - self.warm_up_steps) / max(1, self.steps - self.warm_up_steps)
        done = ops.clip(done, 0.0, 1.0)
        fall = {
            "constant": 1.0,
            "linear": 1 - done,
            "cosine": (1 + ops.cos(math.pi * done)) / 2,
        }[self.decay]
        return self.rate * rise * fall

    def get_config(self):
        return {
            "rate": self.rate,
            "steps": self.steps,
            "warm_up_steps": self.warm_up_steps,
            "decay": self.decay,
        }
