import json

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
from keras import ops

from keras_elmo.layers import AddBoundaries
from keras_elmo.layers import RemoveBoundaries
from keras_elmo.text.characters import batch_to_ids
from tests import fixtures
from tests import reference
from tests.contract import jit_compile

ROWS = strategies.lists(strategies.lists(strategies.booleans(), min_size=6, max_size=6), max_size=5)


def make_ids(mask, width=7):
    """One word "ab" wherever the mask is true."""
    word = reference.word_to_ids("ab", width)
    return np.where(np.asarray(mask)[..., None], word, 0).astype(np.int32)


class TestAddBoundaries:
    @settings(max_examples=60)
    @given(rows=ROWS)
    def test_any_mask(self, rows):
        ids = make_ids(np.array(rows, bool).reshape(len(rows), 6))
        found = ops.convert_to_numpy(AddBoundaries()(ids))
        np.testing.assert_array_equal(found, reference.add_boundaries(ids))
        assert found.dtype == np.int32

    @pytest.mark.parametrize("kind", ["right", "left", "holed"])
    def test_compiled(self, kind):
        ids = make_ids(fixtures.make_masks()[kind])
        inputs = keras.Input((None, 7), dtype="int32")
        outputs = AddBoundaries()(inputs)
        assert outputs.shape == (None, None, 7)
        model = keras.Model(inputs, outputs)
        model.compile(jit_compile=jit_compile())
        np.testing.assert_array_equal(model.predict_on_batch(ids), reference.add_boundaries(ids))

    def test_real_words(self):
        ids = batch_to_ids([["The", "end"], [], ["."]])
        found = ops.convert_to_numpy(AddBoundaries()(ids))
        begin, end = [259, 257, 260] + [261] * 47, [259, 258, 260] + [261] * 47
        np.testing.assert_array_equal(found[0], [begin, *ids[0], end])
        np.testing.assert_array_equal(found[1], [begin, end, ids[1, 0], ids[1, 0]])
        np.testing.assert_array_equal(found[2], [begin, ids[2, 0], end, ids[2, 1]])

    @pytest.mark.parametrize("shape", [(0, 3, 50), (2, 0, 50), (0, 0, 50)])
    def test_empty(self, shape):
        ids = np.zeros(shape, np.int32)
        found = ops.convert_to_numpy(AddBoundaries()(ids))
        assert found.shape == (shape[0], shape[1] + 2, 50)
        np.testing.assert_array_equal(found, reference.add_boundaries(ids).reshape(found.shape))

    def test_other_boundaries(self):
        layer = AddBoundaries(boundary_ids=[[7], [8]])
        found = ops.convert_to_numpy(layer(np.array([[[1], [2]], [[3], [0]]], np.int32)))
        np.testing.assert_array_equal(found[..., 0], [[7, 1, 2, 8], [7, 3, 8, 0]])
        config = layer.get_config()
        assert json.loads(json.dumps(config)) == config
        assert AddBoundaries.from_config(config).boundary_ids == [[7], [8]]


class TestRemoveBoundaries:
    @pytest.mark.parametrize("leading", [(), (3,)])
    @pytest.mark.parametrize("kind", ["right", "left", "holed"])
    def test_agrees_with_the_reference(self, leading, kind):
        mask = fixtures.make_masks()[kind]
        rng = np.random.default_rng(0)
        x = rng.normal(size=(len(mask), *leading, mask.shape[1] + 2, 4)).astype("float32")
        found = ops.convert_to_numpy(RemoveBoundaries()(x, mask=mask))
        np.testing.assert_array_equal(found, reference.remove_boundaries(x, mask))

    def test_is_the_inverse(self):
        mask = fixtures.make_masks()["right"]
        words = AddBoundaries()(make_ids(mask))
        back = RemoveBoundaries()(ops.cast(words, "float32"), mask=mask)
        np.testing.assert_array_equal(ops.convert_to_numpy(back), make_ids(mask))

    def test_compiled_and_saved(self, tmp_path):
        mask = fixtures.make_masks()["holed"]
        x = np.random.default_rng(0).normal(size=(len(mask), mask.shape[1] + 2, 4))
        inputs, mask_input = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
        outputs = RemoveBoundaries()(inputs, mask=mask_input)
        assert outputs.shape == (None, None, 4)
        model = keras.Model([inputs, mask_input], outputs)
        model.save(tmp_path / "model.keras")
        model = keras.saving.load_model(tmp_path / "model.keras")
        model.compile(jit_compile=jit_compile())
        expected = reference.remove_boundaries(x, mask)
        np.testing.assert_allclose(model.predict_on_batch([x, mask]), expected, atol=1e-6)

    def test_hands_on_the_mask(self):
        mask = fixtures.make_masks()["left"]
        x = np.ones((len(mask), mask.shape[1] + 2, 4))
        found = RemoveBoundaries()(x, mask=ops.convert_to_tensor(mask))
        np.testing.assert_array_equal(ops.convert_to_numpy(found._keras_mask), mask)

    def test_config(self):
        config = RemoveBoundaries(dtype=keras.DTypePolicy("mixed_bfloat16")).get_config()
        json.dumps(config)
        assert RemoveBoundaries.from_config(config).compute_dtype == "bfloat16"
