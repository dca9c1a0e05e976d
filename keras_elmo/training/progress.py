"""What a training run shows while it runs, and when it saves."""

import math
import time

import keras

from keras_elmo import backend
from keras_elmo.errors import ElmoError
from keras_elmo.layers.bilm import DIRECTIONS
from keras_elmo.training.scoring import perplexity_of

REPORT_SECONDS = 15


class Progress(keras.callbacks.Callback):
    """Seeds the steps, reports speed, loss and time left, has the run save its checkpoints.

    Args:
        run: the run, with `step`, `steps`, `epoch_steps`, `recipe`, `devices`, `log`, `report`,
            `reached`.
        checkpoint_steps: int, steps between checkpoints.
    """

    def __init__(self, run, checkpoint_steps):
        super().__init__()
        self._run, self._checkpoint_steps = run, checkpoint_steps
        self._first, self._logs = run.step, []
        self._since, self._untimed = time.monotonic(), 0

    def on_train_batch_begin(self, batch, logs=None):
        run = self._run
        backend.seed_step(run.recipe.seed, self._first + batch, run.devices.parts[0])

    def on_train_batch_end(self, batch, logs=None):
        step = self._first + batch + 1
        self._logs.append(logs)
        due = step % self._checkpoint_steps == 0
        if batch == 0 and not due and self.params["steps"] > 1:
            # It was compiled in this step, whose time says nothing of the others.
            self._since, self._untimed = time.monotonic(), 1
        if due or time.monotonic() - self._since > REPORT_SECONDS:
            self._report(step)
        if due and hasattr(self.model, "jax_state_sync"):
            self.model.jax_state_sync()
        self._run.reached(step, save=due)

    def on_epoch_end(self, epoch, logs=None):
        self._report(self._run.step)
        self._run.reached(self._run.step, save=True)

    def _report(self, step):
        if not self._logs:
            return
        loss = self._mean("loss", float)
        perplexities = [self._mean(f"{d}_perplexity", lambda x: math.log(x)) for d in DIRECTIONS]
        if not math.isfinite(loss):
            raise ElmoError(
                f"The loss is {loss} at step {step}; an earlier checkpoint, if there is one, stays "
                "as it was. Start again with a lower learning rate."
            )
        run, recipe = self._run, self._run.recipe
        now = time.monotonic()
        seconds = (now - self._since) / (len(self._logs) - self._untimed)  # a step
        forward, backward = map(perplexity_of, perplexities)
        speed = recipe.batch_size * recipe.unroll / seconds
        run.report(
            f"step {step:,}/{run.steps:,} (epoch {step / run.epoch_steps:.2f}, "
            f"{100 * step / run.steps:.1f} %)  {speed:,.0f} tokens/s  loss {loss:.4f}  "
            f"perplexity {forward:.1f} forward {backward:.1f} backward  "
            f"{duration((run.steps - step) * seconds)} left"
        )
        run.log.add("log", step, loss, forward, backward, speed)
        self._logs, self._since, self._untimed = [], now, 0

    def _mean(self, key, function):
        return sum(function(float(logs[key])) for logs in self._logs) / len(self._logs)


def duration(seconds):
    """Hours and minutes, for a person."""
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min"
