"""Memory of a training run, early and late.

    KERAS_BACKEND=jax python benchmarks/training_memory.py TEXT VOCABULARY EARLY LATE

The mini model of training.py with a small batch. Prints one line of JSON: the resident memory of
the process after step EARLY and after step LATE, each the median of the steps around it.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

import keras
from training import recipe_of

from keras_elmo.training.pretrain import pretrain

AROUND = 20  # steps


class Memory(keras.callbacks.Callback):
    """Notes the resident memory after each step, in MiB."""

    def __init__(self):
        super().__init__()
        self.values = []

    def on_train_batch_end(self, batch, logs=None):
        float(logs["loss"])  # waits for the step
        fields = dict(
            line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines()
        )
        self.values.append(int(fields["VmRSS"].split()[0]) / 1024)


def main():
    """Measure and print."""
    text, vocabulary, *steps = sys.argv[1:]
    steps = [int(step) for step in steps]
    settings = {"batch_size": 8, "unroll": 10, "num_samples": 1024, "epochs": 1000}
    recipe = recipe_of("mini", **settings, max_steps=max(steps) + AROUND)
    memory = Memory()
    with tempfile.TemporaryDirectory() as folder:
        pretrain(text, folder, recipe, vocabulary=vocabulary, callbacks=[memory])
    early, late = (
        statistics.median(memory.values[step - AROUND : step + AROUND]) for step in steps
    )
    print(json.dumps({"early_mib": early, "late_mib": late}))


if __name__ == "__main__":
    main()
