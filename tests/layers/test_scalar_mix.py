import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import ElmoError
from keras_elmo.layers import ScalarMix
from tests import fixtures
from tests import reference
from tests.contract import MASK
from tests.contract import LayerContract
from tests.contract import arrays


class TestScalarMix(LayerContract):
    regularizers = {"regularizer": 1}

    def make(self, **arguments):
        return ScalarMix(**arguments)

    def make_inputs(self, mask=MASK, padding=0.0):
        return [fixtures.make_vectors(mask, 4, seed, padding) for seed in range(3)]

    def stacked(self, **arguments):
        return np.stack(self.make_inputs(**arguments), axis=1)

    @pytest.mark.parametrize("norm", [None, "allennlp", "bilm"])
    @pytest.mark.parametrize("kind", ["right", "left", "holed"])
    def test_agrees_with_the_reference(self, norm, kind):
        mask = fixtures.make_masks()[kind]
        weights = [0.3, -0.2, 0.7]
        layer = ScalarMix(layer_norm=norm, initial_weights=weights, initial_gamma=1.7)
        layers = self.stacked(mask=mask, padding=np.nan)
        found = ops.convert_to_numpy(layer(layers, mask=mask))
        expected = reference.scalar_mix(layers.astype(float), mask, weights, 1.7, norm)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)

    def test_a_list_and_a_stacked_tensor_are_the_same(self):
        layer = self.layer()
        one = ops.convert_to_numpy(layer(self.make_inputs(), mask=MASK))
        other = ops.convert_to_numpy(layer(self.stacked(), mask=MASK))
        np.testing.assert_array_equal(one, other)

    def test_a_fresh_mix_is_the_mean(self):
        layer, x = ScalarMix(), self.stacked(mask=np.ones((2, 3), bool))
        np.testing.assert_allclose(ops.convert_to_numpy(layer(x)), x.mean(axis=1), atol=1e-6)
        np.testing.assert_allclose(ops.convert_to_numpy(layer.normalized_weights), [1 / 3] * 3)
        assert [v.shape for v in layer.trainable_variables] == [(3,), ()]

    def test_initial_weights(self):
        layer = ScalarMix(initial_weights=[0, 1, 2])
        layer(self.make_inputs())
        shares = ops.convert_to_numpy(layer.normalized_weights)
        np.testing.assert_allclose(shares, [0.0900, 0.2447, 0.6652], atol=1e-4)

    @pytest.mark.parametrize("shares", [[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    def test_initial_weights_as_shares(self, shares):
        layer = ScalarMix(initial_weights=np.array(shares, "float32"), normalized=True)
        found = layer(self.make_inputs())
        expected = sum(share * x for share, x in zip(shares, self.make_inputs(), strict=True))
        np.testing.assert_allclose(
            ops.convert_to_numpy(layer.normalized_weights), shares, atol=1e-6
        )
        np.testing.assert_allclose(ops.convert_to_numpy(found), expected, rtol=0, atol=1e-5)
        assert all(np.isfinite(w).all() for w in layer.get_weights())
        again = ScalarMix.from_config(json.loads(json.dumps(layer.get_config())))
        again(self.make_inputs())
        np.testing.assert_array_equal(again.get_weights()[0], layer.get_weights()[0])

    @pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
    @pytest.mark.parametrize("case", ["all padding", "constant", "random"])
    def test_layer_norm_is_finite(self, case, dtype):
        mask = np.zeros_like(MASK) if case == "all padding" else MASK
        x = np.ones_like(self.stacked()) if case == "constant" else self.stacked()
        layer = ScalarMix(layer_norm=True, dtype=dtype)
        outputs = ops.convert_to_numpy(layer(x, mask=mask)).astype("float32")
        assert np.isfinite(outputs).all()
        if case != "random":
            np.testing.assert_allclose(outputs, 0.0, atol=1e-3)
        model = self.model(layer)[1]
        model.compile(keras.optimizers.SGD(0.1), self.identity)
        model.train_on_batch([list(x.swapaxes(0, 1)), mask], np.zeros((1,)))
        assert all(np.isfinite(w).all() for w in layer.get_weights())

    def test_layer_norm_depends_on_the_batch(self):
        layer = ScalarMix(layer_norm="allennlp")
        x = self.stacked(mask=np.ones((2, 3), bool))
        alone, batch = ops.convert_to_numpy(layer(x[:1])), ops.convert_to_numpy(layer(x))
        assert np.abs(alone[0] - batch[0]).max() > 1e-3

    def test_the_mask_of_the_inputs_counts(self):
        masking = keras.layers.Masking()
        layers = [masking(ops.convert_to_tensor(x)) for x in self.make_inputs(padding=0.0)]
        mixed = ScalarMix(layer_norm=True)(layers)
        expected = ScalarMix(layer_norm=True)(self.make_inputs(), mask=MASK)
        np.testing.assert_allclose(arrays(mixed), arrays(expected), rtol=0, atol=1e-6)
        np.testing.assert_array_equal(ops.convert_to_numpy(mixed._keras_mask), MASK)

    def test_wrong_arguments(self):
        with pytest.raises(ElmoError, match='None, "allennlp" or "bilm", not \'batch\''):
            ScalarMix(layer_norm="batch")
        with pytest.raises(ElmoError, match="2 initial_weights for 3 layers"):
            ScalarMix(initial_weights=[0.5, 0.5])(self.make_inputs())
        assert ScalarMix(layer_norm=True).layer_norm == "allennlp"
        assert ScalarMix(layer_norm=False).layer_norm is None

    def test_weights_that_are_frozen_stay(self):
        layer = ScalarMix(trainable=False)
        layer(self.make_inputs())
        assert layer.trainable_variables == []

    def test_the_penalty_of_the_paper(self):
        layer = ScalarMix(regularizer=keras.regularizers.L2(0.001), initial_weights=[1, 2, 3])
        layer(self.make_inputs())
        np.testing.assert_allclose(arrays(layer.losses), [0.014], rtol=1e-5)
