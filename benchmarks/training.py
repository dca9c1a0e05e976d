"""Training throughput of `pretrain`.

    KERAS_BACKEND=jax python benchmarks/training.py SIZE TEXT VOCABULARY STEPS

As peer_training.py: the same sizes, text, vocabulary and recipe, the same count of tokens.
"""

import json
import resource
import sys
import tempfile
import time

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


def main():
    """Measure and print."""
    size, text, vocabulary, steps = sys.argv[1:]
    cnn, lstm = SIZES[size]["char_cnn"], SIZES[size]["lstm"]
    recipe = Recipe(
        filters=cnn["filters"],
        num_highways=cnn["n_highway"],
        units=lstm["dim"],
        projection_dim=lstm["projection_dim"],
        max_steps=WARM_UP + int(steps),
    )
    start = time.perf_counter()
    stopwatch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        pretrain(text, folder, recipe, vocabulary=vocabulary, callbacks=[stopwatch])
    times = stopwatch.times[WARM_UP - 1 :]
    tokens = recipe.batch_size * recipe.unroll * (len(times) - 1)
    result = {
        "tokens_per_second": tokens / (times[-1] - times[0]),
        "warm_up_seconds": times[0] - start,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
