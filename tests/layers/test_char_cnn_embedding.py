import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import ElmoError
from keras_elmo import backend
from keras_elmo.layers import CharCNNEmbedding
from tests import fixtures
from tests import reference
from tests.contract import MASK
from tests.contract import DropoutContract
from tests.contract import LayerContract

WIDTH = 9


def as_reference(layer):
    """The same layer for `tests.reference`."""

    def array(v):
        return ops.convert_to_numpy(v).astype(np.float64)

    filters = [
        (array(getattr(layer, f"conv_kernel_{k}")), array(getattr(layer, f"conv_bias_{k}")))
        for k in range(len(layer.filters))
    ]
    highways = [getattr(layer, f"highway_{k}") for k in range(layer.num_highways)]
    highways = [tuple(map(array, (*h.carry.weights, *h.transform.weights))) for h in highways]
    projection = None
    if layer.projection_dim is not None:
        projection = tuple(map(array, layer.projection.weights))
    activation = layer.get_config()["activation"]
    return reference.CharCNN(
        array(layer.char_embeddings), filters, highways, projection, activation
    )


class TestCharCNNEmbedding(DropoutContract, LayerContract):
    takes_mask = False
    regularizers = {"kernel_regularizer": 5}  # 2 convolutions, 2 in the highway, the projection
    initializers = {
        "embeddings_initializer": "char_embeddings",
        "kernel_initializer": "kernel",
        "bias_initializer": "conv_bias",
    }

    def make(self, **arguments):
        arguments = {"projection_dim": 5, "num_highways": 1, "char_embedding_dim": 4} | arguments
        return CharCNNEmbedding(filters=[[1, 3], [3, 4]], **arguments)

    def make_inputs(self, mask=MASK, padding=0.0):
        # Garbage in the padding is no NaN for integers, but some other word.
        other = 0 if padding == 0 else 7
        ids = reference.batch_to_ids(fixtures.make_sentences([mask.shape[1]] * len(mask)), WIDTH)
        ids = ids.reshape(*mask.shape, WIDTH)
        return np.where(mask[..., None], ids, other).astype(np.int32)

    @pytest.mark.parametrize("activation", ["relu", "tanh"])
    @pytest.mark.parametrize("highways", [0, 2])
    @pytest.mark.parametrize("projection", [None, 5])
    def test_agrees_with_the_reference(self, activation, highways, projection):
        layer = self.make(activation=activation, num_highways=highways, projection_dim=projection)
        ids = self.make_inputs()
        layer.build(ids.shape)
        rng = np.random.default_rng(0)
        for variable in layer.weights:
            variable.assign(rng.normal(0, 0.5, variable.shape))
        expected = reference.char_cnn(ids, as_reference(layer))
        np.testing.assert_allclose(ops.convert_to_numpy(layer(ids)), expected, rtol=0, atol=1e-5)

    @pytest.mark.parametrize("way", ["tables", "training"])
    def test_looked_up_it_gives_the_same(self, way):
        layer, ids = self.layer(), self.make_inputs()
        arguments = {"tables": layer.window_tables()} if way == "tables" else {"training": True}
        found = ops.convert_to_numpy(layer(ids, **arguments))
        expected = reference.char_cnn(ids, as_reference(layer))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)

    def test_looked_up_it_has_the_same_gradient(self):
        layer, ids = self.layer(), self.make_inputs()
        model = keras.Sequential([layer])
        wanted = ops.convert_to_tensor(np.random.default_rng(0).normal(size=(*ids.shape[:2], 5)))

        def gradients(training):
            def loss():
                return ops.sum(layer(ids, training=training) * ops.cast(wanted, "float32")), ()

            found = backend.gradients(loss, model, layer.trainable_variables, [])[1]
            return [ops.convert_to_numpy(gradient) for gradient in found]

        pairs = zip(gradients(True), gradients(False), strict=True)
        for found, expected in pairs:
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)

    def test_frozen_it_trains_as_it_infers(self):
        layer, ids = self.make(trainable=False), self.make_inputs()
        expected = ops.convert_to_numpy(layer(ids))
        np.testing.assert_array_equal(ops.convert_to_numpy(layer(ids, training=True)), expected)

    def test_ids_may_be_cut_where_only_padding_is_left(self):
        ids = reference.batch_to_ids([["a", "word", "of"], ["longer"]]).astype(np.int32)
        whole = ops.convert_to_numpy(self.layer()(ids))
        # Six letters, their two marks, and the widest filter.
        cut = ops.convert_to_numpy(self.layer()(ids[..., : 6 + 2 + 3]))
        real = reference.token_mask(ids)
        np.testing.assert_allclose(cut[real], whole[real], rtol=0, atol=1e-6)

    @pytest.mark.parametrize("leading", [(5,), (2, 1, 3), (0,), (3, 0, 2)])
    def test_any_leading_shape(self, leading):
        words = self.make_inputs(np.ones((1, 9), bool))[0]
        rows = np.arange(np.prod(leading)) % 9
        ids = words[rows].reshape(*leading, WIDTH)
        expected = ops.convert_to_numpy(self.layer()(words))[rows].reshape(*leading, 5)
        found = ops.convert_to_numpy(self.layer()(ids))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)

    def test_mask(self):
        ids = self.make_inputs()
        np.testing.assert_array_equal(ops.convert_to_numpy(self.layer().compute_mask(ids)), MASK)
        np.testing.assert_array_equal(ops.convert_to_numpy(self.layer()(ids)._keras_mask), MASK)

    @pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
    def test_integer_dtypes(self, dtype):
        ids = np.minimum(self.make_inputs(), 255)
        expected = ops.convert_to_numpy(self.layer()(ids))
        np.testing.assert_array_equal(
            ops.convert_to_numpy(self.layer()(ids.astype(dtype))), expected
        )

    @pytest.mark.parametrize("wrong", [-1, 262, 100_000])
    def test_ids_out_of_range(self, wrong):
        ids = self.make_inputs()
        ids[0, 1, 2] = wrong
        with pytest.raises(ElmoError, match=rf"^char_ids must lie in 0\.\.261.*{wrong}[^\n]*$"):
            self.layer()(ids)

    def test_wrong_inputs(self):
        ids = self.make_inputs()
        layer = self.make()
        with pytest.raises(ElmoError, match=r"^char_ids must be integers, not float32.*"):
            layer(ids.astype("float32"))
        with pytest.raises(ElmoError, match=r"^char_ids must have the shape \(\.\.\., characters"):
            layer(ids[0, 0])
        with pytest.raises(ElmoError, match=r"^char_ids hold 2 characters .* widest filter \(3\)"):
            layer(ids[..., :2])
        with pytest.raises(ElmoError, match="must have the shape"):
            layer(keras.Input((None, None), dtype="int32"))
        with pytest.raises(ElmoError, match='must be "relu" or "tanh", not \'gelu\''):
            self.make(activation="gelu")

    def test_in_a_sequential_model(self):
        model = keras.Sequential([keras.Input((None, WIDTH), dtype="int32"), self.layer()])
        ids = self.make_inputs()
        expected = ops.convert_to_numpy(self.layer()(ids))
        np.testing.assert_allclose(model.predict_on_batch(ids), expected, rtol=0, atol=1e-6)
        with pytest.raises(ElmoError, match=r"begin a Sequential model with keras\.Input"):
            keras.Sequential([self.make()])(ids)

    def test_names_of_the_weights(self):
        assert sorted(v.path.split("/", 1)[1] for v in self.layer().weights) == [
            "char_embeddings",
            "conv_bias_0",
            "conv_bias_1",
            "conv_kernel_0",
            "conv_kernel_1",
            "highway_0/carry/bias",
            "highway_0/carry/kernel",
            "highway_0/transform/bias",
            "highway_0/transform/kernel",
            "projection/bias",
            "projection/kernel",
        ]
