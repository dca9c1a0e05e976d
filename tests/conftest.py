import os
import random
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
if os.environ.get("KERAS_BACKEND") == "torch":
    import torch  # noqa: F401  (loaded after TensorFlow, it can crash)

import pytest
from hypothesis import settings

from tests import fixtures
from tests import reference

BACKENDS = ("tensorflow", "jax", "torch")

settings.register_profile("keras_elmo", deadline=None, derandomize=True)
settings.load_profile("keras_elmo")


def pytest_configure(config):
    # A warning that our own code sets off is a fault of ours.
    config.addinivalue_line("filterwarnings", "error:::keras_elmo")
    for name in BACKENDS:
        config.addinivalue_line("markers", f"{name}: runs on the {name} backend only")


def pytest_runtest_setup(item):
    random.seed(0)  # Keras draws its seeds from here: random weights are the same in every run
    wanted = [name for name in BACKENDS if item.get_closest_marker(name)]
    if wanted:
        import keras

        if keras.config.backend() not in wanted:
            pytest.skip(f"needs the backend {' or '.join(wanted)}")


@pytest.fixture
def eager():
    """Operation by operation on TensorFlow: tracing takes longer than what a few steps save."""
    import keras

    if keras.config.backend() != "tensorflow":
        yield
        return
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="session")
def shared_data():
    """The folder of public fixtures and corpora beside the repository."""
    path = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"needs the shared data in {path}")
    return path


@pytest.fixture(scope="session")
def published_model(tmp_path_factory):
    """A function: name in fixtures.VARIANTS -> (options.json, weights.hdf5), written once."""
    paths = {}

    def write(variant):
        if variant not in paths:
            folder = tmp_path_factory.mktemp(variant)
            paths[variant] = fixtures.write_model(folder, *fixtures.make_model(variant))
        return paths[variant]

    return write


@pytest.fixture(scope="session")
def reference_model():
    """A function: name in fixtures.VARIANTS -> the same model as the float64 reference."""
    models = {}

    def build(variant):
        if variant not in models:
            models[variant] = reference.build(*fixtures.make_model(variant))
        return models[variant]

    return build
