import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Each runs in a process of its own; the models behind them are tested on every backend.
pytestmark = pytest.mark.torch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RUN = {
    "ner": ["--variant", "none", "--variant", "tuned", "--seeds", "2"],
    "pos": ["--place", "both", "--beside"],
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
        assert {"f1", "f1_PER", "seconds"} <= set(results["tuned"][0])
    if name not in ("search", "word_sense"):
        variant = tmp_path / list(results)[0]
        assert (variant / "model" / "config.json").exists()
        assert (variant / "training.png").read_bytes()[1:4] == b"PNG"


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
