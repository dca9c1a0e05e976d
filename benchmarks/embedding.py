"""Embedding throughput of `Embedder`.

    KERAS_BACKEND=jax python benchmarks/embedding.py MODEL SENTENCES

MODEL: a folder with options.json and weights.hdf5. SENTENCES: tokenized text, a sentence a line.
The average of the layers, as the peer gives it, else at the defaults. Prints one line of JSON. The
warm-up (weights, compilation) is timed apart; it embeds the first sentences with every word spelled
backwards, so that no vector of the measured words is known before.
"""

import itertools
import json
import resource
import sys
import time

import keras_elmo

WARM_UP = 1000  # sentences


def read(path):
    """Sentences, one after the other."""
    with open(path, encoding="utf-8") as lines:
        yield from map(str.split, lines)


def main():
    """Measure and print."""
    folder, text = sys.argv[1:]

    start = time.perf_counter()
    embedder = keras_elmo.Embedder(keras_elmo.load(folder), layers="average")
    first = itertools.islice(read(text), WARM_UP)
    embedder.embed([[word[::-1] for word in sentence] for sentence in first])
    warm_up = time.perf_counter() - start

    start = time.perf_counter()
    tokens = sum(len(vectors) for vectors in embedder.stream(read(text)))
    seconds = time.perf_counter() - start
    result = {
        "tokens": tokens,
        "tokens_per_second": tokens / seconds,
        "warm_up_seconds": warm_up,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
