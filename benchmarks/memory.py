"""Peak memory of embedding a file that is never held as a whole.

    KERAS_BACKEND=jax python benchmarks/memory.py MODEL SENTENCES

MODEL: a folder with options.json and weights.hdf5. SENTENCES: tokenized text, a sentence a line.
Prints one line of JSON.
"""

import json
import resource
import sys

import keras_elmo


def main():
    """Measure and print."""
    folder, text = sys.argv[1:]
    embedder = keras_elmo.Embedder(keras_elmo.load(folder), layers="average")
    with open(text, encoding="utf-8") as lines:
        tokens = sum(len(vectors) for vectors in embedder.stream(map(str.split, lines)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"tokens": tokens, "peak_memory_mib": peak}))


if __name__ == "__main__":
    main()
