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
import numpy as np
import keras
import keras_elmo
from tests import fixtures

elmo = keras_elmo.load({folder!r})
ids = keras_elmo.batch_to_ids(fixtures.make_sentences((5, 1, 7)))
called = {{k: keras.ops.convert_to_numpy(v) for k, v in elmo(ids).items()}}
predicted = {{f"predicted_{{k}}": v for k, v in elmo.predict(ids, verbose=0).items()}}
np.savez({target!r}, **called, **predicted)
"""


@pytest.mark.jax
def test_inference_on_the_openvino_backend(published_model, tmp_path):
    pytest.importorskip("openvino")
    folder, target = str(published_model("plain")[0].parent), str(tmp_path / "answer.npz")
    subprocess.run(
        [sys.executable, "-c", CODE.format(folder=folder, target=target)],
        env={**os.environ, "KERAS_BACKEND": "openvino"},
        cwd=ROOT,
        check=True,
    )
    elmo = keras_elmo.load(folder)
    expected = elmo(keras_elmo.batch_to_ids(fixtures.make_sentences((5, 1, 7))))
    with np.load(target) as answer:
        assert len(answer) == 2 * len(expected)
        for name, value in expected.items():
            for prefix in ("", "predicted_"):
                np.testing.assert_allclose(answer[prefix + name], np.asarray(value), atol=1e-4)
