import warnings

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import folder
from tests import fixtures


@pytest.fixture(scope="module", autouse=True)
def no_collection():
    """Keras collects garbage for every weight that it takes away, a quarter of a second each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gc.collect", lambda *generation: 0)
        yield


def make_elmo(units=96, dim=48):
    keras.utils.set_random_seed(0)
    filters = [[1, dim // 4], [2, dim // 4], [3, dim // 2]]
    embedding = keras_elmo.CharCNNEmbedding(filters, projection_dim=dim, char_embedding_dim=4)
    bilm = keras_elmo.BiLM(num_layers=2, units=units, projection_dim=dim)
    return keras_elmo.Elmo(embedding, bilm)


@pytest.fixture(scope="module")
def full():
    return make_elmo()


@pytest.fixture(scope="module")
def small():
    elmo = make_elmo()
    quantize(elmo)
    return elmo


@pytest.fixture(scope="module")
def expected(small):
    """What the quantized model answers."""
    return outputs(small)


def quantize(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras names every layer that has no such thing
        model.quantize("int8")


def outputs(model, seed=0):
    char_ids = keras_elmo.batch_to_ids(fixtures.make_sentences(seed=seed))
    return {k: keras.ops.convert_to_numpy(v) for k, v in model(char_ids).items()}


def size(model):
    return sum(v.numpy().nbytes if hasattr(v, "numpy") else v.value.nbytes for v in model.variables)


def test_a_quarter_of_the_size_and_nearly_the_same_vectors(full, small, expected):
    assert size(small) < 0.3 * size(full)
    found, expected = expected, outputs(full)
    words = expected["mask"]
    np.testing.assert_array_equal(found["mask"], words)
    for k in range(3):
        x, y = expected["layers"][:, k][words], found["layers"][:, k][words]
        assert (x != y).any()
        assert fixtures.mean_cosines(x, y) > 0.99
    assert not found["layers"].transpose(0, 2, 1, 3)[~words].any()


@pytest.mark.parametrize("projection_dim", [16, None])
def test_the_lstm_runs_on_the_nearest_int8_matrices(projection_dim):
    layer = keras_elmo.ProjectedLSTM(32, projection_dim, name="lstm")
    layer.build((None, None, 8))
    names = ["kernel", "recurrent_kernel"] + ["projection_kernel"] * (projection_dim is not None)
    rounded = {}
    for name in names:
        matrix = keras.ops.convert_to_numpy(getattr(layer, name))
        step = np.abs(matrix).max(0) / 127
        rounded[name] = np.round(matrix / step) * step
    layer.quantize("int8")
    assert {v.name for v in layer.variables if v.dtype == "int8"} == set(names)
    assert [v.name for v in layer.trainable_variables] == ["bias"]
    plain = keras_elmo.ProjectedLSTM(32, projection_dim)
    plain.build((None, None, 8))
    for name, matrix in rounded.items():
        getattr(plain, name).assign(matrix)
    x = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
    for y, want in zip(keras.tree.flatten(layer(x)), keras.tree.flatten(plain(x)), strict=True):
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(y), keras.ops.convert_to_numpy(want), atol=1e-5
        )


@pytest.mark.parametrize("form", ["folder", "keras", "layer"])
def test_survives_saving_and_loading(small, expected, form, tmp_path):
    if form == "folder":
        folder.save(small, tmp_path / "model")
        again = keras_elmo.load(tmp_path / "model")
    elif form == "keras":
        small.save(tmp_path / "model.keras")
        again = keras.saving.load_model(tmp_path / "model.keras")
    else:
        bilm = keras_elmo.BiLM.from_config(small.bilm.get_config())
        again = keras_elmo.Elmo(small.embedding, bilm)
        bilm.set_weights(small.bilm.get_weights())
    assert again.bilm.forward_1.quantization_mode == "int8"
    for name, value in outputs(again).items():
        np.testing.assert_array_equal(value, expected[name])


def test_saves_again_what_it_loaded(small, tmp_path):
    folder.save(small, tmp_path / "one")
    again = keras_elmo.load(tmp_path / "one")
    folder.save(again, tmp_path / "two")
    configs = [(tmp_path / name / "config.json").read_text() for name in ("one", "two")]
    assert configs[0] == configs[1]
    weights = keras_elmo.load(tmp_path / "two").get_weights()
    for value, expected in zip(weights, small.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)


def test_the_mix_still_trains():
    elmo = make_elmo(units=4, dim=4)
    quantize(elmo)
    before = keras.ops.convert_to_numpy(elmo.scalar_mix.weights_logits)
    char_ids = keras.Input((None, 50), dtype="int32")
    model = keras.Model(char_ids, keras.layers.Dense(2)(elmo(char_ids)["elmo"]))
    model.compile("sgd", "mse")
    ids = keras_elmo.batch_to_ids(fixtures.make_sentences((3, 4)))
    model.fit(ids, np.ones((2, 4, 2), "float32"), verbose=0)
    assert (keras.ops.convert_to_numpy(elmo.scalar_mix.weights_logits) != before).any()


def test_other_modes_are_refused():
    layer = keras_elmo.ProjectedLSTM(4, 2)
    layer.build((None, None, 2))
    with pytest.raises(NotImplementedError, match="int8, not to float8"):
        layer.quantize("float8")
    layer.quantize("int8")
    with pytest.raises(ValueError, match="already quantized"):
        layer.quantize("int8")
