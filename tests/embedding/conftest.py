import pytest

import keras_elmo
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
