"""Differences of every exported file from the Keras model: SIZE FOLDER.

200 sentences of mixed length, their words in several scripts.
"""

import json
import sys
from pathlib import Path

import exported
import keras
import numpy as np

import keras_elmo

SCRIPTS = ["az", "AZ", "αω", "ая", "את", "ءي", "अह", "가힣", "ぁん", "一龥", "🌀🗿", "09"]
SENTENCES = 200
LONGEST = 40


def make_sentences(count=SENTENCES, seed=0):
    """Random words of one to twelve letters, each of one script."""
    rng = np.random.default_rng(seed)

    def word():
        low, high = map(ord, SCRIPTS[rng.integers(len(SCRIPTS))])
        return "".join(map(chr, rng.integers(low, high + 1, rng.integers(1, 13))))

    return [[word() for _ in range(rng.integers(1, LONGEST + 1))] for _ in range(count)]


def compare(expected, found):
    """The largest difference, and the mean cosine of each layer."""
    pairs = list(zip(expected, found, strict=True))
    difference = max(float(np.abs(x - y).max()) for x, y in pairs)
    means = np.mean([cosines(*pair) for pair in pairs], axis=0)
    return {"difference": difference, "cosines": means.tolist()}


def cosines(x, y):
    """The mean over the words, (L + 1,)."""
    norms = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    return ((x * y).sum(axis=-1) / norms).mean(axis=-1)


def layers_of(elmo, sentences):
    """The layers (L + 1, words, 2P) of each sentence, by the Keras model itself."""
    ids = map(keras_elmo.batch_to_ids, ([sentence] for sentence in sentences))
    return [keras.ops.convert_to_numpy(elmo(x)["layers"])[0] for x in ids]


def main(size, folder):
    """Prints the comparison of each format as JSON."""
    folder, sentences = Path(folder), make_sentences()
    expected = layers_of(exported.load(size, folder), sentences)
    results = {}
    for name, path in exported.export(size, folder).items():
        run = exported.open_format(exported.FORMATS[name][0], path)
        found = [exported.layers(run(words)) for words in sentences]
        results[name] = compare(expected, found)
    print(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
