import hashlib
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import keras_elmo
from tests import fixtures

tf = pytest.importorskip("tensorflow")
pytest.importorskip("ai_edge_litert")
pytestmark = pytest.mark.tensorflow

FOLDER = Path(__file__).resolve().parents[2] / "savedmodels"
SENTENCES = fixtures.make_sentences((9, 1, 4))


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(folder, elmo, atol=1e-4):
    from keras_elmo.export.litert_runner import LiteRTRunner

    char_ids = keras_elmo.batch_to_ids(SENTENCES)
    expected = {name: value.numpy() for name, value in elmo(char_ids).items()}
    served = tf.saved_model.load(str(folder / "elmo_mini_en" / "1")).signatures["char_ids"]
    answer = served(char_ids=tf.constant(char_ids))
    runner = LiteRTRunner(folder / "elmo_mini_en.tflite")
    for name, layer in (("lstm_outputs1", 1), ("lstm_outputs2", 2)):
        np.testing.assert_allclose(answer[name], expected["layers"][:, layer], atol=atol)
    for i, words in enumerate(SENTENCES):
        x, y = runner(words)["layers"], expected["layers"][i, :, : len(words)]
        assert fixtures.mean_cosines(x, y).min() > 0.99


def test_make(make, published_model, tmp_path):
    pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    source = published_model("plain")[0].parent
    (tmp_path / "README.md").write_text("<!-- files -->\nold\n<!-- end of files -->\n")
    for old in ("elmo_mini_en/1/saved_model.pb", "elmo_mini_en/2/old", "elmo_mini_en.tflite"):
        (tmp_path / old).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / old).write_text("old")
    make.make(source, tmp_path)
    make.write_table(tmp_path / "README.md")
    # Unlike those of the bundled model, these weights are rounded to float16.
    check(tmp_path, keras_elmo.load(source), atol=2e-2)
    assert "old" not in (tmp_path / "README.md").read_text()
    assert len(rows(tmp_path)) == sum(path.is_file() for path in tmp_path.rglob("*")) - 1


def rows(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^\| (\S+) \| [\d,]+ \| `(\w{64})` \|$", page, re.MULTILINE)


def test_the_table_names_every_file_of_the_folder():
    built = [*FOLDER.glob("*.tflite"), *(FOLDER / "elmo_mini_en").rglob("*")]
    built = {path.relative_to(FOLDER).as_posix(): path for path in built if path.is_file()}
    assert dict(rows(FOLDER)) == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in built.items()
    }
    assert sum(path.stat().st_size for path in built.values()) < 20e6
    if built:
        check(FOLDER, keras_elmo.load())
