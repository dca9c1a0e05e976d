import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from keras_elmo import default_backend

pytestmark = pytest.mark.minimal

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def choose(tmp_path, monkeypatch):
    """A function: what is installed, KERAS_BACKEND, keras.json -> the backend named to Keras."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))

    def run(installed, named="", configured=None):
        monkeypatch.setenv("KERAS_BACKEND", named)
        monkeypatch.setattr(default_backend, "find_spec", lambda name: name in installed or None)
        if configured is not None:
            (tmp_path / "keras.json").write_text(configured)
        default_backend.choose()
        return os.environ["KERAS_BACKEND"]

    return run


def test_what_the_user_chose_stays(choose):
    everything = ("tensorflow", "jax", "torch")
    assert choose(everything, named="torch") == "torch"
    assert choose(everything) == ""
    assert choose(everything, configured='{"backend": "jax"}') == ""


@pytest.mark.parametrize("configured", [None, '{"backend": "tensorflow"}', "{}", "[]", "broken"])
def test_else_the_first_that_is_installed(choose, configured):
    assert choose(("jax", "torch"), configured=configured) == "jax"
    assert choose(("torch",), configured=configured) == "torch"


def test_says_what_to_install(choose):
    with pytest.raises(ImportError, match=r"needs a backend .* pip install \"keras-elmo\[jax\]\""):
        choose(())
    with pytest.raises(ImportError, match=r"KERAS_BACKEND is jax, which is not installed"):
        choose(("torch",), named="jax")


def imported(missing, tmp_path):
    """Imports the package as if some packages were not installed, with nothing set."""
    code = f"""
        import sys
        sys.modules.update(dict.fromkeys({missing}))
        import keras_elmo, keras
        print(keras.config.backend())
    """.replace("        ", "")
    unset = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**unset, "KERAS_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_without_tensorflow_and_without_a_word(tmp_path):
    settings = {"floatx": "float32", "epsilon": 1e-07, "backend": "tensorflow"}
    (tmp_path / "keras.json").write_text(json.dumps(settings))  # as Keras leaves it
    done = imported(["tensorflow"], tmp_path)
    assert done.stdout.strip() in ("jax", "torch"), done.stderr


def test_without_any(tmp_path):
    done = imported(["tensorflow", "jax", "torch"], tmp_path)
    assert 'pip install "keras-elmo[jax]"' in done.stderr.splitlines()[-1]
