"""`quantize("int8")` on one backend: SIZE FOLDER."""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import exported
import serving_parity

from keras_elmo.convert import folder as model_folder


def main(size, folder):
    """Prints the size of both models on disk and the comparison of their layers, as JSON."""
    elmo = exported.load(size, Path(folder))
    sentences = serving_parity.make_sentences(count=50)
    expected = serving_parity.layers_of(elmo, sentences)
    full = saved_megabytes(elmo)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras names every layer that has no such thing
        elmo.quantize("int8")
    small = saved_megabytes(elmo)
    found = serving_parity.layers_of(elmo, sentences)
    result = {"full": full, "small": small, **serving_parity.compare(expected, found)}
    print(json.dumps(result))


def saved_megabytes(elmo):
    """Size of the weights of the model's folder."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "model")
        model_folder.save(elmo, path)
        return (path / model_folder.WEIGHTS).stat().st_size / 1e6


if __name__ == "__main__":
    main(*sys.argv[1:])
