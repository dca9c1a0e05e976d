"""Training throughput of simple-elmo 0.9.2, in the environment of peer_simple_elmo.py.

    python benchmarks/peer_training.py SIZE TEXT VOCABULARY STEPS

SIZE: one of `random_model.SIZES`. TEXT: tokenized text, a sentence a line. VOCABULARY: the words,
one a line. The recipe of the paper: batch 128, unroll 20, 8,192 samples, Adagrad. Prints one line
of JSON. A token is counted once, though both directions train on it.
"""

import json
import resource
import statistics
import sys
import tempfile
import time
from itertools import pairwise

import tensorflow as tf
from random_model import SIZES
from simple_elmo.data import BidirectionalLMDataset
from simple_elmo.training import load_vocab
from simple_elmo.training import train

WARM_UP = 2  # steps


class Stopwatch:
    """Hands the batches of a data set on and notes when each is asked for."""

    def __init__(self, data):
        self.data = data
        self.times = []

    def iter_batches(self, batch_size, num_steps):
        for batch in self.data.iter_batches(batch_size, num_steps):
            self.times.append(time.perf_counter())
            yield batch


def main():
    """Measure and print."""
    size, text, vocabulary_file, steps = sys.argv[1:]
    tf.compat.v1.disable_v2_behavior()
    vocabulary = load_vocab(vocabulary_file, 50)
    options = {
        **SIZES[size],
        "all_clip_norm_val": 10.0,
        "batch_size": 128,
        "bidirectional": True,
        "dropout": 0.1,
        "n_epochs": 1,
        "n_negative_samples_batch": 8192,
        "n_tokens_vocab": vocabulary.size,
        "unroll_steps": 20,
    }
    options["char_cnn"]["n_characters"] = 261
    tokens = options["batch_size"] * options["unroll_steps"]
    options["n_train_tokens"] = tokens * (WARM_UP + int(steps) + 1)

    start = time.perf_counter()
    data = Stopwatch(BidirectionalLMDataset(text, vocabulary, shuffle_on_load=True))
    with tempfile.TemporaryDirectory() as folder:
        train(options, data, 1, folder, folder)
    times = data.times[WARM_UP:]  # from the end of the warm-up to the start of the last step
    step = statistics.median(after - before for before, after in pairwise(times))
    result = {
        "tokens_per_second": tokens / step,
        "warm_up_seconds": times[0] - start,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
