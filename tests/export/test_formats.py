import shutil
import subprocess
import sys

import keras
import pytest
from click.testing import CliRunner

import keras_elmo
from keras_elmo.cli import main
from keras_elmo.errors import ElmoError
from keras_elmo.export import formats
from keras_elmo.export import saved_model


@pytest.fixture(scope="module")
def source(published_model):
    """The folder of the model `plain` of tests/fixtures.py."""
    return published_model("plain")[0].parent


def run(*arguments):
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


@pytest.mark.jax
def test_command_on_any_backend(source, tmp_path):
    pytest.importorskip("ai_edge_litert")
    from keras_elmo.export.litert_runner import LiteRTRunner

    target = tmp_path / "elmo.tflite"
    options = ["--format", "litert", "--outputs", "top", "--lengths", "4"]
    done = subprocess.run(
        [sys.executable, "-m", "keras_elmo", "export", str(source), str(target), *options],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{target}: written\n"
    assert LiteRTRunner(target)(["The", "cat"])["top"].shape == (2, 16)


@pytest.mark.tensorflow
def test_command_writes_a_saved_model(source, tmp_path):
    done = run(source, tmp_path / "elmo" / "1", "--format", "savedmodel")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "elmo" / "1" / "saved_model.pb").exists()


@pytest.fixture
def places(source, tmp_path):
    """Paths by name: a model, free and taken targets, broken models."""
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken.tflite").touch()
    (tmp_path / "empty").mkdir()
    for name in ("no_json", "cut"):
        shutil.copytree(source, tmp_path / name)
    (tmp_path / "no_json" / "options.json").write_text("{")
    weights = tmp_path / "cut" / "weights.hdf5"
    weights.write_bytes(weights.read_bytes()[:1000])
    return {"model": source, **{path.name: path for path in tmp_path.iterdir()}}


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("model taken savedmodel", "taken: exists already; remove it or give another name"),
        ("model taken.tflite litert", "taken.tflite: exists already"),
        ("model elmo.bin litert", "elmo.bin: the name must end in .tflite"),
        ("model elmo onnx", "elmo: the name must end in .onnx"),
        ("model elmo openvino", "elmo: the name must end in .xml"),
        ("model elmo coreml", "savedmodel, litert, onnx, openvino, not 'coreml'"),
        ("model elmo litert --warm-up", "--warm-up: not an option of the format litert"),
        ("model elmo.tflite litert --weights int4", "int8, float16, float32, not 'int4'"),
        ("model elmo.onnx onnx --outputs bottom", "mix, top, all, not 'bottom'"),
        ("empty elmo savedmodel", "empty"),
        ("no_json elmo savedmodel", "options.json"),
        ("cut elmo savedmodel", "weights.hdf5"),
        ("nowhere elmo savedmodel", "nowhere"),
    ],
)
def test_what_is_wrong_is_one_line(places, tmp_path, command, problem):
    before = sorted(tmp_path.rglob("*"))
    name, target, form, *options = command.split()
    done = run(places.get(name, name), tmp_path / target, "--format", form, *options)
    assert done.exit_code == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("keras-elmo: ")
    assert problem in line
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("package", "extra", "command"),
    [
        ("tf2onnx", "onnx", "elmo.onnx onnx"),
        ("openvino", "openvino", "elmo.xml openvino"),
        ("tensorflow_serving.apis.prediction_log_pb2", "serving", "elmo savedmodel --warm-up"),
        ("tensorflow_text", "tensorflow", "elmo savedmodel --tokenizer tensorflow-text"),
    ],
)
def test_a_missing_package_is_named(source, tmp_path, monkeypatch, package, extra, command):
    monkeypatch.setitem(sys.modules, package, None)
    target, form, *options = command.split()
    done = run(source, tmp_path / target, "--format", form, *options)
    assert done.exit_code == 2
    [line] = done.stderr.splitlines()
    assert f'pip install "keras-elmo[{extra}]"' in line
    assert list(tmp_path.iterdir()) == []


def test_other_backends_say_what_to_set(published_model, tmp_path):
    if keras.config.backend() == "tensorflow":
        pytest.skip("needs another backend")
    elmo = keras_elmo.load(published_model("plain"))
    with pytest.raises(ElmoError, match="set KERAS_BACKEND=tensorflow"):
        saved_model.save(elmo, tmp_path / "1")


def test_every_option_is_one_of_the_format():
    assert formats.SAVERS.keys() == formats.OPTIONS.keys()
    for form, save in formats.SAVERS.items():
        code = save.__code__
        arguments = set(code.co_varnames[2 : code.co_argcount])
        assert arguments == formats.OPTIONS[form]
