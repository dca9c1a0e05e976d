import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import h5py
import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import bilm_hdf5
from keras_elmo.convert.language_model import load_language_model
from keras_elmo.errors import ElmoError
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.pretrain import pretrain
from keras_elmo.training.progress import Progress
from keras_elmo.training.recipe import Recipe
from keras_elmo.training.scoring import perplexity

ROOT = Path(__file__).resolve().parents[2]
TINY = {
    "filters": [[1, 4], [2, 4]],
    "char_embedding_dim": 4,
    "units": 8,
    "projection_dim": 4,
    "batch_size": 4,
    "unroll": 5,
    "num_samples": 8,
    "epochs": 2,
}


def write_text(path, sentences, seed):
    """Sentences of a small grammar, which a small model can learn."""
    rng = np.random.default_rng(seed)
    nouns = [f"noun{i}" for i in range(8)]
    lines = [f"the {rng.choice(nouns)} {rng.choice(['sat', 'ran'])} ." for _ in range(sentences)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    return [write_text(folder / f"{k}.txt", 60, k) for k in range(3)]


@pytest.fixture(scope="module")
def trained(text, tmp_path_factory):
    """A model trained with validation, and what the run said."""
    folder, lines = tmp_path_factory.mktemp("trained") / "model", []
    pretrain(text[:2], folder, Recipe(**TINY), text[2], report=lines.append)
    return folder, lines


def weights(folder):
    with h5py.File(folder / "training" / "checkpoint.h5") as file:
        return {key: file[key][()] for key in file if key != "progress"}


def test_a_run_ends_with_a_model_that_opens_and_predicts(trained, text):
    folder, lines = trained
    elmo = keras_elmo.load(folder)
    found = elmo(keras_elmo.batch_to_ids([["the", "noun1"]]))
    assert found["layers"].shape == (1, 3, 2, 8)
    model, vocabulary = load_language_model(folder)
    held_out = perplexity(model, vocabulary, Corpus(text[2]))
    assert held_out["mean"] < 10 < len(vocabulary)
    assert any("MiB of memory" in line for line in lines)
    assert lines[-1] == f"done: {folder}"
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_logs_and_report(trained):
    folder, _ = trained
    log = (folder / "training" / "log.csv").read_text().splitlines()
    assert log[0] == "step,loss,forward_perplexity,backward_perplexity,tokens_per_second"
    validation = (folder / "training" / "validation.csv").read_text().splitlines()
    assert len(validation) >= 3
    assert log[-1].split(",")[0] == validation[-1].split(",")[0]
    report = (folder / "report.html").read_text()
    assert report.count("<svg") == 2
    assert report.count("<polyline") == 5
    assert "http" not in report


def test_killed_at_any_moment_it_ends_with_the_same_weights(text, tmp_path):
    command = [sys.executable, "-m", "keras_elmo", "pretrain", *text]
    for key, value in {**TINY, "epochs": 3, "filters": "1:4,2:4"}.items():
        command += [f"--{key.replace('_', '-')}", str(value)]
    command += ["--checkpoint-steps", "3", "--output"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen([*command, killed], cwd=ROOT, stdout=subprocess.DEVNULL)
    while not (killed / "training" / "checkpoint.h5").exists():
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (killed / "config.json").exists()
    output = subprocess.run([*command, killed], cwd=ROOT, capture_output=True, text=True)
    assert output.returncode == 0, output.stderr
    assert "going on from step" in output.stdout
    recipe = Recipe(**{**TINY, "epochs": 3})
    pretrain(text, whole, recipe, checkpoint_steps=3, report=lambda line: None)
    expected, found = weights(whole), weights(killed)
    assert expected.keys() == found.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, atol=1e-6, err_msg=key)


@pytest.mark.usefixtures("eager")
def test_goes_on_from_a_model_with_its_softmax_or_a_new_one(trained, text, tmp_path):
    folder, _ = trained
    old, old_words = load_language_model(folder)
    recipe = Recipe(**{**TINY, "max_steps": 1, "learning_rate": 0.0})
    quiet = {"report": lambda line: None}
    same = pretrain(text[2], tmp_path / "same", recipe, init_from=folder, **quiet)
    model, words = load_language_model(same)
    assert words.words == old_words.words
    for one, other in zip(old.weights, model.weights, strict=True):
        np.testing.assert_array_equal(*map(keras.ops.convert_to_numpy, (one, other)))

    (tmp_path / "words.txt").write_text("<S>\n</S>\n<UNK>\nnew\nnoun3\n")
    arguments = {"vocabulary": tmp_path / "words.txt", "init_from": folder, **quiet}
    other = pretrain(text[2], tmp_path / "other", recipe, **arguments)
    model, words = load_language_model(other)
    assert words.words == ["<S>", "</S>", "<UNK>", "new", "noun3"]
    place = old_words.words.index("noun3")
    np.testing.assert_array_equal(
        keras.ops.convert_to_numpy(model.softmax.kernel)[[0, 4]],
        keras.ops.convert_to_numpy(old.softmax.kernel)[[0, place]],
    )
    published = tmp_path / "options.json", tmp_path / "weights.hdf5"
    bilm_hdf5.save(keras_elmo.load(other), *published)
    again = keras_elmo.load(published)
    ids = keras_elmo.batch_to_ids([["the", "noun1"]])
    np.testing.assert_allclose(
        *(keras.ops.convert_to_numpy(m(ids)["layers"]) for m in (again, keras_elmo.load(folder))),
        atol=1e-6,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": "adamw", "warm_up_steps": 3, "decay": "cosine", "learning_rate": 0.05},
        {"dtype": "mixed_bfloat16", "accumulation": 2},
    ],
)
def test_other_recipes_learn(text, tmp_path, changes):
    recipe = Recipe(**{**TINY, **changes})
    pretrain(text[:2], tmp_path / "model", recipe, report=lambda line: None)
    found = perplexity(*load_language_model(tmp_path / "model"), Corpus(text[2]))
    assert found["mean"] < 10


