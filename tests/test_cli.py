import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import keras_elmo
from keras_elmo.cli import main
from keras_elmo.errors import ElmoError

ROOT = Path(__file__).resolve().parents[1]
TEXT = "The cat sat .\nHello world !\nYes\n"


@pytest.fixture
def folder(tmp_path, monkeypatch, published_model):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    Path("model").symlink_to(published_model("plain")[0].parent)
    return tmp_path


def run(*arguments, status=0, **kwargs):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], **kwargs)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def embed(*arguments, **kwargs):
    return run("embed", *arguments, "--model", "model", **kwargs)


def fails(message, *arguments, **kwargs):
    """The one line that a failing command prints."""
    error = embed(*arguments, status=2, **kwargs).stderr
    assert message in error
    assert error.startswith("keras-elmo: ")
    assert error.count("\n") == 1


def test_embed(folder):
    result = embed("text.txt", "vectors.hdf5")
    assert "The cat sat .  (3, 4, 16) float32" in result.stdout
    assert "vectors.hdf5: 3 sentences, 8 tokens" in result.stdout
    assert "tokens/s" in result.stderr
    sentences = [line.split() for line in TEXT.splitlines()]
    expected = keras_elmo.Embedder(keras_elmo.load("model")).embed(sentences)
    with h5py.File("vectors.hdf5") as file:
        assert json.loads(file["sentence_to_index"][0])["Yes"] == "2"
        for number, vectors in enumerate(expected):
            np.testing.assert_array_equal(file[str(number)], vectors)
    assert sorted(os.listdir()) == ["model", "text.txt", "vectors.hdf5"]


def test_options(folder):
    embed(
        "-",
        "vectors.npz",
        "--layers",
        "0",
        "--dtype",
        "float16",
        "--pool",
        "--allow-empty",
        input="a b\n\nc\n",
    )
    with np.load("vectors.npz") as file:
        assert [file[str(n)].shape for n in range(3)] == [(16,)] * 3
        assert file["0"].dtype == np.float16
        assert not file["1"].any()


def test_raw_text(folder):
    pytest.importorskip("nltk")
    result = embed("-", "vectors.npz", "--layers", "0", "--tokenizer", "treebank", input="Don't!\n")
    assert "1 sentences, 3 tokens" in result.stdout


def test_what_goes_wrong_is_one_line(folder):
    fails("none.txt: No such file or directory", "none.txt", "vectors.h5")
    fails("vectors.txt: the name must end in", "text.txt", "vectors.txt")
    fails("none: no such folder", "text.txt", "none/vectors.h5")
    fails("line 2: no token", "-", "vectors.h5", input="a\n\n")
    fails("line 1: not UTF-8", "-", "vectors2.h5", input=b"\xff\n")
    fails("Unknown tokenizer 'best'", "text.txt", "vectors3.h5", "--tokenizer", "best")
    fails("layers=7", "text.txt", "vectors4.h5", "--layers", "7")
    Path("old.h5").touch()
    fails("old.h5: exists", "text.txt", "old.h5")
    Path("folder.h5").mkdir()
    fails("folder.h5: is a folder", "text.txt", "folder.h5")
    error = run("embed", "text.txt", "vectors5.h5", "--model", "nowhere", status=2).stderr
    assert error.count("\n") == 1
    assert not [name for name in os.listdir() if name.startswith("vectors") and name.endswith("5")]


@pytest.mark.parametrize("error", [ElmoError("a\nb"), OSError(28, "No space left", "x.h5")])
def test_errors_of_every_command(error, folder, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr("keras_elmo.presets.load", fail)
    fails("a b" if isinstance(error, ElmoError) else "x.h5: No space left", "text.txt", "o.h5")


def test_unknown_layers(folder):
    assert (
        "use all, top, average, mix" in embed("text.txt", "o.h5", "--layers", "x", status=2).stderr
    )


def command(*arguments, **kwargs):
    code = "import sys; from keras_elmo.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **kwargs,
    )


def test_killed_and_resumed(folder):
    arguments = ["--model", "model", "--layers", "top", "--batch-tokens", "64"]
    Path("long.txt").write_text("\n".join(f"line {n} of the text" for n in range(120)) + "\n")
    process = command("embed", "-", "vectors.h5", *arguments, stdin=subprocess.PIPE)
    lines = Path("long.txt").read_text().splitlines(keepends=True)
    process.stdin.writelines(lines[:100])
    process.stdin.flush()
    log = folder / "vectors.h5.partial" / "journal"
    while not (log.exists() and log.stat().st_size > 500):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not Path("vectors.h5").exists()
    fails("use --resume", "long.txt", "vectors.h5", *arguments[2:])
    fails(
        "begun with layers=top, now layers=all",
        "long.txt",
        "vectors.h5",
        "--resume",
        *arguments[4:],
    )
    embed("long.txt", "vectors.h5", "--resume", *arguments[2:])
    embed("long.txt", "whole.h5", *arguments[2:])
    assert Path("vectors.h5").read_bytes() == Path("whole.h5").read_bytes()


def test_no_space_left(folder):
    Path("long.txt").write_text("a few words in a line\n" * 200)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    process = command(
        "embed", "long.txt", "vectors.h5", "--model", "model", "--layers", "0", preexec_fn=limit
    )
    _, error = process.communicate()
    assert process.returncode == 2
    assert "File too large" in error.splitlines()[-1]
    assert not Path("vectors.h5").exists()


def test_info(folder):
    lines = run("info", "model").stdout.splitlines()
    found = {line.split("  ")[0]: line.split("  ")[-1].strip() for line in lines}
    assert found["parameters"] == f"{keras_elmo.load('model').count_params():,}"
    assert found["vectors"] == "3 layers of 16 numbers a token"
    assert found["skip connections"] == "yes"


def test_info_shows_where_a_model_comes_from(folder):
    from keras_elmo.convert.folder import save

    save(keras_elmo.load("model"), "saved", license="CC0", heldout_perplexity=123.4)
    text = run("info", "saved").stdout
    assert "CC0" in text
    assert "123.4" in text


def test_help_names_every_command():
    text = run("--help").stdout
    assert "embed" in text
    assert "info" in text
