"""Training throughput of `pretrain`.

    KERAS_BACKEND=jax python benchmarks/training.py SIZE TEXT VOCABULARY STEPS [SETTING=VALUE ...]

As peer_training.py: the same sizes, text, vocabulary and recipe, the same count of tokens. SETTING
changes the recipe: `remat=true`.
"""

import json
import resource
import statistics
import sys
import tempfile
import time
from itertools import pairwise

import keras
from random_model import SIZES

from keras_elmo.training.pretrain import pretrain
from keras_elmo.training.recipe import Recipe

WARM_UP = 2  # steps


class Stopwatch(keras.callbacks.Callback):
    """Notes when each step is done."""

    def __init__(self):
        super().__init__()
        self.times = []

    def on_train_batch_end(self, batch, logs=None):
        float(logs["loss"])  # waits for the step
        self.times.append(time.perf_counter())


def recipe_of(size, **settings):
    """The recipe of a model of one of `random_model.SIZES`."""
    cnn, lstm = SIZES[size]["char_cnn"], SIZES[size]["lstm"]
    return Recipe(
        filters=cnn["filters"],
        num_highways=cnn["n_highway"],
        units=lstm["dim"],
        projection_dim=lstm["projection_dim"],
        **settings,
    )


def main():
    """Measure and print."""
    size, text, vocabulary, steps, *settings = sys.argv[1:]
    pairs = (setting.split("=", 1) for setting in settings)
    settings = {name: json.loads(value) for name, value in pairs}
    recipe = recipe_of(size, max_steps=WARM_UP + int(steps), **settings)
    start = time.perf_counter()
    stopwatch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        pretrain(text, folder, recipe, vocabulary=vocabulary, callbacks=[stopwatch])
    times = stopwatch.times[WARM_UP - 1 :]
    # The median leaves out the steps in which a shape that is new is compiled.
    step = statistics.median(after - before for before, after in pairwise(times))
    result = {
        "tokens_per_second": recipe.batch_size * recipe.unroll / step,
        "warm_up_seconds": times[0] - start,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
