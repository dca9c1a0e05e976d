import os
import subprocess
import sys

import keras
import pytest

import keras_elmo
from keras_elmo.errors import ElmoError
from keras_elmo.export import formats
from keras_elmo.export import graph
from keras_elmo.export import saved_model


def command(*arguments, backend=None):
    return subprocess.run(
        [sys.executable, "-m", "keras_elmo", "export", *map(str, arguments)],
        env={**os.environ, **({"KERAS_BACKEND": backend} if backend else {})},
        capture_output=True,
        text=True,
    )


@pytest.mark.tensorflow
def test_command_on_any_backend(published_model, tmp_path):
    pytest.importorskip("ai_edge_litert")
    from keras_elmo.export.litert_runner import LiteRTRunner

    model = published_model("plain")[0].parent
    target = tmp_path / "elmo.tflite"
    done = command(
        model, target, "--format", "litert", "--outputs", "top", "--lengths", 4, backend="jax"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{target}: written\n"
    assert LiteRTRunner(target)(["The", "cat"])["top"].shape == (2, 16)


@pytest.mark.tensorflow
def test_command_writes_a_saved_model(published_model, tmp_path):
    model = published_model("plain")[0].parent
    done = command(model, tmp_path / "elmo" / "1", "--format", "savedmodel")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "elmo" / "1" / "saved_model.pb").exists()


def test_command_says_in_one_line_what_is_wrong(published_model, tmp_path):
    pytest.importorskip("tensorflow")
    model = published_model("plain")[0].parent
    (tmp_path / "broken").mkdir()
    free = tmp_path / "free.tflite"
    before = sorted(tmp_path.rglob("*"))
    for arguments, problem in [
        ((model, free, "--format", "coreml"), "'coreml'"),
        ((model, free, "--format", "litert", "--warm-up"), "--warm-up: not an option"),
        ((model, tmp_path / "broken", "--format", "savedmodel"), "exists already"),
        ((tmp_path / "broken", free, "--format", "litert"), "broken"),
    ]:
        done = command(*arguments, backend="tensorflow")
        assert done.returncode == 2, done.stderr
        [line] = [x for x in done.stderr.splitlines() if x.startswith("keras-elmo: ")]
        assert problem in line
    assert sorted(tmp_path.rglob("*")) == before


def test_other_backends_say_what_to_set(published_model, tmp_path):
    if keras.config.backend() == "tensorflow":
        pytest.skip("needs another backend")
    elmo = keras_elmo.load(published_model("plain"))
    with pytest.raises(ElmoError, match="set KERAS_BACKEND=tensorflow"):
        saved_model.save(elmo, tmp_path / "1")


def test_a_missing_package_is_named():
    with pytest.raises(ElmoError, match=r'no_such_package: pip install "keras-elmo\[onnx\]"'):
        graph.require("no_such_package", "onnx")


def test_every_option_is_one_of_the_format():
    assert formats.SAVERS.keys() == formats.OPTIONS.keys()
    for form, save in formats.SAVERS.items():
        code = save.__code__
        arguments = set(code.co_varnames[2 : code.co_argcount])
        assert arguments == formats.OPTIONS[form]
