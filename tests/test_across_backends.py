"""What one backend saves, the others read, with the same numbers and the same gradients."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from tests import elsewhere
from tests.conftest import BACKENDS
from tests.contract import MASK
from tests.layers import test_bilm
from tests.layers import test_char_cnn_embedding
from tests.layers import test_highway
from tests.layers import test_projected_lstm
from tests.layers import test_scalar_mix
from tests.models import test_elmo

LAYERS = {
    "highway": test_highway.TestHighway,
    "char_cnn_embedding": test_char_cnn_embedding.TestCharCNNEmbedding,
    "projected_lstm": test_projected_lstm.TestProjectedLSTM,
    "bilm": test_bilm.TestBiLM,
    "scalar_mix": test_scalar_mix.TestScalarMix,
}
NAMES = (*LAYERS, "elmo")


def write(folder, name, model, trainer, inputs):
    model.save(folder / f"{name}.keras")
    trainer.save(folder / f"{name}.trainer.keras")
    arrays = keras.tree.flatten(inputs)
    np.savez(folder / name, **{str(k): array for k, array in enumerate(arrays)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The models, saved by this backend, and its own results."""
    path = tmp_path_factory.mktemp("models")
    for name, contract in LAYERS.items():
        layer, contract = contract.layer(), contract()
        write(path, name, *contract.model(layer), [contract.make_inputs(), MASK])
    elmo = test_elmo.make(layer_norm="allennlp", trainable_bilm=True)
    test_elmo.set_mix(elmo.scalar_mix)
    ids = keras.Input((None, 12), dtype="int32")
    mixed = elmo(ids)["elmo"]
    trainer = keras.Model([ids], ops.reshape(ops.sum(ops.square(mixed)), (1,)))
    write(path, "elmo", keras.Model([ids], [mixed]), trainer, [test_elmo.IDS])
    return path


@pytest.fixture(scope="module")
def here(folder):
    return {name: elsewhere.results(folder, name) for name in NAMES}


@pytest.fixture(scope="module", params=BACKENDS)
def there(request, folder):
    """The results of another backend."""
    backend = request.param
    if backend == keras.config.backend():
        pytest.skip("this is the backend that runs")
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    subprocess.run(
        [sys.executable, "-m", "tests.elsewhere", str(folder)],
        env={**os.environ, "KERAS_BACKEND": backend},
        cwd=Path(__file__).resolve().parents[1],
        check=True,
    )
    return {name: dict(np.load(folder / f"{name}.{backend}.result.npz")) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_same_numbers_and_gradients(name, here, there):
    assert set(here[name]) == set(there[name])
    for key, values in here[name].items():
        # Weights after a step of size 0.1 agree to a tenth of what their gradients do.
        atol = 1e-5 if key.startswith("output") else 1e-5 * max(1.0, np.abs(values).max())
        np.testing.assert_allclose(there[name][key], values, rtol=0, atol=atol, err_msg=key)
