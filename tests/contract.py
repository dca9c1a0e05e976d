"""What every layer must do, whatever it computes: a base class for the tests of a layer."""

import functools
import json
import warnings

import keras
import numpy as np
import pytest
from keras import ops

# A row of no token, one of one token, the rest of mixed lengths, and padding in each.
LENGTHS = (5, 0, 1, 3)
MASK = np.arange(6) < np.array(LENGTHS)[:, None]
POLICIES = {"mixed_bfloat16": 0.1, "mixed_float16": 0.02}  # and how far they may be from float32


def set_weights(layer, seed=0):
    """Gives every weight a normal value, so that no bias is zero and nothing is symmetric."""
    rng = np.random.default_rng(seed)
    for variable in sorted(layer.trainable_variables, key=lambda v: v.path):
        variable.assign(rng.normal(0.0, 0.5, variable.shape))


def arrays(outputs):
    """All tensors of a nested output as float32 NumPy arrays."""
    flat = keras.tree.flatten(outputs)
    return [ops.convert_to_numpy(ops.cast(x, "float32")) for x in flat]


def assert_close(found, expected, atol):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def jit_compile():
    """What `compile(jit_compile=...)` gets: true where the backend can."""
    return keras.config.backend() != "torch"


class LayerContract:
    """Subclasses say what the layer is, and inherit the tests."""

    takes_mask = True  # `call` has a mask, and gives exactly 0 where it is false
    regularizers = {}  # argument -> number of weights it punishes
    initializers = {}  # argument -> end of the path of the weights that it fills

    def make(self, **arguments):
        """The layer, small."""
        raise NotImplementedError

    def make_inputs(self, mask=MASK, padding=0.0):
        """The first argument of `call` as NumPy arrays, `padding` where the mask is false."""
        raise NotImplementedError

    def words(self, outputs):
        """The outputs of shape (batch, time, ...), for the comparison of places."""
        return arrays(outputs)

    # The layer as it is used

    @classmethod
    @functools.cache
    def layer(cls, dtype="float32"):
        layer = cls().make(dtype=dtype)
        cls().run(layer, cls().make_inputs())
        set_weights(layer)
        return layer

    def run(self, layer, inputs, mask=MASK, **arguments):
        if self.takes_mask:
            arguments["mask"] = ops.convert_to_tensor(mask)
        return layer(inputs, **arguments)

    def model(self, layer):
        """A functional model of the ids or vectors and the mask, which gives all outputs."""

        def symbol(x):
            x = np.asarray(x)
            return keras.Input((None, *x.shape[2:]), dtype=str(x.dtype))

        inputs = keras.tree.map_structure(symbol, self.make_inputs())
        mask = keras.Input((None,), dtype="bool")
        real = ops.cast(mask, "float32")[..., None]
        outputs = keras.tree.flatten(self.run(layer, inputs, mask))
        # Padding is out of the loss, for a layer may leave there what it likes.
        words = [x * real if len(x.shape) == 3 else x for x in outputs]
        loss = sum(ops.mean(ops.square(ops.cast(x, "float32"))) for x in words)
        trainer = keras.Model([inputs, mask], ops.reshape(loss, (1,)))
        return keras.Model([inputs, mask], outputs), trainer

    def train(self, layer, jit):
        """A step of gradient descent; gives the loss and the new weights by their paths."""
        _, trainer = self.model(layer)
        trainer.compile(keras.optimizers.SGD(0.1), self.identity, jit_compile=jit)
        loss = trainer.train_on_batch([self.make_inputs(), MASK], np.zeros((1,)))
        return loss, {v.path: ops.convert_to_numpy(v) for v in layer.trainable_variables}

    @staticmethod
    def identity(y_true, y_pred):
        return y_pred

    # Tests

    def test_eager_symbolic_and_compiled_agree(self):
        inputs = self.make_inputs()
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # such as: mask destroyed
            eager = self.run(self.layer(), inputs)
            model, _ = self.model(self.layer())
        shapes = [tuple(x.shape) for x in keras.tree.flatten(eager)]
        for symbol, shape in zip(model.outputs, shapes, strict=True):
            assert len(symbol.shape) == len(shape)
            assert all(a in (None, b) for a, b in zip(symbol.shape, shape, strict=True))
        model.compile(jit_compile=jit_compile())
        compiled = model.predict_on_batch([inputs, MASK])
        assert_close(arrays(compiled), arrays(eager), 1e-5)

    def test_trains_compiled(self):
        layer = self.make()
        self.run(layer, self.make_inputs())
        set_weights(layer)
        start = {v.path: ops.convert_to_numpy(v) for v in layer.trainable_variables}
        loss, compiled = self.train(layer, jit_compile())
        assert np.isfinite(loss)
        for path, values in compiled.items():
            assert np.isfinite(values).all()
            assert (values != start[path]).any(), f"{path} is not trained"
        if keras.config.backend() == "tensorflow":
            set_weights(layer)
            _, plain = self.train(layer, False)
            assert_close(list(compiled.values()), list(plain.values()), 1e-5)

    @pytest.mark.parametrize("padding", [np.nan, 1e4])
    def test_padding_changes_nothing(self, padding):
        clean = self.words(self.run(self.layer(), self.make_inputs()))
        dirty = self.words(self.run(self.layer(), self.make_inputs(padding=padding)))
        for one, other in zip(clean, dirty, strict=True):
            np.testing.assert_array_equal(one[MASK], other[MASK])
            if self.takes_mask:
                assert not one[~MASK].any()
                assert not other[~MASK].any()

    def test_alone_is_as_in_a_batch(self):
        inputs = self.make_inputs()
        batch = self.words(self.run(self.layer(), inputs))
        for row, length in enumerate(LENGTHS):
            one = keras.tree.map_structure(
                lambda x, row=row, length=length: x[row : row + 1, :length], inputs
            )
            alone = self.words(self.run(self.layer(), one, MASK[row : row + 1, :length]))
            for part, whole in zip(alone, batch, strict=True):
                np.testing.assert_allclose(part[0], whole[row, :length], rtol=0, atol=1e-5)

    @pytest.mark.parametrize("shape", [(0, 3), (2, 0)], ids=["no sentence", "no word"])
    def test_empty_input(self, shape):
        inputs = self.make_inputs(np.ones((2, 3), bool))
        empty = keras.tree.map_structure(lambda x: x[: shape[0], : shape[1]], inputs)
        for output in self.words(self.run(self.layer(), empty, np.ones(shape, bool))):
            assert output.shape[:2] == shape

    def test_round_trips(self, tmp_path):
        model, _ = self.model(self.layer())
        expected = model.predict_on_batch([self.make_inputs(), MASK])
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        found = loaded.predict_on_batch([self.make_inputs(), MASK])
        assert_close(arrays(found), arrays(expected), 0)
        model.save_weights(tmp_path / "model.weights.h5")
        set_weights(loaded, seed=1)
        loaded.load_weights(tmp_path / "model.weights.h5")
        found = loaded.predict_on_batch([self.make_inputs(), MASK])
        assert_close(arrays(found), arrays(expected), 0)

    def test_a_frozen_layer_stays_frozen(self, tmp_path):
        layer = self.make()
        layer.trainable = False
        model, _ = self.model(layer)
        assert model.trainable_variables == []
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert loaded.trainable_variables == []

    def test_config(self):
        layer = self.layer()
        config = layer.get_config()
        assert json.loads(json.dumps(config)) == config
        assert type(layer).from_config(config).get_config() == config
        whole = keras.saving.serialize_keras_object(layer)
        assert whole["registered_name"] == f"keras_elmo>{type(layer).__name__}"

    @pytest.mark.parametrize("policy", POLICIES)
    def test_mixed_precision(self, policy):
        expected = self.words(self.run(self.layer(), self.make_inputs()))
        outputs = self.run(self.layer(policy), self.make_inputs())
        half = policy.removeprefix("mixed_")
        for output in keras.tree.flatten(outputs):
            assert keras.backend.standardize_dtype(output.dtype) == half
        assert {v.dtype for v in self.layer(policy).trainable_variables} <= {"float32"}
        found = self.words(outputs)
        assert all(np.isfinite(x[MASK]).all() for x in found)
        scale = max(np.abs(x[MASK]).max() for x in expected)
        found, expected = ([x[MASK] / scale for x in outputs] for outputs in (found, expected))
        assert_close(found, expected, POLICIES[policy])

    def test_mask_is_handed_on(self):
        outputs = self.run(self.layer(), self.make_inputs())
        for output in keras.tree.flatten(outputs):
            if self.takes_mask and len(output.shape) == 3 and output.shape[1] == MASK.shape[1]:
                np.testing.assert_array_equal(ops.convert_to_numpy(output._keras_mask), MASK)

    def test_regularizers(self):
        for argument, count in self.regularizers.items():
            layer = self.make(**{argument: keras.regularizers.L2(0.5)})
            self.run(layer, self.make_inputs())
            set_weights(layer)
            assert len(layer.losses) == count
            kept = type(layer).from_config(layer.get_config())
            self.run(kept, self.make_inputs())
            assert len(kept.losses) == count
            # One weight at a time: the sum of its squares, times the strength.
            sums = [0.5 * np.square(ops.convert_to_numpy(v)).sum() for v in layer.trainable_weights]
            losses = arrays(layer.losses)
            assert all(np.isclose(loss, sums, rtol=1e-5).any() for loss in losses)

    def test_initializers(self):
        for argument, end in self.initializers.items():
            layer = self.make(**{argument: keras.initializers.Constant(0.25)})
            self.run(layer, self.make_inputs())
            filled = [v for v in layer.trainable_weights if end in v.path]
            assert filled
            for variable in filled:
                assert (ops.convert_to_numpy(variable) == 0.25).all(), variable.path

    def test_weights_start_different(self):
        layer = self.make()
        self.run(layer, self.make_inputs())
        matrices = [ops.convert_to_numpy(v) for v in layer.trainable_weights if len(v.shape) > 1]
        for k, one in enumerate(matrices):
            assert not any(np.array_equal(one, other) for other in matrices[:k])


class DropoutContract:
    """What a layer with the argument `dropout` must do beside."""

    def test_dropout(self):
        inputs = self.make_inputs()

        def outputs(seed, training):
            keras.utils.set_random_seed(seed)
            layer = self.make(dropout=0.5)
            self.run(layer, inputs)
            set_weights(layer)
            return self.words(self.run(layer, inputs, training=training))

        plain, dropped = outputs(0, False), outputs(0, True)
        assert_close(plain, self.words(self.run(self.layer(), inputs)), 1e-6)
        assert any((one != other).any() for one, other in zip(plain, dropped, strict=True))
        assert_close(outputs(0, True), dropped, 0)
        assert any((a != b).any() for a, b in zip(outputs(1, True), dropped, strict=True))
