import json
import shutil

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import published
from keras_elmo.convert import tf_checkpoint
from keras_elmo.convert.hdf5_tensors import read_hdf5
from keras_elmo.convert.tf_checkpoint import read_variables
from tests.convert.fuzz import check_reader
from tests.convert.fuzz import fails
from tests.convert.fuzz import filled

pytest.importorskip("tensorflow")


@pytest.fixture
def data(shared_data):
    return shared_data / "fixtures-golden" / "C-tf1-checkpoint"


@pytest.fixture
def copy(data, tmp_path):
    target = tmp_path / "checkpoint"
    shutil.copytree(data / "checkpoint", target)
    for path in (target, *target.iterdir()):
        path.chmod(0o755)
    return target


def test_matches_allennlp_on_the_dump_in_every_layer(data):
    golden = np.load(data / "golden.npz")
    elmo = keras_elmo.load(data / "checkpoint", keep_boundaries=True)
    layers = elmo(golden["char_ids"].astype("int32"))["layers"]
    for k in range(3):
        found = keras.ops.convert_to_numpy(layers[:, k])
        np.testing.assert_allclose(found, golden[f"call1/act{k}"], rtol=0, atol=1e-5)


def test_holds_the_tensors_of_the_dump(data):
    elmo = keras_elmo.load(data / "checkpoint")
    found, options = published.tensors_of(elmo)
    expected = read_hdf5(data / "weights.hdf5")
    assert found.keys() == expected.keys()
    assert all((found[name] == expected[name]).all() for name in found)
    assert options["n_tokens_vocab"] == 500


def test_the_softmax_gives_the_perplexity_that_the_tool_reported(data):
    weights, biases, words = tf_checkpoint.load_softmax(data / "checkpoint")
    elmo = keras_elmo.load(data / "checkpoint", keep_boundaries=True)
    ids = {word: number for number, word in enumerate(words)}
    sentences = [line.split() for line in (data / "heldout.txt").read_text("utf-8").splitlines()]
    losses = [[], []]
    order = sorted(range(len(sentences)), key=lambda k: len(sentences[k]))
    for start in range(0, len(order), 50):
        batch = [sentences[k] for k in order[start : start + 50]]
        top = keras.ops.convert_to_numpy(elmo(keras_elmo.batch_to_ids(batch))["layers"])[:, -1]
        for row, sentence in zip(top, batch, strict=True):
            tokens = np.array([ids.get(w, ids["<UNK>"]) for w in ["<S>", *sentence, "</S>"]])
            rows = row[: len(tokens)]
            halves = (rows[:-1, :16], tokens[1:]), (rows[1:, 16:], tokens[:-1])
            for number, (half, targets) in enumerate(halves):
                scores = half @ weights.T + biases
                scores -= np.logaddexp.reduce(scores, axis=1, keepdims=True)
                losses[number] += list(-scores[np.arange(len(targets)), targets])
    found = [np.exp(np.mean(loss)) for loss in losses]
    np.testing.assert_allclose(found, [20.41412, 19.29124], rtol=1e-5)


def test_names_of_all_versions():
    names = {
        "lm/char_embed": "char_embed",
        "lm/CNN/W_cnn_0": "CNN/W_cnn_0",
        "lm/RNN_0/rnn/multi_rnn_cell/cell_1/lstm_cell/kernel": (
            "RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/W_0"
        ),
        "lm/RNN_1/rnn/lstm_cell/projection/kernel": "RNN_1/RNN/LSTMCell/W_P_0",
        "lm/RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/B": "RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/B",
        "bilm/RNN_0/RNN/MultiRNNCell/Cell1/rnn/lstm_cell/bias": (
            "RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/B"
        ),
        "lm/softmax/W": "softmax/W",
        "lm/char_embed/Adagrad": None,
        "global_step": None,
    }
    for name, expected in names.items():
        assert list(tf_checkpoint.published_tensors({name: 1})) == [expected] * bool(expected)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (0.0, "all zeros")])
def test_values_that_are_none(value, word, data, monkeypatch):
    broken = filled(read_variables, "CNN_proj/W_proj", value)
    monkeypatch.setattr(tf_checkpoint, "read_variables", broken)
    fails(lambda: keras_elmo.load(data / "checkpoint"), "tensor CNN_proj/W_proj", word)


def test_missing_parts(copy):
    (copy.parent / "vocab.txt").unlink(missing_ok=True)
    fails(lambda: tf_checkpoint.load_softmax(copy), "vocabulary", "missing")
    (copy / "options.json").rename(copy / "other.json")
    fails(lambda: keras_elmo.load(copy), "options.json", "no such file")
    (copy / "other.json").rename(copy / "options.json")
    data_file = next(copy.glob("*.data-*"))
    data_file.rename(copy / "data")
    fails(lambda: keras_elmo.load(copy), "model.ckpt-776")


def test_takes_the_checkpoint_that_is_named(copy):
    for path in list(copy.glob("model.ckpt-776.*")):
        shutil.copy(path, path.with_name(path.name.replace("776", "1000")))
    assert tf_checkpoint.newest(copy).name == "model.ckpt-776"
    (copy / "checkpoint").unlink()
    assert tf_checkpoint.newest(copy).name == "model.ckpt-1000"


def test_sizes_that_disagree(copy):
    contents = json.loads((copy / "options.json").read_text())
    contents["lstm"]["dim"] = 31
    (copy / "options.json").write_text(json.dumps(contents))
    fails(lambda: keras_elmo.load(copy), "model.ckpt-776", "shape")


@pytest.mark.parametrize("part", ["index", "data-00000-of-00001"])
def test_broken_files_raise_our_error_only(part, copy):
    prefix = copy / "model.ckpt-776"
    path = copy / f"model.ckpt-776.{part}"
    check_reader(lambda: tf_checkpoint.read_variables(prefix), path, 100)
