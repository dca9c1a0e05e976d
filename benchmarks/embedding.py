"""Embedding throughput of `Embedder` on one backend.

    KERAS_BACKEND=jax python benchmarks/embedding.py MODEL SENTENCES

MODEL: a folder with options.json and weights.hdf5. SENTENCES: tokenized text, a sentence a line.
The average of the layers, as the peer gives by default. Prints one line of JSON. The warm-up
(weights, compilation: the same sentences once) is timed apart; then a new table of word vectors
is begun for each pass, so every word type is paid for.
"""

import json
import resource
import statistics
import sys
import time
from pathlib import Path

import keras_elmo
from keras_elmo import backend

ENOUGH = 8  # seconds of passes over the sentences, of which the median counts


def seconds(embedder, sentences):
    """Time to embed all sentences, without keeping the vectors."""
    start = time.perf_counter()
    for _ in embedder.stream(sentences):
        pass
    return time.perf_counter() - start


def main():
    """Measure and print."""
    folder, text = sys.argv[1:]
    lines = Path(text).read_text(encoding="utf-8").splitlines()
    sentences = [line.split() for line in lines]

    backend.keep_freed_memory()  # as `keras-elmo embed` does
    start = time.perf_counter()
    embedder = keras_elmo.Embedder(keras_elmo.load(folder), layers="average")
    load = time.perf_counter() - start
    first = seconds(embedder, sentences)
    passes = []
    while sum(passes) < ENOUGH:
        embedder.forget_words()
        passes.append(seconds(embedder, sentences))
    again = statistics.median(passes)

    tokens = sum(map(len, sentences))
    result = {
        "tokens": tokens,
        "tokens_per_second": tokens / again,
        "warm_up_seconds": load + first - again,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
