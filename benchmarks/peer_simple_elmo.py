"""Embedding throughput of simple-elmo 0.9.2, in an environment of its own.

    pip install simple-elmo==0.9.2 "tensorflow-cpu==2.15.*" "numpy<2"
    python benchmarks/peer_simple_elmo.py MODEL SENTENCES

MODEL: a folder with options.json and weights.hdf5. SENTENCES: tokenized text, a sentence a line.
At its defaults (batches of 32, the average of the layers). Prints one line of JSON. The warm-up
(graph, weights, first batch) is timed apart: the session then stays open, which is the best case
for this library.
"""

import json
import resource
import sys
import time
from pathlib import Path

import tensorflow as tf
from simple_elmo import ElmoModel


def main():
    """Measure and print."""
    folder, text = sys.argv[1:]
    lines = Path(text).read_text(encoding="utf-8").splitlines()
    sentences = [line.split() for line in lines]

    start = time.perf_counter()
    model = ElmoModel()
    model.load(folder)
    first = sentences[: model.batch_size]
    model.get_elmo_vectors(first, warmup=False)  # also makes the operation for the layers' average
    session = tf.compat.v1.Session()
    with session.as_default():
        session.run(tf.compat.v1.global_variables_initializer())
        model.get_elmo_vectors(first, warmup=False, session=session)
        warm_up = time.perf_counter() - start

        start = time.perf_counter()
        model.get_elmo_vectors(sentences, warmup=False, session=session)
        seconds = time.perf_counter() - start

    tokens = sum(map(len, sentences))
    result = {
        "tokens": tokens,
        "tokens_per_second": tokens / seconds,
        "warm_up_seconds": warm_up,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