@pytest.mark.usefixtures("eager")
def test_stops_early_and_keeps_the_best_and_the_last(text, tmp_path):
    recipe = Recipe(**{**TINY, "learning_rate": 0.0, "patience": 2, "epochs": 9})
    pretrain(
        text[:2], tmp_path / "model", recipe, text[2], validation_steps=2, report=lambda line: None
    )
    progress = weights_progress(tmp_path / "model")
    assert progress["step"] == 6
    assert best_and_last(tmp_path / "model") == (2, 6)
    # The same run without the held-out text makes its other steps, and the best stays the best.
    longer = replace(recipe, patience=None, max_steps=8)
    pretrain(text[:2], tmp_path / "model", longer, report=lambda line: None)
    assert best_and_last(tmp_path / "model") == (2, 8)
    lines = []
    pretrain(text[:2], tmp_path / "model", longer, report=lines.append)
    assert "all 8 steps are made; with more epochs or steps it goes on" in lines


def best_and_last(folder):
    files = [folder / part / "metadata.json" for part in ("", "training/last")]
    return tuple(json.loads(file.read_text())["step"] for file in files)


def weights_progress(folder):
    with h5py.File(folder / "training" / "checkpoint.h5") as file:
        return json.loads(file["progress"][()])


@pytest.mark.usefixtures("eager")
def test_what_goes_wrong_leaves_the_checkpoint_intact(text, tmp_path, monkeypatch):
    folder = tmp_path / "model"
    recipe = Recipe(**{**TINY, "max_steps": 4})
    quiet = {"report": lambda line: None, "checkpoint_steps": 2}
    pretrain(text[:2], folder, recipe, **quiet)
    before = weights(folder)

    bad = Recipe(**{**TINY, "max_steps": 8, "learning_rate": 1e38})
    with pytest.raises(ElmoError, match="(no longer finite|loss is nan)"):
        pretrain(text[:2], folder, bad, **quiet)

    recipe.max_steps = 8
    monkeypatch.setattr("keras_elmo.training.corpus.SentenceStream._read", _vanished)
    with pytest.raises(FileNotFoundError, match=r"1.txt"):
        pretrain(text[:2], folder, recipe, **quiet)
    monkeypatch.undo()

    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1000))
        with pytest.raises(ElmoError, match="checkpoint.h5: no space left .* bytes are needed"):
            pretrain(text[:2], folder, recipe, **quiet)

    settings = folder / "training" / "settings.json"
    kept = settings.read_text()
    settings.write_text(kept[:30])
    with pytest.raises(ElmoError, match="settings.json: not a JSON file"):
        pretrain(text[:2], folder, recipe, **quiet)
    settings.write_text(kept)

    for key, value in weights(folder).items():
        np.testing.assert_array_equal(before[key], value)
    other = Recipe(**{**TINY, "units": 9})
    with pytest.raises(ElmoError, match="holds a run with units = 8, not 9"):
        pretrain(text[:2], folder, other, **quiet)


