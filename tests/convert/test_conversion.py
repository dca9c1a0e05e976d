import shutil

import h5py
import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import bilm_hdf5
from keras_elmo.convert.conversion import convert
from tests.convert.fuzz import fails

FIXTURES = {
    "published": "fixtures-golden/A-allennlp/m1_relu_hw2_l2",
    "tf_checkpoint": "fixtures-golden/C-tf1-checkpoint/checkpoint",
    "tf_hub": "fixtures-golden/D-tfhub/module",
    "many_langs_a": "fixtures-efml/model_a",
    "many_langs_b": "fixtures-efml/model_b",
}
SENTENCES = [["The", "cat", "sat"], [], ["кошка"]]


def outputs(elmo):
    found = elmo(elmo.encoder.encode_batch(SENTENCES))
    return [keras.ops.convert_to_numpy(found[name]) for name in ("layers", "elmo")]


@pytest.mark.parametrize("name", FIXTURES)
@pytest.mark.parametrize("layout", ["folder", "safetensors"])
def test_every_format_to_our_folder(name, layout, shared_data, tmp_path):
    if name.startswith("tf"):
        pytest.importorskip("tensorflow")
    if layout == "safetensors":
        pytest.importorskip("safetensors")
    source = shared_data / FIXTURES[name]
    convert(source, tmp_path / "ours", layout)
    assert (tmp_path / "ours" / "model.safetensors").exists() == (layout == "safetensors")
    for one, other in zip(
        outputs(keras_elmo.load(tmp_path / "ours")), outputs(keras_elmo.load(source)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["published", "tf_checkpoint", "tf_hub"])
def test_and_back_to_the_published_format(name, shared_data, tmp_path):
    if name.startswith("tf"):
        pytest.importorskip("tensorflow")
    source = shared_data / FIXTURES[name]
    convert(source, tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "back", "published")
    dump = {
        "published": source / "weights.hdf5",
        "tf_checkpoint": source.parent / "weights.hdf5",
        "tf_hub": shared_data / FIXTURES["published"] / "weights.hdf5",
    }[name]
    found, expected = (bilm_hdf5.read_hdf5(p) for p in (tmp_path / "back" / "weights.hdf5", dump))
    assert found.keys() == expected.keys()
    for key in expected.keys() - {"char_embed"}:
        np.testing.assert_array_equal(found[key], expected[key])
    np.testing.assert_array_equal(found["char_embed"][-261:], expected["char_embed"][-261:])


@pytest.mark.parametrize("name", ["many_langs_a", "many_langs_b"])
def test_no_way_back_for_other_vocabularies(name, shared_data, tmp_path):
    source = shared_data / FIXTURES[name]
    fails(lambda: convert(source, tmp_path / "back", "published"), "vocabulary")
    assert list(tmp_path.iterdir()) == []


def test_the_softmax_comes_along(shared_data, tmp_path):
    pytest.importorskip("tensorflow")
    source = shared_data / FIXTURES["tf_checkpoint"]
    shutil.copytree(source, tmp_path / "checkpoint")
    convert(tmp_path / "checkpoint", tmp_path / "without")
    assert not (tmp_path / "without" / "softmax.weights.h5").exists()  # no vocabulary
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
