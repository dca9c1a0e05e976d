import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import keras_elmo
from tests.cli import commands
from tests.cli.commands import start


def embed(*arguments, **kwargs):
    return commands.run("embed", *arguments, "--model", "model", **kwargs)


def fails(message, *arguments, **kwargs):
    commands.fails(message, "embed", *arguments, "--model", "model", **kwargs)


def test_embed(folder):
    result = embed("text.txt", "vectors.hdf5")
    assert "The cat sat .  (3, 4, 16) float32" in result.stdout
    assert "vectors.hdf5: 3 sentences, 8 tokens" in result.stdout
    assert "tokens/s" in result.stderr
    sentences = [line.split() for line in Path("text.txt").read_text().splitlines()]
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
    commands.fails("nowhere", "embed", "text.txt", "vectors5.h5", "--model", "nowhere")
    assert not [name for name in os.listdir() if name.startswith("vectors") and name.endswith("5")]


def test_unknown_layers(folder):
    assert (
        "use all, top, average, mix" in embed("text.txt", "o.h5", "--layers", "x", status=2).stderr
    )


def test_killed_and_resumed(folder):
    arguments = ["--model", "model", "--layers", "top", "--batch-tokens", "64"]
    Path("long.txt").write_text("\n".join(f"line {n} of the text" for n in range(480)) + "\n")
    process = start("embed", "-", "vectors.h5", *arguments, stdin=subprocess.PIPE)
    lines = Path("long.txt").read_text().splitlines(keepends=True)
    process.stdin.writelines(lines[:400])
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

    process = start(
        "embed", "long.txt", "vectors.h5", "--model", "model", "--layers", "0", preexec_fn=limit
    )
    _, error = process.communicate()
    assert process.returncode == 2
    assert "File too large" in error.splitlines()[-1]
    assert not Path("vectors.h5").exists()
