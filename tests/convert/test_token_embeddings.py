import gzip

import h5py
import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import token_embeddings
from tests.convert.fuzz import check_reader
from tests.convert.fuzz import fails

pytestmark = pytest.mark.minimal

WORDS = ["<S>", "</S>", "<UNK>", "the", "cat", "sat"]
SENTENCES = [["the", "cat", "sat"], [], ["sat"]]
FORMS = ["embeddings.hdf5", "embeddings.txt", "embeddings.txt.gz"]


def layers_of(elmo):
    return keras.ops.convert_to_numpy(elmo(elmo.encoder.encode_batch(SENTENCES))["layers"])


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{word}\n" for word in WORDS))
    return path


@pytest.mark.parametrize("form", FORMS)
def test_stand_for_the_characters(form, vocabulary, published_model, tmp_path):
    pair = published_model("plain")
    elmo = keras_elmo.load(pair)
    token_embeddings.save(elmo, vocabulary, tmp_path / form, batch_size=4)
    cached = keras_elmo.load((*pair, vocabulary, tmp_path / form))
    np.testing.assert_allclose(layers_of(cached), layers_of(elmo), rtol=0, atol=1e-6)


def test_layout_of_bilm_tf(vocabulary, published_model, tmp_path):
    elmo = keras_elmo.load(published_model("plain"))
    token_embeddings.save(elmo, vocabulary, tmp_path / "embeddings.hdf5")
    with h5py.File(tmp_path / "embeddings.hdf5") as file:
        assert list(file) == ["embedding"]
        assert file["embedding"].shape == (6, 8)
        assert file["embedding"].dtype == np.float32


def test_layout_of_allennlp(vocabulary, published_model, tmp_path):
    """Its tool puts the boundaries behind the word that stands for unknown ones."""
    words = ["@@UNKNOWN@@", "<S>", "</S>", "the", "cat", "sat"]
    vocabulary.write_text("".join(f"{word}\n" for word in words))
    pair = published_model("plain")
    elmo = keras_elmo.load(pair)
    token_embeddings.save(elmo, vocabulary, tmp_path / "elmo_embeddings.txt.gz")
    with gzip.open(tmp_path / "elmo_embeddings.txt.gz", "rt") as file:
        lines = [line.split(" ") for line in file]
    assert [line[0] for line in lines] == words
    assert {len(line) for line in lines} == {9}
    cached = keras_elmo.load((*pair, vocabulary, tmp_path / "elmo_embeddings.txt.gz"))
    np.testing.assert_allclose(layers_of(cached), layers_of(elmo), rtol=0, atol=1e-6)
    unknown = cached.encoder.encode_words(["dog"])
    assert unknown == cached.encoder.encode_words(["@@UNKNOWN@@"])


def test_matches_bilm_tf(shared_data, tmp_path):
    folder = shared_data / "fixtures-allennlp"
    elmo = keras_elmo.load((folder / "options.json", folder / "lm_weights.hdf5"))
    token_embeddings.save(elmo, folder / "vocab_test.txt", tmp_path / "embeddings.hdf5")
    with (
        h5py.File(tmp_path / "embeddings.hdf5") as found,
        h5py.File(folder / "elmo_token_embeddings.hdf5") as expected,
    ):
        np.testing.assert_allclose(found["embedding"], expected["embedding"], rtol=0, atol=1e-5)


def test_what_goes_wrong(vocabulary, published_model, tmp_path):
    options, weights = published_model("plain")
    path = tmp_path / "embeddings.txt"

    def load(embeddings=path):
        keras_elmo.load((options, weights, vocabulary, embeddings))

    fails(lambda: load(weights), weights, "no dataset embedding")
    lines = [f"{word} {' '.join('1' * 8)}\n" for word in WORDS]
    for broken, words in (
        (lines[:-1], ["5 lines", "6 words"]),
        ([*lines[:-1], "dog 1 1 1 1 1 1 1 1\n"], ["line 6", "'dog'", "'sat'"]),
        ([*lines[:-1], "sat 1 1\n"], ["line 6", "8 numbers"]),
        ([*lines[:-1], "sat 1\n"], ["line 6", "8 numbers"]),
        ([*lines[:-1], "sat 1 1 1 1 1 1 1 1e99\n"], ["tensor embedding", "infinite"]),
        ([*lines[:-1], "sat 1 1 1 1 1 1 1 x\n"], ["line 6", "8 numbers"]),
        ([*lines[:-1], "sat 1 1 1 1 1 1 1 nan\n"], ["tensor embedding", "NaN"]),
    ):
        path.write_text("".join(broken))
        fails(load, *words)


def test_broken_files_raise_our_error_only(tmp_path):
    path = tmp_path / "embeddings.txt"
    path.write_text("".join(f"{word} 1.25 -0.5 3.0\n" for word in WORDS))
    check_reader(lambda: token_embeddings.read(path, WORDS, 3), path, 150)
