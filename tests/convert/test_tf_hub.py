import json
import shutil
import tarfile

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import tf_hub
from keras_elmo.convert.tf_checkpoint import read_variables
from tests.convert.fuzz import broken
from tests.convert.fuzz import fails
from tests.convert.fuzz import filled
from tests.convert.fuzz import refusal

pytest.importorskip("tensorflow")


@pytest.fixture
def module(shared_data):
    return shared_data / "fixtures-golden" / "D-tfhub"


def test_answers_as_the_module(module):
    inputs = json.loads((module / "inputs.json").read_text())
    golden = np.load(module / "golden.npz")
    sentences = [[token for token in row if token] for row in inputs["tokens"]]
    elmo = keras_elmo.load(module / "module", num_representations=2)
    outputs = elmo(keras_elmo.batch_to_ids(sentences))
    layers = keras.ops.convert_to_numpy(outputs["layers"])
    # The module spells <S> by its letters.
    rows = [number for number, sentence in enumerate(sentences) if "<S>" not in sentence]
    for found, name in (
        (layers[:, 0, :, :16], "word_emb"),
        (layers[:, 1], "lstm_outputs1"),
        (layers[:, 2], "lstm_outputs2"),
        (keras.ops.convert_to_numpy(outputs["elmo_0"]), "elmo"),
        (keras.ops.convert_to_numpy(outputs["elmo_1"]), "elmo"),
    ):
        expected = golden[f"tokens/{name}"]
        np.testing.assert_allclose(found[rows], expected[rows], rtol=0, atol=1e-5)


def test_default_is_the_mean_over_the_words(module):
    strings = json.loads((module / "inputs.json").read_text())["strings"]
    elmo = keras_elmo.load(module / "module")
    embedder = keras_elmo.Embedder(elmo, layers="mix", pool=True, tokenizer="whitespace")
    expected = np.load(module / "golden.npz")["default/default"]
    np.testing.assert_allclose(embedder.embed(strings), expected, rtol=0, atol=1e-5)


@pytest.fixture
def copy(module, tmp_path):
    target = tmp_path / "module"
    shutil.copytree(module / "module", target)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755)
    return target


def test_the_graph_is_never_read(copy):
    (copy / "saved_model.pb").write_bytes(b"no graph")
    assert keras_elmo.load(copy).bilm.output_dim == 16


def test_broken_files_raise_our_error_only(copy):
    for name in ("variables.index", "variables.data-00000-of-00001"):
        path = copy / "variables" / name
        data = path.read_bytes()
        for seed in range(15):
            path.write_bytes(broken(data, seed))
            refusal(lambda: keras_elmo.load(copy))
        path.write_bytes(data)


def test_read_from_a_tar(module, tmp_path):
    path = tmp_path / "elmo_3.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(module / "module", arcname=".")
    found = keras_elmo.load(path).get_weights()
    expected = keras_elmo.load(module / "module").get_weights()
    assert all((one == other).all() for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (0.0, "all zeros")])
def test_values_that_are_none(value, word, module, monkeypatch):
    broken = filled(read_variables, "CNN_proj/W_proj", value)
    monkeypatch.setattr(tf_hub, "read_variables", broken)
    fails(lambda: keras_elmo.load(module / "module"), "tensor CNN_proj/W_proj", word)


def test_missing_parts(copy):
    (copy / "variables" / "variables.data-00000-of-00001").unlink()
    fails(lambda: keras_elmo.load(copy), "variables")
    (copy / "variables" / "variables.index").unlink()
    fails(lambda: keras_elmo.load(copy), "variables.index", "no such file")
