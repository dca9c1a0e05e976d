import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import keras_elmo
from tests import fixtures

ROOT = Path(__file__).resolve().parents[1]
CODE = """
from functools import partial

import numpy as np
import openvino

import keras_elmo

# Keras leaves the precision to the processor, and some take bfloat16.
openvino.compile_model = partial(
    openvino.compile_model, config={{"INFERENCE_PRECISION_HINT": "f32"}}
)
elmo = keras_elmo.load({folder!r})
char_ids = keras_elmo.batch_to_ids({sentences})
np.savez({target!r}, **elmo.predict(char_ids, verbose=0))
try:
    elmo(char_ids)
except keras_elmo.ElmoError as error:
    print(error)
"""


@pytest.mark.jax
def test_the_openvino_backend_of_keras_predicts_and_does_no_more(published_model, tmp_path):
    pytest.importorskip("openvino")
    folder, target = str(published_model("plain")[0].parent), str(tmp_path / "answer.npz")
    sentences = fixtures.make_sentences((4, 1, 0))
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(folder=folder, sentences=sentences, target=target)],
        env={**os.environ, "KERAS_BACKEND": "openvino"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "keras-elmo export MODEL TARGET --format openvino" in done.stdout
    expected = keras_elmo.load(folder)(keras_elmo.batch_to_ids(sentences))
    with np.load(target) as answer:
        assert sorted(answer) == sorted(expected)
        for name, value in expected.items():
            np.testing.assert_allclose(answer[name], np.asarray(value), atol=1e-5)
