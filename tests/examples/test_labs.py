import os
from pathlib import Path

import pytest

import keras_elmo
from keras_elmo.convert import folder

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

# Minutes of notebooks; the layers behind them are tested on every backend.
pytestmark = pytest.mark.torch

ROOT = Path(__file__).resolve().parents[2]
LABS = sorted((ROOT / "examples" / "labs").glob("*.ipynb"))


@pytest.fixture
def elmo(tmp_path):
    """A small random model, in place of the one that comes with the package."""
    embedding = keras_elmo.CharCNNEmbedding(filters=[[1, 8], [3, 8]], projection_dim=8)
    bilm = keras_elmo.BiLM(num_layers=2, units=16, projection_dim=8)
    folder.save(keras_elmo.Elmo(embedding, bilm), tmp_path / "elmo")
    return str(tmp_path / "elmo")


@pytest.mark.parametrize("path", LABS, ids=lambda path: path.stem)
def test_lab(path, elmo, monkeypatch):
    monkeypatch.setenv("ELMO", elmo)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(path, as_version=4)
    assert "$$" in notebook.cells[0].source  # each begins with the formula
    assert not any(cell.get("outputs") for cell in notebook.cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()


def test_there_are_four():
    assert [path.stem[0] for path in LABS] == ["1", "2", "3", "4"]
