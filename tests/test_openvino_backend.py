import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = """
import keras_elmo

elmo = keras_elmo.load({folder!r})
try:
    elmo(keras_elmo.batch_to_ids([["The", "cat"]]))
except keras_elmo.ElmoError as error:
    print(error)
"""


@pytest.mark.jax
def test_the_openvino_backend_of_keras_is_refused(published_model):
    pytest.importorskip("openvino")
    folder = str(published_model("plain")[0].parent)
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(folder=folder)],
        env={**os.environ, "KERAS_BACKEND": "openvino"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "keras-elmo export MODEL TARGET --format openvino" in done.stdout
