import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

# Each runs in a process of its own; the models behind them are tested on every backend.
pytestmark = pytest.mark.torch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RUN = {
    "ner": ["--variant", "none", "--variant", "tuned", "--seeds", "2"],
    "pos": ["--place", "both", "--alone"],
    "sentiment": ["--variant", "layer1", "--adapt"],
    "pairs": ["--glue", "STS-B"],
    "squad": [],
    "translate": [],
    "word_sense": [],
    "search": [],
}


@pytest.mark.parametrize("name", RUN)
def test_example_in_tiny(name, tmp_path):
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--tiny", "--output", str(tmp_path)]
    done = subprocess.run(
        [*command, *RUN[name]], capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    assert results
    assert "│" in done.stdout
    if name == "ner":
        assert [len(runs) for runs in results.values()] == [2, 2]
        assert {"f1", "f1_PER", "dev_f1", "seconds"} <= set(results["tuned"][0])
    if name not in ("search", "word_sense"):
        variant = tmp_path / list(results)[0]
        assert (variant / "model" / "config.json").exists()
        assert (variant / "training.png").read_bytes()[1:4] == b"PNG"


def test_word_sense_by_votes_and_by_means(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    word_sense = importlib.import_module("word_sense")
    uses = [("bank", [], 0)] * 5
    senses = ["river", "money", "money", "money", "money"]
    vectors = np.array([[2.0, 1.0], [0.9, 1.0], [0.8, 1.0], [-1.0, 1.0], [-1.0, 2.0]])
    found = {
        find.__name__: find(uses, senses, [uses[0], ("tree", [], 0)], np.ones((2, 2)), vectors)
        for find in (word_sense.nearest_mean, word_sense.nearest_uses)
    }
    assert found == {"nearest_mean": ["river", None], "nearest_uses": ["money", None]}


def test_a_fault_in_a_file_is_one_line(tmp_path):
    path = tmp_path / "train.bio"
    path.write_text("a\tO\nb\tI-PER\n\n")
    command = [sys.executable, str(EXAMPLES / "ner.py"), "--train", path, "--test", path]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 2
    assert f"{path}, line 2: I-PER continues an entity that nothing began" in done.stderr
    assert "Traceback" not in done.stderr


def environment():
    return {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
