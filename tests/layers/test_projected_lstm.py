import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo.layers import ProjectedLSTM
from tests import fixtures
from tests import reference
from tests.contract import MASK
from tests.contract import LayerContract
from tests.contract import arrays
from tests.contract import assert_close
from tests.contract import set_weights


def as_reference(layer):
    """The same layer for `tests.reference`."""
    kernel, recurrent, bias = map(
        ops.convert_to_numpy, (layer.kernel, layer.recurrent_kernel, layer.bias)
    )
    projection = layer.projection_kernel
    return reference.LSTM(
        np.concatenate([kernel, recurrent]).astype(float),
        bias.astype(float),
        None if projection is None else ops.convert_to_numpy(projection).astype(float),
        layer.cell_clip,
        layer.projection_clip,
    )


def run_reference(layer, x, mask, state, backward=False):
    rows = [
        reference.lstm_layer(*row, as_reference(layer), backward)
        for row in zip(x.astype(float), mask, *state, strict=True)
    ]
    return [np.array(part) for part in zip(*rows, strict=True)]


class TestProjectedLSTM(LayerContract):
    parts = ("kernel", "recurrent", "bias", "projection")
    regularizers = {f"{part}_regularizer": 1 for part in parts}
    initializers = {
        "kernel_initializer": "/kernel",
        "recurrent_initializer": "/recurrent_kernel",
        "bias_initializer": "/bias",
        "projection_initializer": "/projection_kernel",
    }

    def make(self, **arguments):
        arguments = {"projection_dim": 4, "cell_clip": 0.4, "projection_clip": 0.2} | arguments
        return ProjectedLSTM(6, **arguments)

    def make_inputs(self, mask=MASK, padding=0.0):
        return fixtures.make_vectors(mask, 3, padding=padding)

    def words(self, outputs):
        return arrays(outputs[0])

    def state(self, size=4):
        rng = np.random.default_rng(1)
        return [rng.normal(0, 0.3, (4, n)).astype(np.float32) for n in (size, 6)]

    @pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
    @pytest.mark.parametrize("kind", ["right", "left", "holed"])
    @pytest.mark.parametrize("clips", [(None, None), (0.4, None), (None, 0.2), (0.4, 0.2)])
    def test_agrees_with_the_reference(self, clips, kind, backward):
        mask = fixtures.make_masks((5, 0, 1, 3))[kind]
        layer = self.make(cell_clip=clips[0], projection_clip=clips[1])
        x = self.make_inputs(mask, np.nan)
        layer.build(x.shape)
        set_weights(layer)
        found = layer(x, mask=mask, initial_state=self.state(), go_backwards=backward)
        assert_close(arrays(found), run_reference(layer, x, mask, self.state(), backward), 1e-5)

    def test_without_a_projection(self):
        layer = self.make(projection_dim=None)
        x = self.make_inputs()
        layer.build(x.shape)
        set_weights(layer)
        found = layer(x, mask=MASK, initial_state=self.state(6))
        assert layer.projection_kernel is None
        assert_close(arrays(found), run_reference(layer, x, MASK, self.state(6)), 1e-5)

    def test_the_forget_gate_adds_one(self):
        layer = ProjectedLSTM(1, kernel_initializer="zeros", recurrent_initializer="zeros")
        _, (_, c) = layer(np.zeros((1, 1, 1)), initial_state=[np.zeros((1, 1)), np.ones((1, 1))])
        np.testing.assert_allclose(ops.convert_to_numpy(c), [[0.7310586]], atol=1e-6)

    def test_starts_begin_a_sentence_anew(self):
        layer, x = self.layer(), self.make_inputs(np.ones((4, 6), bool))
        starts = np.zeros((4, 6), bool)
        starts[:, 3] = True
        whole, state = layer(x, initial_state=self.state(), starts=starts)
        first, _ = layer(x[:, :3], initial_state=self.state())
        second, end = layer(x[:, 3:], initial_state=self.state())
        parts = np.concatenate([ops.convert_to_numpy(first), ops.convert_to_numpy(second)], axis=1)
        np.testing.assert_allclose(ops.convert_to_numpy(whole), parts, rtol=0, atol=1e-6)
        assert_close(arrays(state), arrays(end), 1e-6)

    def test_a_state_that_is_carried_on(self):
        layer, x = self.layer(), self.make_inputs()
        whole = layer(x, mask=MASK)
        first, state = layer(x[:, :2], mask=MASK[:, :2])
        second, state = layer(x[:, 2:], mask=MASK[:, 2:], initial_state=state)
        outputs = np.concatenate([ops.convert_to_numpy(y) for y in (first, second)], axis=1)
        assert_close([outputs, *arrays(state)], arrays(whole), 1e-6)

    @pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
    def test_step(self, dtype):
        layer, x = self.layer(dtype), self.make_inputs(np.ones((4, 6), bool))
        whole, final = layer(x)
        state = layer.get_initial_state(4)
        for t in range(6):
            y, state = layer.step(ops.cast(x[:, t], layer.compute_dtype), state)
            assert keras.backend.standardize_dtype(y.dtype) == layer.compute_dtype
            assert_close(arrays(y), arrays(whole[:, t]), 1e-6)
        assert_close(arrays(state), arrays(final), 1e-6)

    def test_padding_changes_no_gradient(self):
        layer = self.make()
        layer.build((None, None, 3))
        model = self.model(layer)[1]
        model.compile(keras.optimizers.SGD(0.1), self.identity)
        steps = []
        for padding in (0.0, np.nan):
            set_weights(layer)
            model.train_on_batch([self.make_inputs(padding=padding), MASK], np.zeros((1,)))
            steps.append([ops.convert_to_numpy(v) for v in layer.weights])
        assert_close(*steps, 0)

    def test_in_a_model_behind_an_embedding(self):
        ids = keras.Input((None,), dtype="int32")
        outputs, _ = ProjectedLSTM(6, 4)(keras.layers.Embedding(9, 3, mask_zero=True)(ids))
        model = keras.Model(ids, outputs)
        found = model.predict_on_batch(np.array([[1, 2, 3, 0, 0], [4, 0, 5, 0, 6]]))
        assert not found[0, 3:].any()
        assert not found[1, 1::2].any()
        assert found[1, ::2].all()