def _vanished(stream, path, start, end):
    raise FileNotFoundError(2, "No such file or directory", "1.txt")


@pytest.mark.usefixtures("eager")
def test_a_run_goes_on_with_its_own_text_alone(text, tmp_path):
    recipe = Recipe(**{**TINY, "max_steps": 2})
    quiet = {"report": lambda line: None}
    pretrain(text[:2], tmp_path / "model", recipe, text[2], **quiet)
    recipe.max_steps = 4
    for files, held_out, message in [
        (text[:1], text[2], r"other text, .* words too;"),
        (text[1:], text[2], r"other text, .*0.*sentences of .* words, not .*1.*sentences of"),
        (text[:2], text[1], r"other held-out text, .*2.*sentences of .* words, not .*1"),
    ]:
        with pytest.raises(ElmoError, match=message):
            pretrain(files, tmp_path / "model", recipe, held_out, **quiet)
    pretrain(text[:2], tmp_path / "model", recipe, **quiet)  # without it the run may go on
    recipe.max_steps = 5
    with pytest.raises(ElmoError, match="other held-out text"):
        pretrain(text[:2], tmp_path / "model", recipe, text[1], **quiet)
    pretrain(text[:2], tmp_path / "model", recipe, text[2], **quiet)


@pytest.mark.usefixtures("eager")
def test_a_loss_that_is_no_number_before_the_first_checkpoint(text, tmp_path):
    bad = Recipe(**{**TINY, "max_steps": 8, "learning_rate": 1e38})
    with pytest.raises(ElmoError, match="earlier .*, if there is one, stays as it was"):
        pretrain(text[:2], tmp_path / "model", bad, checkpoint_steps=1, report=lambda line: None)


@pytest.mark.usefixtures("eager")
def test_reads_standard_input(text, tmp_path, monkeypatch):
    with open(text[0], "rb") as file:
        monkeypatch.setattr(sys, "stdin", os.fdopen(os.dup(file.fileno())))
        recipe = Recipe(**{**TINY, "max_steps": 1})
        pretrain("-", tmp_path / "model", recipe, report=lambda line: None)
    assert (tmp_path / "model" / "training" / "standard_input.txt").read_bytes() == (
        Path(text[0]).read_bytes()
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "sgd"}, "optimizer must be one of adagrad, adamw"),
        ({"batch_size": 5, "accumulation": 2}, "cannot be divided"),
        ({"units": 0}, "units must be at least 1, not 0"),
        ({"num_highways": -1}, "num_highways must be at least 0, not -1"),
        ({"learning_rate": -0.1}, "learning_rate must be at least 0"),
        ({"max_vocabulary": 2}, "max_vocabulary must be at least 3"),
        ({"dropout": 1.0}, "dropout must be below 1, not 1.0"),
        ({"reset_share": 1.5}, "reset_share must be at most 1"),
        ({"cell_clip": -1.0}, "cell_clip must be above 0"),
        ({"clip_norm": 0.0}, "clip_norm must be above 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"min_count": -1}, "min_count must be at least 0"),
        ({"seed": 2**32}, "seed must be at most 4294967295"),
        ({"learning_rate": float("nan")}, "learning_rate must be a finite number, not nan"),
        ({"clip_norm": float("inf")}, "clip_norm must be a finite number"),
        ({"filters": [[1, 0]]}, "filters must be pairs"),
        ({"filters": [[51, 8]]}, "a filter of width 51 is wider than a word, 50 characters"),
    ],
)
def test_a_recipe_without_meaning_is_refused(settings, message):
    with pytest.raises(ElmoError, match=message):
        Recipe(**settings)


