import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import ElmoError
from keras_elmo.layers import BiLM
from keras_elmo.layers import ScalarMix
from tests import fixtures
from tests import reference
from tests.contract import MASK
from tests.contract import DropoutContract
from tests.contract import LayerContract
from tests.contract import arrays
from tests.contract import assert_close
from tests.contract import set_weights
from tests.layers.test_projected_lstm import as_reference

# What a BiLM may be told -> is its own class of computation.
VARIANTS = {
    "plain": {},
    "clips bite": {"cell_clip": 0.3, "projection_clip": 0.15},
    "no clips": {"cell_clip": None, "projection_clip": None},
    "no skip": {"skip_connections": False, "num_layers": 3},
    "one layer": {"num_layers": 1},
    "no projection": {"projection_dim": None, "units": 4},
}


def reference_model(bilm):
    """The same biLM for `tests.reference`."""
    directions = [
        [as_reference(getattr(bilm, f"{direction}_{k}")) for k in range(bilm.num_layers)]
        for direction in ("forward", "backward")
    ]
    return reference.Model(None, *directions, bilm.skip_connections)


def run_reference(bilm, x, mask, state=None):
    model = reference_model(bilm)
    clean = np.where(mask[..., None], x, 0).astype(float)
    layers, state = reference.bilm(clean, mask, model, state)
    return [*layers.swapaxes(0, 1), *state]


