import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import folder
from tests.convert.fuzz import check_reader
from tests.convert.fuzz import fails

library = pytest.importorskip("safetensors.numpy", reason="needs safetensors")

KERNEL = "bilm.forward_0.kernel"


@pytest.fixture
def saved(published_model, tmp_path):
    elmo = keras_elmo.load(published_model("plain"))
    folder.save(elmo, tmp_path / "ours", safetensors=True)
    return elmo, tmp_path / "ours" / "model.safetensors"


def test_there_and_back(saved):
    elmo, path = saved
    assert KERNEL in library.load_file(path)
    again = keras_elmo.load(path.parent)
    for one, other in zip(again.get_weights(), elmo.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, ["missing"]),
        (np.ones((8, 47), "f4"), ["shape", "(8, 47)"]),
        (np.zeros((8, 48), "f4"), ["zeros"]),
        (np.full((8, 48), np.inf, "f4"), ["infinite"]),
    ],
)
def test_says_which_tensor_is_wrong(value, words, saved):
    _, path = saved
    tensors = library.load_file(path)
    del tensors[KERNEL]
    library.save_file(tensors if value is None else {**tensors, KERNEL: value}, path)
    fails(lambda: keras_elmo.load(path.parent), path, KERNEL, *words)


def test_broken_files_raise_our_error_only(saved):
    elmo, path = saved
    check_reader(lambda: keras_elmo.convert.safetensors_file.load(elmo, path), path, 100)
