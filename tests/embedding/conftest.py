import pytest

import keras_elmo
from tests import fixtures
from tests import reference


@pytest.fixture(scope="session")
def elmo(published_model):
    return keras_elmo.load(published_model("plain"))


@pytest.fixture(scope="session")
def embedder(elmo):
    """One that tests share, so that its programs are compiled once."""
    return keras_elmo.Embedder(elmo, batch_tokens=512)


@pytest.fixture(scope="session")
def layers_of(reference_model):
    """All layers of one sentence alone, by the reference: (L + 1, tokens, 2P)."""

    def layers(sentence, variant="plain"):
        ids = reference.batch_to_ids([sentence])
        return reference.elmo(ids, reference_model(variant))["layers"][0][:, : len(sentence)]

    return layers


@pytest.fixture(scope="session")
def gentle_model():
    """Options and arrays of a model that forgets, so that float32 stays exact for 700 tokens."""
    options, arrays = fixtures.make_model("plain")
    return options, {
        name: array * 0.5 if name.startswith("RNN") else array for name, array in arrays.items()
    }


@pytest.fixture(scope="session")
def gentle_embedder(gentle_model, tmp_path_factory):
    paths = fixtures.write_model(tmp_path_factory.mktemp("gentle"), *gentle_model)
    return keras_elmo.Embedder(keras_elmo.load(paths), batch_tokens=512)


@pytest.fixture(scope="session")
def gentle_layers_of(gentle_model):
    """As `layers_of`, for `gentle_model`."""
    model = reference.build(*gentle_model)

    def layers(sentence):
        ids = reference.batch_to_ids([sentence])
        return reference.elmo(ids, model)["layers"][0][:, : len(sentence)]

    return layers
