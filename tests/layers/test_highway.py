import keras
import numpy as np
from keras import ops

from keras_elmo.layers import Highway
from tests import reference
from tests.contract import MASK
from tests.contract import LayerContract


class TestHighway(LayerContract):
    takes_mask = False
    regularizers = {"kernel_regularizer": 2}
    initializers = {"kernel_initializer": "kernel", "bias_initializer": "transform/bias"}

    def make(self, **arguments):
        return Highway(**arguments)

    def make_inputs(self, mask=MASK, padding=0.0):
        x = np.random.default_rng(0).normal(size=(*mask.shape, 4)).astype("float32")
        return np.where(mask[..., None], x, np.float32(padding))

    def test_agrees_with_the_reference(self):
        layer, x = self.layer(), self.make_inputs()
        dense = layer.carry, layer.transform
        weights = [ops.convert_to_numpy(v) for d in dense for v in (d.kernel, d.bias)]
        expected = reference.highway(x.astype(float), *weights)
        np.testing.assert_allclose(ops.convert_to_numpy(layer(x)), expected, rtol=0, atol=1e-5)

    def test_by_hand(self):
        layer = Highway(carry_bias=0.0, kernel_initializer="zeros", bias_initializer="ones")
        # Half of relu(1), half of the input.
        np.testing.assert_allclose(ops.convert_to_numpy(layer(np.array([[3.0, -1.0]]))), [[2, 0]])

    def test_a_fresh_layer_lets_most_of_the_input_pass(self):
        layer = Highway()
        layer(np.ones((1, 4)))
        assert (ops.convert_to_numpy(layer.carry.bias) == -2).all()

    def test_other_activations(self):
        layer = Highway(activation="tanh", carry_bias=100.0)
        x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
        y = ops.convert_to_numpy(layer(x))
        np.testing.assert_allclose(
            y, np.tanh(x @ ops.convert_to_numpy(layer.transform.kernel)), atol=1e-5
        )
        assert layer.get_config()["activation"] == "tanh"

    def test_in_a_sequential_model_behind_a_mask(self):
        model = keras.Sequential([keras.layers.Masking(), Highway()])
        x = self.make_inputs()
        np.testing.assert_array_equal(ops.convert_to_numpy(model(x)._keras_mask), MASK)
