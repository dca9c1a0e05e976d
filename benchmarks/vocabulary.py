"""What a training step costs with a small and with a large vocabulary, optimizer included.

    KERAS_BACKEND=jax python benchmarks/vocabulary.py [STEPS]

The aim: with 800,000 words at most 1.3 times as long as with 50,000.
"""

import json
import statistics
import sys
import time
from types import SimpleNamespace

import numpy as np

from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.models.language_model import LanguageModel
from keras_elmo.training.training_batches import TrainingBatches

SIZES = (50_000, 800_000)
ROWS, UNROLL, WORDS, SAMPLES, DIM = 32, 20, 256, 2048, 64
WARM_UP = 2  # steps


def stepper(size):
    """A function that makes one step with a vocabulary of this size and returns its seconds."""
    embedding = CharCNNEmbedding([[1, 32], [3, 64]], projection_dim=DIM)
    bilm = BiLM(2, units=256, projection_dim=DIM)
    model = LanguageModel(embedding, bilm, size, ROWS)
    model.compile()
    rng = np.random.default_rng(0)
    batches = TrainingBatches(SimpleNamespace(position=None), size, SAMPLES)
    window = {"char_ids": rng.integers(1, 262, (WORDS, 16), dtype="int32")}
    for name in ("forward", "backward"):
        window[name] = rng.integers(0, WORDS, (ROWS, UNROLL), dtype="int32")
        window[f"{name}_targets"] = rng.integers(0, SAMPLES, (ROWS, UNROLL), dtype="int32")
    batch = batches.prepare(window, 0)

    def step():
        start = time.perf_counter()
        model.train_on_batch(batch)  # returns numbers, so it waits for them
        return time.perf_counter() - start

    return step


def main():
    """Measure the two in turn, and print."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    steppers = {size: stepper(size) for size in SIZES}
    seconds = {size: [] for size in SIZES}
    for _ in range(WARM_UP + steps):
        for size, step in steppers.items():
            seconds[size].append(step())
    medians = {size: statistics.median(times[WARM_UP:]) for size, times in seconds.items()}
    small, large = (medians[size] for size in SIZES)
    print(json.dumps({"seconds": medians, "ratio": large / small}))


if __name__ == "__main__":
    main()
