import shutil

import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import language_model
from keras_elmo.convert import tf_checkpoint
from keras_elmo.convert.conversion import contents
from keras_elmo.convert.conversion import convert
from keras_elmo.convert.folder import write_softmax
from keras_elmo.presets import located
from keras_elmo.training.pretrain import pretrain
from keras_elmo.training.recipe import Recipe
from tests.convert.fuzz import fails

WORDS = ["<S>", "</S>", "<UNK>", "the"]


@pytest.fixture
def checkpoint(shared_data, tmp_path):
    """A copy of a checkpoint, with its weights as hdf5 beside it, to change."""
    pytest.importorskip("tensorflow")
    golden = shared_data / "fixtures-golden" / "C-tf1-checkpoint"
    target = tmp_path / "model" / "209"
    shutil.copytree(golden / "checkpoint", target, copy_function=shutil.copyfile)
    for path in (target, *target.iterdir()):
        path.chmod(0o755)
    shutil.copyfile(golden / "weights.hdf5", target / "model.hdf5")
    shutil.copyfile(golden / "vocab.txt", target / "vocab.txt")
    return target


def look(source):
    with located(source) as (kind, place):
        return kind, contents(kind, place), language_model.has_softmax(kind, place)


def test_weights_beside_a_checkpoint_need_no_tensorflow(checkpoint, monkeypatch):
    kind, beside, has_softmax = look(checkpoint)
    assert kind == "published"
    assert beside == {"softmax": "in the checkpoint", "optimizer": "in the checkpoint"}
    assert has_softmax
    model, vocabulary = language_model.load_language_model(checkpoint)
    assert model.vocabulary_size == len(vocabulary) == 500
    monkeypatch.setattr(tf_checkpoint, "read_variables", None)
    assert keras_elmo.load(checkpoint).bilm.output_dim == 16


def test_training_goes_on_from_a_checkpoint(checkpoint, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat\n" * 20)
    recipe = Recipe(batch_size=2, unroll=5, num_samples=8, max_steps=1, learning_rate=0.0)
    quiet = {"report": lambda line: None}
    pretrain([str(text)], tmp_path / "trained", recipe, init_from=checkpoint, **quiet)
    (before, words), (after, new) = map(
        language_model.load_language_model, (checkpoint, tmp_path / "trained")
    )
    assert words.words == new.words
    for one, other in zip(before.get_weights(), after.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_checkpoint_without_its_vocabulary(checkpoint):
    (checkpoint / "model.hdf5").unlink()
    (checkpoint / "vocab.txt").unlink()
    assert look(checkpoint) == ("tf_checkpoint", {"softmax": "yes", "optimizer": "Adagrad"}, False)
    fails(lambda: language_model.load_language_model(checkpoint), "the vocabulary is missing")


@pytest.mark.minimal
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file.pop("kernel"), ["tensor kernel", "missing"]),
        (lambda file: file["bias"].write_direct(np.full(4, np.nan, "f4")), ["tensor bias", "NaN"]),
        (lambda file: file["kernel"].write_direct(np.zeros((4, 8), "f4")), ["kernel", "zeros"]),
    ],
)
def test_says_what_is_wrong_with_a_softmax(change, words, published_model, tmp_path):
    target = tmp_path / "ours"
    keras_elmo.convert.folder.save(keras_elmo.load(published_model("plain")), target)
    write_softmax(target, np.ones((4, 8), "f4"), np.ones(4, "f4"), WORDS)
    language_model.load_language_model(target)
    with h5py.File(target / "softmax.weights.h5", "a") as file:
        change(file)
    fails(lambda: language_model.load_language_model(target), "softmax.weights.h5", *words)


@pytest.mark.minimal
def test_the_softmax_is_halved_with_the_rest(published_model, tmp_path):
    kernel = np.linspace(-1, 1, 32, dtype="f4").reshape(4, 8)
    keras_elmo.convert.folder.save(keras_elmo.load(published_model("plain")), tmp_path / "whole")
    write_softmax(tmp_path / "whole", kernel, np.ones(4, "f4"), WORDS)
    convert(tmp_path / "whole", tmp_path / "half", dtype="float16")
    with h5py.File(tmp_path / "half" / "softmax.weights.h5") as file:
        assert {file[name].dtype for name in ("kernel", "bias")} == {np.dtype("float16")}
        np.testing.assert_array_equal(file["kernel"], kernel.astype("f2"))
    language_model.load_language_model(tmp_path / "half")
