"""Reads the models of a folder and writes what they give: `python -m tests.elsewhere FOLDER`.

tests/test_across_backends.py runs it on the backends that it does not run on itself.
"""

import sys
from pathlib import Path

import keras
import numpy as np

import keras_elmo  # noqa: F401  (registers the layers)
from tests.contract import LayerContract


def results(folder, name):
    """Outputs of a model, and the weights of its trainer after one step, by their names."""
    with np.load(folder / f"{name}.npz") as file:
        inputs = [file[str(k)] for k in range(len(file))]
    model = keras.saving.load_model(folder / f"{name}.keras")
    trainer = keras.saving.load_model(folder / f"{name}.trainer.keras")
    structured = keras.tree.pack_sequence_as(model.input, inputs)
    outputs = keras.tree.flatten(model.predict_on_batch(structured))
    trainer.compile(keras.optimizers.SGD(0.1), LayerContract.identity)
    trainer.train_on_batch(keras.tree.pack_sequence_as(trainer.input, inputs), np.zeros((1,)))
    weights = {v.path: np.asarray(keras.ops.convert_to_numpy(v)) for v in trainer.weights}
    return {**{f"output {k}": np.asarray(x) for k, x in enumerate(outputs)}, **weights}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for path in folder.glob("*.trainer.keras"):  # not *.npz: results of others end so too
        name = path.name.removesuffix(".trainer.keras")
        np.savez(folder / f"{name}.{keras.config.backend()}.result", **results(folder, name))
