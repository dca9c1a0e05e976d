"""Our side of docs/migration.md runs, on files of the kind that it names."""

import re
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import keras_elmo
from keras_elmo import presets
from keras_elmo.convert.published_models import PUBLISHED
from tests.cli.commands import run

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "migration.md").read_text(encoding="utf-8")
SENTENCES = [["The", "cat", "is", "on", "the", "mat"], ["Hello"]]


def blocks(section):
    """Our code in a section of the page."""
    text = PAGE.split(f"## {section}\n")[1].split("\n## ")[0]
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return "".join(code for code in found if "keras_elmo" in code)


@pytest.fixture
def execute(shared_data, tmp_path, monkeypatch):
    """A function: section, names -> the names after its code ran, in a folder with the models."""
    golden = shared_data / "fixtures-golden"
    pair = [golden / "A-allennlp/m1_relu_hw2_l2" / n for n in ("options.json", "weights.hdf5")]
    efml = shared_data / "fixtures-efml" / "model_a"
    with tarfile.open(tmp_path / "elmo_3.tar.gz", "w:gz") as archive:
        archive.add(golden / "D-tfhub" / "module", arcname=".")
    for name, files in (("209", pair), ("144", efml.iterdir())):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            for path in files:
                archive.write(path, path.name)
    monkeypatch.chdir(tmp_path)
    addresses = dict(zip(PUBLISHED["elmo_original_en"].urls, pair, strict=True))
    monkeypatch.setattr(presets, "fetch", addresses.get)

    def run_section(section, **names):
        files = {"options_file": pair[0], "weight_file": pair[1]}
        names = {"sentences": SENTENCES, "keras_elmo": keras_elmo, **files, **names}
        exec(blocks(section), names)
        del names["__builtins__"]
        return SimpleNamespace(**names)

    return run_section


def shapes(vectors):
    return [vector.shape for vector in vectors]


def test_allennlp(execute):
    found = execute("AllenNLP")
    assert tuple(found.first.shape) == tuple(found.second.shape) == (2, 6, 32)
    assert tuple(found.mask.shape) == (2, 6)
    pair = (found.options_file, found.weight_file)
    options = {"layer_norm": "allennlp", "keep_boundaries": True, "trainable_bilm": True}
    other = keras_elmo.load(pair, stateful=True, batch_size=2, **options)
    assert tuple(other(keras_elmo.batch_to_ids(SENTENCES))["elmo"].shape) == (2, 8, 32)
    assert shapes(keras_elmo.Embedder(found.elmo).embed([SENTENCES[0]])) == [(3, 6, 32)]
    assert keras_elmo.ScalarMix() is not None


def test_the_command_of_allennlp(published_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("The cat sat\n")
    [line] = re.findall(r"`keras-elmo (embed [^`]*)`", PAGE)
    run(*line.split(), "--model", published_model("plain")[0].parent)
    assert Path("out.hdf5").exists()


def test_tf_hub(execute):
    pytest.importorskip("tensorflow")
    found = execute("TF-Hub")
    assert shapes(found.embeddings) == [(6, 32)]


def test_simple_elmo(execute):
    found = execute("simple_elmo")
    assert shapes(found.vectors) == [(6, 32), (1, 32)]
    np.testing.assert_allclose(found.averages[0], found.vectors[0].mean(axis=0), atol=1e-6)


def test_many_langs(execute):
    found = execute("ELMoForManyLangs")
    assert shapes(found.layers) == [(3, 6, 16), (3, 1, 16)]
    np.testing.assert_allclose(found.vectors[0], found.layers[0].mean(axis=0), atol=1e-6)


def test_flair(execute):
    found = execute("flair")
    assert found.vectors.shape == (3, 3, 32)
    assert np.concatenate(found.vectors, axis=-1).shape == (3, 96)
    names = set(re.findall(r'"(elmo_\w+)"', PAGE.split("## flair")[1]))
    assert "elmo_pt" in names
    assert names <= PUBLISHED.keys()


def test_spark_nlp(execute):
    pytest.importorskip("tensorflow")
    rows = [SimpleNamespace(tokens=tokens) for tokens in SENTENCES]
    partitions = SimpleNamespace(mapPartitions=lambda function: list(function(iter(rows))))
    found = execute("Spark NLP", sentences=SimpleNamespace(rdd=partitions))
    assert [(row.tokens, vectors.shape) for row, vectors in found.vectors] == [
        (SENTENCES[0], (6, 32)),
        (SENTENCES[1], (1, 32)),
    ]


@pytest.mark.parametrize("layers", ["mix", "top", "average", 0, 1, 2])
def test_layers_that_the_page_names(layers, published_model):
    embedder = keras_elmo.Embedder(keras_elmo.load(published_model("plain")), layers=layers)
    assert shapes(embedder.embed(SENTENCES)) == [(6, 16), (1, 16)]
