import pytest

import keras_elmo


@pytest.fixture(scope="session")
def elmo(published_model):
    """The model `plain` of tests/fixtures.py, with a mix that is not the mean."""
    return with_mix(keras_elmo.load(published_model("plain")))


def with_mix(elmo):
    elmo.scalar_mix.weights_logits.assign([0.3, -0.2, 0.7])
    elmo.scalar_mix.gamma.assign(1.7)
    return elmo


@pytest.fixture(scope="session")
def tflite(elmo, tmp_path_factory):
    """A LiteRT file of it with float32 weights."""
    pytest.importorskip("ai_edge_litert")
    from keras_elmo.export import litert

    path = tmp_path_factory.mktemp("litert") / "elmo.tflite"
    litert.save(elmo, path, weights="float32")
    return path