@pytest.mark.usefixtures("eager")
def test_a_start_that_failed_binds_nobody(text, tmp_path):
    quiet = {"report": lambda line: None}
    with pytest.raises(ElmoError, match="take a smaller batch or more text"):
        pretrain(text[0], tmp_path / "model", Recipe(**{**TINY, "batch_size": 4096}), **quiet)
    recipe = Recipe(**{**TINY, "max_steps": 1, "max_vocabulary": 7})
    pretrain(text[1], tmp_path / "model", recipe, **quiet)
    assert len(load_language_model(tmp_path / "model")[1]) == 7


def test_what_cannot_be_trained_on_shows_before_the_first_step(text, tmp_path):
    recipe, output = Recipe(**{**TINY, "max_steps": 1}), tmp_path / "model"
    (tmp_path / "blank.txt").write_text("\n\n")
    with pytest.raises(ElmoError, match=r"blank.txt: no sentence in it"):
        pretrain(text[0], output, recipe, tmp_path / "blank.txt")
    with pytest.raises(ElmoError, match="held-out text is read many times"):
        pretrain(text[0], output, recipe, "-")
    with pytest.raises(ElmoError, match="checkpoint_steps must be at least 1, not 0"):
        pretrain(text[0], output, recipe, checkpoint_steps=0)
    with pytest.raises(ElmoError, match="is there already, and no run"):
        pretrain(text[0], tmp_path, recipe)
    assert not output.exists()


@pytest.mark.usefixtures("eager")
def test_a_run_keeps_its_vocabulary(text, tmp_path):
    recipe, words = Recipe(**{**TINY, "max_steps": 1}), tmp_path / "words.txt"
    words.write_text("<S>\n</S>\n<UNK>\nthe\nsat\n")
    arguments = {"vocabulary": words, "report": lambda line: None}
    pretrain(text[0], tmp_path / "model", recipe, **arguments)
    pretrain(text[0], tmp_path / "model", recipe, **arguments)
    words.write_text("<S>\n</S>\n<UNK>\nsat\nthe\n")
    with pytest.raises(ElmoError, match="other words"):
        pretrain(text[0], tmp_path / "model", recipe, **arguments)


def test_the_speed_leaves_out_what_was_compiled_in_the_first_step(monkeypatch):
    now, lines = [0.0], []
    monkeypatch.setattr("keras_elmo.training.progress.time.monotonic", lambda: now[0])
    run = SimpleNamespace(
        step=0,
        steps=8,
        epoch_steps=8,
        recipe=Recipe(batch_size=2, unroll=5),
        report=lines.append,
        log=SimpleNamespace(add=lambda *row: None),
        reached=lambda step, save: None,
    )
    progress = Progress(run, checkpoint_steps=4)
    progress.set_params({"steps": 4})
    logs = {"loss": 2.0, "forward_perplexity": 8.0, "backward_perplexity": 8.0}
    for batch, seconds in enumerate([1000, 1, 1, 1]):
        now[0] += seconds
        progress.on_train_batch_end(batch, logs)
    assert [line.split("  ")[1] for line in lines] == ["10 tokens/s"]
