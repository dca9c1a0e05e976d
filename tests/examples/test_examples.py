import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

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


SENSES = "lemma\tpos\tsense\ttarget_index\ttokens\nbank\tn\triver\t{}\tthe bank\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ner", "a\tO\nb\tI-PER\n", "FILE, line 2: I-PER continues an entity that nothing began"),
        ("ner", "a\tO\nb\tNOUN\n", "FILE, line 2: the tag 'NOUN' is not of BIO"),
        ("search", "a\tO\nb\tNOUN\n", "FILE, line 2: the tag 'NOUN' is not of BIO"),
        ("translate", "a\n", "FILE, line 1: 1 columns, but 2 or more are needed"),
        ("squad", '{"data": []}', "FILE: holds no question"),
        ("word_sense", SENSES.format("x"), "FILE, line 2: target_index 'x' is"),
        ("word_sense", SENSES.format("-1"), "FILE, line 2: target_index '-1' is"),
        ("word_sense", SENSES.format("2"), "FILE, line 2: target_index '2' is"),
    ],
)
def test_a_fault_in_a_file_is_one_line(tmp_path, monkeypatch, name, text, message):
    path = tmp_path / "data"
    path.write_text(text)
    last = "--dev" if name == "search" else "--test"
    done = invoke(monkeypatch, name, "--train", str(path), last, str(path))
    assert done.exit_code == 2
    assert done.output.startswith(f"Error: {message.replace('FILE', str(path))}")
    assert done.output.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ner", ["--seeds", "0"]),
        ("ner", ["--epochs", "0"]),
        ("ner", ["--batch-size", "-1"]),
        ("ner", ["--limit", "0"]),
        ("ner", ["--learning-rate", "0"]),
        ("ner", ["--elmo-dropout", "1"]),
        ("ner", ["--place", "output", "--alone"]),
        ("pairs", ["--columns", "question"]),
        ("pairs", ["--glue", "MRPC", "--numbers"]),
        ("search", ["--trials", "0"]),
    ],
)
def test_options_that_are_refused(monkeypatch, name, options):
    done = invoke(monkeypatch, name, "--tiny", *options)
    assert done.exit_code == 2
    assert "Error: " in done.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--variant none --alone", "--variant none has no ELMo"),
        ("--variant none --adapt", "--variant none has no ELMo"),
        ("--variant none --model no_file", "--variant none has no ELMo"),
        ("--variant none --place both", "--variant none has no ELMo"),
        ("--variant tuned --epochs 1", "--epochs 2"),
    ],
)
def test_switches_that_contradict_each_other(monkeypatch, options, message):
    done = invoke(monkeypatch, "ner", "--tiny", *options.split())
    assert done.exit_code == 2
    assert message in done.output


def test_results_are_not_overwritten(tmp_path, monkeypatch):
    (tmp_path / "results.json").write_text("{}")
    for name in ("ner", "word_sense", "search"):
        done = invoke(monkeypatch, name, "--tiny", "--output", str(tmp_path))
        assert done.exit_code == 2
        assert "holds the results of a run; give another --output" in done.output


def test_files_that_are_not_there(tmp_path, monkeypatch):
    missing = str(tmp_path / "missing")
    output = tmp_path / "output"
    options = ("--train", missing, "--test", missing, "--output", str(output))
    done = invoke(monkeypatch, "ner", *options)
    assert done.output == f"Error: {missing}: No such file or directory\n"
    assert not output.exists()


def test_labels_that_only_the_test_file_has(tmp_path):
    train, test = tmp_path / "train", tmp_path / "test"
    train.write_text("label\tsentence\n1\ta b\n0\tc d\n")
    test.write_text("label\tsentence\n2\ta b\n")
    command = [sys.executable, str(EXAMPLES / "sentiment.py"), "--train", str(train)]
    command += ["--test", str(test), "--variant", "none", "--epochs", "1"]
    command += ["--output", str(tmp_path / "output")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("Warning: "))
    assert "1 labels to be scored are unknown from training" in line


def test_a_single_use_is_pictured(tmp_path, monkeypatch):
    path = tmp_path / "data"
    path.write_text(SENSES.format(1))
    monkeypatch.syspath_prepend(EXAMPLES)
    word_sense = importlib.import_module("word_sense")
    uses, senses = word_sense.read(path)
    vectors = word_sense.vectors_of(word_sense.tiny_elmo(), uses)
    word_sense.picture(uses, senses, vectors[-1], tmp_path)
    assert (tmp_path / "neighbors.png").exists()


def test_means_over_the_seeds_that_have_a_score(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    runner = importlib.import_module("runner")
    runs = [{"f1": 40.0, "f1_PER": 10.0}, {"f1": 60.0, "f1_LOC": 30.0}]
    assert runner._means(runs) == {"f1": 50.0, "f1_PER": 10.0, "f1_LOC": 30.0}


def invoke(monkeypatch, name, *options):
    """The outcome of an example's command, in this process."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return CliRunner().invoke(importlib.import_module(name).main, options)


def environment():
    return {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
