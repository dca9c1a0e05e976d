import numpy as np
import pytest

from tests import fixtures
from tests import reference

pytestmark = pytest.mark.minimal


@pytest.mark.parametrize("variant", fixtures.VARIANTS)
def test_a_written_model_reads_back(variant, published_model, reference_model):
    model = reference.read(*published_model(variant))
    ids = fixtures.make_char_ids()
    layers = reference.elmo(ids, model)["layers"]
    np.testing.assert_array_equal(layers, reference.elmo(ids, reference_model(variant))["layers"])
    assert np.isfinite(layers).all()
    assert len(model.char_cnn.characters) == 262


@pytest.mark.parametrize("variant", ["clips_bite", "cell_clip_bites", "projection_clip_bites"])
def test_each_clip_bites(variant, reference_model):
    model = reference_model(variant)
    ids = fixtures.make_char_ids()
    h, c = reference.elmo(ids, model)["state"]
    lstm = model.forward[0]
    for values, limit in ((c, lstm.cell_clip), (h, lstm.projection_clip)):
        if limit is not None:
            at_limit = np.isclose(np.abs(values), limit, rtol=0, atol=1e-12).mean()
            assert 0.1 < at_limit < 0.9


def test_inputs_hold_the_awkward_rows():
    ids = fixtures.make_char_ids()
    lengths = reference.token_mask(ids).sum(axis=1)
    assert lengths.tolist() == list(fixtures.LENGTHS)
    assert (ids[..., -1] == 260).any(), "no word of more than 48 bytes"
    assert {0, 1} < set(lengths)
