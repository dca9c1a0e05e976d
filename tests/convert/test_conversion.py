import json
import re
import tarfile
import zipfile

import h5py
import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert.conversion import convert
from keras_elmo.convert.hdf5_tensors import read_hdf5
from tests.convert.fuzz import fails

# Every kind of source, and its published weights where there is a way back.
SOURCES = {
    "A-allennlp/m1_relu_hw2_l2": "weights.hdf5",
    "A-allennlp/m2_tanh_hw1_l1_noclip": "weights.hdf5",
    "A-simple_elmo/t2_noskip_tanh_hw1_l3_clipbites": "weights.hdf5",
    "A-simple_elmo/t3_noprojections_hw1_l2": "weights.hdf5",
    "A-simple_elmo/t4_maxchars16_nohwkey_l2": "weights.hdf5",
    "C-tf1-checkpoint/checkpoint": "../weights.hdf5",
    "D-tfhub/module": "../../A-allennlp/m1_relu_hw2_l2/weights.hdf5",
    "../fixtures-efml/model_a": None,
    "../fixtures-efml/model_b": None,
}


@pytest.fixture
def golden(shared_data):
    return shared_data / "fixtures-golden"


def needs(name):
    """Skips where reading it needs a package that is not installed."""
    if "tf" in name:
        pytest.importorskip("tensorflow")


def assert_same(one, other):
    configs = [json.dumps(elmo.get_config()) for elmo in (one, other)]
    configs = [re.sub(r'"name": "[^"]*"', "", config) for config in configs]
    assert configs[0] == configs[1]
    for found, expected in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", SOURCES)
def test_to_our_folder_and_back(name, golden, tmp_path):
    needs(name)
    source, weights = golden / name, SOURCES[name]
    convert(source, tmp_path / "ours")
    assert_same(keras_elmo.load(tmp_path / "ours"), keras_elmo.load(source))
    if weights is None:
        fails(lambda: convert(source, tmp_path / "back", "published"), "vocabulary")
        assert [path.name for path in tmp_path.iterdir()] == ["ours"]
        return
    convert(tmp_path / "ours", tmp_path / "back", "published")
    found, expected = read_hdf5(tmp_path / "back" / "weights.hdf5"), read_hdf5(source / weights)
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        rows = slice(-261, None) if key == "char_embed" else slice(None)
        assert found[key].dtype == array.dtype
        np.testing.assert_array_equal(found[key][rows], array[rows])


@pytest.mark.parametrize("name", ["A-allennlp/m1_relu_hw2_l2", "../fixtures-efml/model_a"])
def test_to_safetensors(name, golden, tmp_path):
    pytest.importorskip("safetensors")
    convert(golden / name, tmp_path / "ours", "safetensors")
    assert not list((tmp_path / "ours").glob("*.h5"))
    assert_same(keras_elmo.load(tmp_path / "ours"), keras_elmo.load(golden / name))


@pytest.mark.parametrize(
    "name", ["A-simple_elmo/t4_maxchars16_nohwkey_l2", "D-tfhub/module", "../fixtures-efml/model_b"]
)
def test_from_archives(name, golden, tmp_path):
    """As they are downloaded: zips of the NLPL repository, tars of TF-Hub under any name."""
    needs(name)
    source = (golden / name).resolve()
    path = tmp_path / "3"
    if "tf" in name:
        with tarfile.open(path, "w:gz") as archive:
            archive.add(source, arcname=".")
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in source.iterdir():
                archive.write(file, f"model/{file.name}")
            archive.writestr("__MACOSX/model/._options.json", b"")
    convert(path, tmp_path / "ours")
    assert_same(keras_elmo.load(tmp_path / "ours"), keras_elmo.load(source))


def test_gives_the_same_vectors(golden, tmp_path):
    source = golden / "../fixtures-efml/model_a"
    convert(source, tmp_path / "ours")
    outputs = []
    for elmo in (keras_elmo.load(source), keras_elmo.load(tmp_path / "ours")):
        found = elmo(elmo.encoder.encode_batch([["The", "cat", "sat"], [], ["кошка"]]))
        outputs.append([keras.ops.convert_to_numpy(found[name]) for name in ("layers", "elmo")])
    for one, other in zip(*outputs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_softmax_comes_along(golden, tmp_path):
    pytest.importorskip("tensorflow")
    source = golden / "C-tf1-checkpoint" / "checkpoint"
    convert(source, tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "again")
    for target in (tmp_path / "ours", tmp_path / "again"):
        with h5py.File(target / "softmax.weights.h5") as file:
            assert file["kernel"].shape == (500, 16)
            assert file["bias"].shape == (500,)
        words = (target / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
        assert words == (source.parent / "vocab.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.minimal
def test_never_writes_over_anything(published_model, tmp_path):
    (tmp_path / "there").mkdir()
    fails(lambda: convert(published_model("plain"), tmp_path / "there"), "there already")
    fails(lambda: convert(published_model("plain"), tmp_path / "new", "other"), "layout")
    fails(lambda: convert(tmp_path / "there", tmp_path / "new"), "no kind of ELMo model")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