class TestBiLM(DropoutContract, LayerContract):
    regularizers = {f"{part}_regularizer": 4 for part in ("kernel", "bias", "projection")}
    initializers = {
        "kernel_initializer": "/kernel",
        "recurrent_initializer": "/recurrent_kernel",
        "bias_initializer": "/bias",
        "projection_initializer": "/projection_kernel",
    }

    def make(self, **arguments):
        return BiLM(**{"num_layers": 2, "units": 6, "projection_dim": 4} | arguments)

    def make_inputs(self, mask=MASK, padding=0.0):
        return fixtures.make_vectors(mask, 4, padding=padding)

    def random(self, **arguments):
        bilm = self.make(return_state=True, **arguments)
        bilm.build((4, None, 4))
        set_weights(bilm)
        return bilm

    def state(self, bilm):
        rng = np.random.default_rng(1)
        shapes = [(4, bilm.num_layers, 2 * size) for size in (bilm.output_dim, bilm.units)]
        return [rng.normal(0, 0.2, shape).astype(np.float32) for shape in shapes]

    @pytest.mark.parametrize("kind", ["right", "left", "holed"])
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_agrees_with_the_reference(self, variant, kind):
        mask = fixtures.make_masks((5, 0, 1, 3))[kind]
        bilm = self.random(**VARIANTS[variant])
        x = self.make_inputs(mask, np.nan)
        for state in (None, self.state(bilm)):
            found = arrays(bilm(x, mask=mask, initial_state=state))
            assert_close(found, run_reference(bilm, x, mask, state), 1e-5)
            assert not any(layer[~mask].any() for layer in found[:-2])

    def test_layer_0_is_the_input_doubled(self):
        x = self.make_inputs()
        layer = arrays(self.layer()(x, mask=MASK))[0]
        np.testing.assert_array_equal(layer, np.concatenate([x, x], axis=-1))

    def test_equal_input_gives_equal_output(self):
        x = self.make_inputs()
        first = arrays(self.layer()(x, mask=MASK))
        self.layer()(-x, mask=MASK)
        assert_close(arrays(self.layer()(x, mask=MASK)), first, 0)

    def test_a_position_sees_its_own_side_only(self):
        x = self.make_inputs()
        changed = x.copy()
        changed[0, 4] += 1.0  # the last word
        top, other = (arrays(self.layer()(v, mask=MASK))[-1] for v in (x, changed))
        np.testing.assert_array_equal(top[0, :4, :4], other[0, :4, :4])
        assert (top[0, :4, 4:] != other[0, :4, 4:]).any(axis=-1).all()

    def test_in_parts_with_the_state_passed_on(self):
        bilm, x = self.random(), self.make_inputs(np.ones((4, 6), bool))
        whole, _ = bilm(x)
        forward, state = [], None
        for part in (x[:, :1], x[:, 1:4], x[:, 4:]):
            layers, state = bilm(part, initial_state=state)
            forward.append(np.stack(arrays(layers), axis=1)[..., :4])
        expected = np.stack(arrays(whole), axis=1)[..., :4]
        np.testing.assert_allclose(np.concatenate(forward, axis=2), expected, rtol=0, atol=1e-6)

    def test_stateful(self):
        bilm, x = self.random(), self.make_inputs()
        stateful = self.make(stateful=True)
        stateful.build(x.shape)
        set_weights(stateful)
        first, state = bilm(x, mask=MASK)
        second, state = bilm(x[:, :3], mask=MASK[:, :3], initial_state=state)
        assert_close(arrays(stateful(x, mask=MASK)), arrays(first), 1e-6)
        assert_close(arrays(stateful(x[:, :3], mask=MASK[:, :3])), arrays(second), 1e-6)
        assert_close(arrays([stateful.state_h, stateful.state_c]), arrays(state), 1e-6)
        stateful.reset_state()
        assert_close(arrays(stateful(x, mask=MASK)), arrays(first), 1e-6)

    def test_stateful_in_a_compiled_model(self):
        stateful = self.make(stateful=True)
        inputs = keras.Input((None, 4), batch_size=4)
        model = keras.Model(inputs, stateful(inputs)[-1])
        set_weights(stateful)
        x = self.make_inputs()
        first, second = model.predict_on_batch(x), model.predict_on_batch(x)
        bilm = self.random()
        layers, state = bilm(x)
        np.testing.assert_allclose(first, arrays(layers)[-1], rtol=0, atol=1e-5)
        layers, _ = bilm(x, initial_state=state)
        np.testing.assert_allclose(second, arrays(layers)[-1], rtol=0, atol=1e-5)
        stateful.reset_state()
        np.testing.assert_allclose(model.predict_on_batch(x), first, rtol=0, atol=1e-6)

    def test_a_state_is_not_saved(self, tmp_path):
        stateful = self.make(stateful=True)
        inputs = keras.Input((None, 4), batch_size=4)
        keras.Model(inputs, stateful(inputs)).save_weights(tmp_path / "m.weights.h5")
        inputs = keras.Input((None, 4))
        other = keras.Model(inputs, self.make()(inputs))
        other.load_weights(tmp_path / "m.weights.h5")
        assert_close(arrays(other(self.make_inputs())), arrays(stateful(self.make_inputs())), 1e-6)

    def test_a_state_needs_a_fixed_batch_size(self):
        with pytest.raises(
            ElmoError, match=r"stateful=True needs a fixed batch size.*initial_state"
        ):
            self.make(stateful=True)(keras.Input((None, 4)))

    def test_wrong_inputs(self):
        for shape in ((None, 5), (4,)):
            with pytest.raises(
                ElmoError, match=r"the input must be \(batch, time, 4\), not \(None"
            ):
                self.make()(keras.Input(shape))

    @pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
    def test_forward_step(self, dtype):
        bilm, x = self.random(dtype=dtype), self.make_inputs(np.ones((4, 6), bool))
        layers, (h, c) = bilm(x)
        state = bilm.get_forward_state(4)
        for t in range(6):
            outputs, state = bilm.forward_step(ops.convert_to_tensor(x[:, t]), state)
            expected = [layer[:, t, :4] for layer in layers]
            assert {keras.backend.standardize_dtype(y.dtype) for y in outputs} == {
                bilm.compute_dtype
            }
            assert_close(arrays(outputs), arrays(expected), 1e-6)
        assert_close(arrays(state), arrays([h[..., :4], c[..., :6]]), 1e-6)

    def test_padding_changes_no_gradient(self):
        layer = self.make()
        layer.build((None, None, 4))
        model = self.model(layer)[1]
        model.compile(keras.optimizers.SGD(0.1), self.identity)
        steps = []
        for padding in (0.0, np.nan):
            set_weights(layer)
            model.train_on_batch([self.make_inputs(padding=padding), MASK], np.zeros((1,)))
            steps.append([ops.convert_to_numpy(v) for v in layer.trainable_variables])
        assert_close(*steps, 0)

    def test_in_a_sequential_model_behind_an_embedding(self):
        layers = [keras.layers.Embedding(9, 4, mask_zero=True), self.make(), ScalarMix()]
        model = keras.Sequential([*layers, keras.layers.LSTM(3), keras.layers.Dense(1)])
        ids = np.array([[1, 2, 3, 0], [4, 0, 0, 0], [5, 6, 0, 0]])
        model.compile("sgd", "mse")
        model.train_on_batch(ids, np.zeros((3, 1)))
        found = model.predict_on_batch(ids)
        for row, length in enumerate((3, 1, 2)):
            alone = model(ids[row : row + 1, :length])
            np.testing.assert_allclose(arrays(alone)[0][0], found[row], rtol=0, atol=1e-5)

    def test_inside_a_subclassed_model(self, tmp_path):
        class Tagger(keras.Model):
            def __init__(self):
                super().__init__()
                self.bilm = BiLM(1, 6, 4)
                self.tags = keras.layers.Dense(2)

            def call(self, x, mask=None):
                return self.tags(self.bilm(x, mask=mask)[-1])

        model, other = Tagger(), Tagger()
        x = self.make_inputs()
        expected = arrays(model(x))
        model.save_weights(tmp_path / "m.weights.h5")
        other(x)
        other.load_weights(tmp_path / "m.weights.h5")
        assert_close(arrays(other(x)), expected, 0)

    def test_names_of_the_weights(self):
        names = ["bias", "kernel", "projection_kernel", "recurrent_kernel"]
        layers = [f"{direction}_{k}" for direction in ("backward", "forward") for k in (0, 1)]
        found = sorted(v.path.split("/", 1)[1] for v in self.layer().weights)
        assert found == [f"{layer}/{name}" for layer in layers for name in names]
