import json
import shutil
import tarfile

import keras
import numpy as np
import pytest

import keras_elmo
from tests.convert.fuzz import fails

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


def test_read_from_a_tar(module, tmp_path):
    path = tmp_path / "elmo_3.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(module / "module", arcname=".")
    found = keras_elmo.load(path).get_weights()
    expected = keras_elmo.load(module / "module").get_weights()
    assert all((one == other).all() for one, other in zip(found, expected, strict=True))


def test_missing_parts(module, tmp_path):
    target = tmp_path / "module"
    shutil.copytree(module / "module", target)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755)
    (target / "variables" / "variables.data-00000-of-00001").unlink()
    fails(lambda: keras_elmo.load(target), "variables")
    (target / "variables" / "variables.index").unlink()
    fails(lambda: keras_elmo.load(target), "variables.index", "no such file")
