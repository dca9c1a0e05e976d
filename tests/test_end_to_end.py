import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import bilm_hdf5
from keras_elmo.training.pretrain import pretrain
from keras_elmo.training.recipe import Recipe

pytestmark = pytest.mark.minimal

ROOT = Path(__file__).resolve().parents[1]
SENTENCES = ROOT / "examples" / "sentences.txt"


def keras_elmo_command(folder, *arguments):
    """Runs the command line as a user does, from another folder."""
    subprocess.run(
        [sys.executable, "-m", "keras_elmo", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )


def test_bundled_model_embeds():
    words = [["The", "bank", "of", "the", "river"], [], ["Hello"]]
    vectors = keras_elmo.Embedder(keras_elmo.load(), layers="top").embed(words)
    assert [len(v) for v in vectors] == [5, 0, 1]
    assert all(np.isfinite(v).all() for v in vectors)
    assert not np.allclose(vectors[0][0], vectors[0][3])  # in another place, another vector


def test_bundled_model_converts(tmp_path):
    ids = keras_elmo.batch_to_ids([["The", "bank"], ["Hello"]])
    elmo = keras_elmo.load()
    bilm_hdf5.save(elmo, tmp_path / "options.json", tmp_path / "weights.hdf5")
    again = keras_elmo.load(tmp_path)
    np.testing.assert_array_equal(again.predict(ids)["layers"], elmo.predict(ids)["layers"])


def test_two_steps_of_pretraining_make_a_model(tmp_path):
    sizes = {"filters": [[1, 8], [2, 8]], "units": 16, "projection_dim": 8}
    recipe = Recipe(**sizes, batch_size=2, unroll=10, num_samples=16, epochs=1, max_steps=2)
    elmo = keras_elmo.load(pretrain(SENTENCES, tmp_path / "model", recipe))
    vectors = keras_elmo.Embedder(elmo).embed([["The", "bank"]])
    assert vectors[0].shape == (3, 2, 16)


def test_embed_command_writes_a_dataset_a_sentence(tmp_path):
    keras_elmo_command(tmp_path, "embed", SENTENCES, "vectors.hdf5")
    sentences = [line.split() for line in SENTENCES.read_text().splitlines()]
    with h5py.File(tmp_path / "vectors.hdf5") as file:
        lengths = [file[str(i)].shape[1] for i in range(len(sentences))]
    assert lengths == [len(sentence) for sentence in sentences]
