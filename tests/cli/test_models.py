import json
import os

import pytest

import keras_elmo
from keras_elmo.cli import main
from keras_elmo.convert import folder as our_folder
from keras_elmo.convert.download import OFFLINE
from tests.cli.commands import fails
from tests.cli.commands import run

OPEN_A_MODEL = ("convert", "embed", "evaluate", "export", "info", "pretrain", "score", "similar")


def test_info(folder):
    lines = run("info", "model").stdout.splitlines()
    found = {line.split("  ")[0]: line.split("  ")[-1].strip() for line in lines}
    assert found["parameters"] == f"{keras_elmo.load('model').count_params():,}"
    assert found["vectors"] == "3 layers of 16 numbers a token"
    assert found["skip connections"] == "yes"


def test_info_shows_where_a_model_comes_from(folder):
    our_folder.save(keras_elmo.load("model"), "saved", license="CC0", heldout_perplexity=123.4)
    text = run("info", "saved").stdout
    assert "CC0" in text
    assert "123.4" in text


@pytest.mark.minimal
def test_convert_there_and_back(published_model, tmp_path):
    run("convert", *published_model("plain"), tmp_path / "ours")
    assert json.loads((tmp_path / "ours" / "metadata.json").read_text())["source"]
    fails("there already", "convert", tmp_path / "ours", tmp_path / "ours")
    run("convert", tmp_path / "ours", tmp_path / "back", "--layout", "published")
    text = run("info", tmp_path / "back").stdout
    assert "published" in text
    assert "softmax" in text


@pytest.mark.minimal
def test_offline(tmp_path, monkeypatch):
    monkeypatch.setenv(OFFLINE, "")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    fails("no network is to be used", "info", "http://127.0.0.1:9/model.zip", "--offline")
    assert os.environ[OFFLINE] == "1"
    with_option = {n for n, c in main.commands.items() if "offline" in {p.name for p in c.params}}
    assert with_option == set(OPEN_A_MODEL)
