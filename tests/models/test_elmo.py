import functools
import json
import warnings

import h5py
import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import BiLM
from keras_elmo import CharCNNEmbedding
from keras_elmo import Elmo
from keras_elmo import ElmoError
from keras_elmo import batch_to_ids
from keras_elmo import load
from tests import fixtures
from tests import goldens
from tests import reference
from tests.contract import POLICIES
from tests.contract import LayerContract
from tests.contract import arrays
from tests.contract import assert_close
from tests.contract import jit_compile
from tests.contract import set_weights

MIX = np.array([0.3, -0.2, 0.7, 0.1])
GAMMA = 1.7
IDS = fixtures.make_char_ids(max_characters=12)
MASK = reference.token_mask(IDS)


def make(bilm=None, **arguments):
    """A random Elmo of two layers that reads 12 characters a word."""
    embedding = CharCNNEmbedding(
        filters=[[1, 4], [3, 6]],
        projection_dim=6,
        num_highways=1,
        char_embedding_dim=4,
        max_word_length=12,
    )
    clips = {"cell_clip": 0.3, "projection_clip": 0.2}
    elmo = Elmo(embedding, BiLM(2, 8, 6, **clips, **(bilm or {})), **arguments)
    for layer in (embedding, elmo.bilm):
        trainable, layer.trainable = layer.trainable, True
        set_weights(layer)
        layer.trainable = trainable
    return elmo


@functools.cache
def shared():
    """One such model, for tests that leave it as it is."""
    return make()


def numbers(outputs):
    return {name: ops.convert_to_numpy(ops.cast(x, "float32")) for name, x in outputs.items()}


def set_mix(mix, weights=MIX, gamma=GAMMA):
    mix.weights_logits.assign(weights[: mix.weights_logits.shape[0]])
    mix.gamma.assign(gamma)


def projected(elmo, name="elmo"):
    """A model whose output is the sum of the vectors times a second input."""
    ids = keras.Input(elmo.inputs[0].shape[1:], dtype="int32")
    out = elmo(ids)[name]
    factors = keras.Input(out.shape[1:])
    model = keras.Model([ids, factors], ops.reshape(ops.sum(out * factors), (1,)))
    model.compile(keras.optimizers.SGD(1.0), LayerContract.identity, jit_compile=jit_compile())
    return model


class TestNumbers:
    @pytest.mark.parametrize("variant", fixtures.VARIANTS)
    def test_every_variant(self, variant, published_model, reference_model):
        elmo = load(published_model(variant))
        set_mix(elmo.scalar_mix)
        ids = fixtures.make_char_ids(max_characters=elmo.embedding.max_word_length)
        found = numbers(elmo(ids))
        weights = MIX[: found["layers"].shape[1]]
        expected = reference.elmo(ids, reference_model(variant), weights, GAMMA)
        for name, values in found.items():
            np.testing.assert_allclose(values, expected[name], rtol=0, atol=1e-5)

    @pytest.mark.parametrize("keep", [False, True], ids=["words", "boundaries"])
    @pytest.mark.parametrize("norm", [None, "allennlp", "bilm"])
    @pytest.mark.parametrize("kind", ["right", "left", "holed"])
    def test_masks_norms_and_boundaries(self, kind, norm, keep, published_model, reference_model):
        if norm == "bilm" and keep:
            with pytest.raises(ElmoError, match="leaves the boundaries out"):
                make(layer_norm=norm, keep_boundaries=keep)
            return
        plain = self.loaded(published_model)
        elmo = Elmo(plain.embedding, plain.bilm, layer_norm=norm, keep_boundaries=keep)
        set_mix(elmo.scalar_mix)
        mask = fixtures.make_masks()[kind]
        words = fixtures.make_char_ids([mask.shape[1]] * len(mask))
        ids = np.where(mask[..., None], words, 0).astype(np.int32)
        expected = reference.elmo(
            ids, reference_model("clips_bite"), MIX[:3], GAMMA, norm, keep_boundaries=keep
        )
        found = numbers(elmo(ids))
        for name, values in found.items():
            np.testing.assert_allclose(values, expected[name], rtol=0, atol=1e-5)
        real = found["mask"].astype(bool)
        assert not found["elmo"][~real].any()
        assert not found["layers"].swapaxes(1, 2)[~real].any()

    @classmethod
    def loaded(cls, published_model):
        if not hasattr(cls, "model"):
            cls.model = load(published_model("clips_bite"))
        return cls.model

    @pytest.mark.parametrize("norm", [None, "allennlp", "bilm"])
    def test_gradients_of_the_mix(self, norm, published_model, reference_model):
        plain = self.loaded(published_model)
        elmo = Elmo(plain.embedding, plain.bilm, layer_norm=norm)
        set_mix(elmo.scalar_mix)
        ids = fixtures.make_char_ids()
        factors = np.random.default_rng(0).normal(size=(*ids.shape[:2], 16)).astype("float32")
        projected(elmo).train_on_batch([ids, factors], np.zeros((1,)))
        start = np.array([*MIX[:3], GAMMA])
        found = start - np.concatenate([w.reshape(-1) for w in elmo.scalar_mix.get_weights()])

        layers = reference.elmo(ids, reference_model("clips_bite"), keep_boundaries=True)
        mask = layers["mask"]
        words = np.pad(reference.token_mask(ids), ((0, 0), (1, 1)))

        def loss(point):
            mixed = reference.scalar_mix(
                layers["layers"], mask, point[:3], point[3], norm, words if norm == "bilm" else mask
            )
            return (reference.remove_boundaries(mixed, reference.token_mask(ids)) * factors).sum()

        steps = 1e-5 * np.eye(4)
        expected = [(loss(start + step) - loss(start - step)) / 2e-5 for step in steps]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


class TestGoldens:
    """Numbers of the original implementations, through `load`."""

    NAMES = tuple(f"A-allennlp/{n}" for n in goldens.ALLENNLP) + tuple(
        f"A-simple_elmo/{n}" for n in goldens.SIMPLE_ELMO
    )
    ROWS = (slice(0, 9), slice(0, 9), slice(2, 5), slice(0, 9))

    @pytest.fixture(params=NAMES)
    def golden(self, request, shared_data):
        return read_golden(shared_data / "fixtures-golden" / request.param)

    def test_four_calls_with_the_state_passed_on(self, golden):
        values, elmo, sentences, atol = golden
        bilm = BiLM.from_config({**elmo.bilm.get_config(), "return_state": True})
        bilm.build((None, None, bilm.output_dim))
        bilm.set_weights(elmo.bilm.get_weights())
        with_boundaries = Elmo(elmo.embedding, elmo.bilm).get_layer("add_boundaries")
        state = [ops.convert_to_numpy(part) for part in bilm.get_initial_state(len(sentences))]
        for number, rows in enumerate(self.ROWS, start=1):
            ids = with_boundaries(elmo.encoder.encode_batch(sentences[rows]))
            mask = elmo.embedding.compute_mask(ids)
            count = ids.shape[0]
            # A smaller batch uses and moves the first rows of the state.
            layers, new = bilm(
                elmo.embedding(ids), mask=mask, initial_state=[part[:count] for part in state]
            )
            state = [
                np.concatenate([part, old[count:]])
                for part, old in zip(arrays(new), state, strict=True)
            ]
            mask = ops.convert_to_numpy(mask)
            for k, layer in enumerate(arrays(layers)):
                expected = np.where(mask[..., None], values[f"call{number}/act{k}"], 0.0)
                np.testing.assert_allclose(layer, expected, rtol=0, atol=atol)
            if number != 3:
                for part, found in zip("hc", state, strict=True):
                    expected = values[f"call{number}/state_{part}"].swapaxes(0, 1)
                    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)

    def test_stateful(self, golden):
        values, plain, sentences, atol = golden
        source, options = plain.folder, {"keep_boundaries": True, "batch_size": len(sentences)}
        elmo = load(source, stateful=True, **options)
        bilm = elmo.bilm
        ids = plain.encoder.encode_batch(sentences)
        for number in (1, 2):
            found = numbers(elmo(ids))
            real = found["mask"].astype(bool)
            for k, layer in enumerate(found["layers"].swapaxes(0, 1)):
                expected = values[f"call{number}/act{k}"]
                np.testing.assert_allclose(layer[real], expected[real], rtol=0, atol=atol)
            for part, state in zip("hc", (bilm.state_h, bilm.state_c), strict=True):
                expected = values[f"call{number}/state_{part}"].swapaxes(0, 1)
                np.testing.assert_allclose(arrays(state)[0], expected, rtol=0, atol=atol)
        elmo.reset_state()
        again = numbers(elmo(ids))["layers"][:, -1]
        top = values[f"call1/act{found['layers'].shape[1] - 1}"]
        np.testing.assert_allclose(again[real], top[real], rtol=0, atol=atol)

    def test_mixes(self, golden):
        values, plain, sentences, atol = golden
        ids = plain.encoder.encode_batch(sentences)
        names = [name for name in values if name.startswith("call1/elmo_ln")]
        bilm_tf = "call1/elmo_ln1_keep1" not in values
        assert len(names) == (2 if bilm_tf else 4)
        for name in names:
            norm = None if "ln0" in name else ("bilm" if bilm_tf else "allennlp")
            keep = name.endswith("keep1")
            elmo = Elmo(plain.embedding, plain.bilm, layer_norm=norm, keep_boundaries=keep)
            set_mix(elmo.scalar_mix)
            found = numbers(elmo(ids))
            real = found["mask"].astype(bool)
            np.testing.assert_allclose(found["elmo"][real], values[name][real], rtol=0, atol=atol)
            assert not found["elmo"][~real].any()


@functools.cache
def read_golden(folder):
    values = dict(np.load(folder / "golden.npz"))
    sentences = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    atol = 1e-4 if "noclip" in folder.name else 1e-5  # as its README allows
    elmo = load(folder)
    elmo.folder = folder
    return values, elmo, sentences, atol


class TestUse:
    def test_outputs(self):
        outputs = shared()(IDS)
        assert set(outputs) == {"layers", "mask", "elmo"}
        assert outputs["layers"].shape == (5, 3, 7, 12)
        assert outputs["elmo"].shape == (5, 7, 12)
        np.testing.assert_array_equal(ops.convert_to_numpy(outputs["mask"]), MASK)
        layers = numbers(outputs)["layers"]
        np.testing.assert_array_equal(layers[:, 0, :, :6], layers[:, 0, :, 6:])
        assert (layers[:, 1][MASK] != layers[:, 2][MASK]).any()

    def test_eager_and_compiled_agree(self):
        eager = numbers(shared()(IDS))
        plain = numbers(shared().predict_on_batch(IDS))
        elmo = Elmo(shared().embedding, shared().bilm)
        elmo.compile(jit_compile=jit_compile())
        compiled = numbers(elmo.predict(IDS, batch_size=2, verbose=0))
        for name, values in eager.items():
            np.testing.assert_allclose(plain[name], values, rtol=0, atol=1e-5)
            np.testing.assert_allclose(compiled[name], values, rtol=0, atol=1e-5)

    def test_equal_input_gives_equal_output(self):
        first = numbers(shared()(IDS))
        shared()(IDS[::-1])
        for other in (shared()(IDS), make()(IDS)):
            for name, values in numbers(other).items():
                np.testing.assert_array_equal(values, first[name])

    def test_alone_is_as_in_a_batch(self):
        batch = numbers(shared()(IDS))
        for row, length in enumerate(fixtures.LENGTHS):
            alone = numbers(shared()(IDS[row : row + 1, :length]))
            expected = batch["layers"][row, :, :length]
            np.testing.assert_allclose(alone["layers"][0], expected, rtol=0, atol=1e-5)
            expected = batch["elmo"][row, :length]
            np.testing.assert_allclose(alone["elmo"][0], expected, rtol=0, atol=1e-5)

    @pytest.mark.parametrize("keep", [False, True], ids=["words", "boundaries"])
    @pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
    def test_empty_input(self, shape, keep):
        elmo = Elmo(shared().embedding, shared().bilm, keep_boundaries=keep)
        outputs = elmo(np.zeros((*shape, 12), np.int32))
        length = shape[1] + 2 * keep
        assert outputs["layers"].shape == (shape[0], 3, length, 12)
        assert outputs["elmo"].shape == (shape[0], length, 12)
        assert outputs["mask"].shape == (shape[0], length)

    def test_wrong_inputs(self):
        with pytest.raises(ElmoError, match=r"^char_ids must be integers[^\n]*float32[^\n]*$"):
            shared()(IDS.astype("float32"))
        with pytest.raises(ElmoError, match=r"^char_ids must be[^\n]*shape \(7, 12\)[^\n]*$"):
            shared()(IDS[0])
        for wrong in (IDS[None], IDS[..., :11]):
            with pytest.raises(ValueError, match=r"'char_ids'.*expected shape=\(None, None, 12\)"):
                shared()(wrong)
        for wrong in (-1, 262):
            ids = IDS.copy()
            ids[0, 0, 3] = wrong
            with pytest.raises(ElmoError, match=rf"^char_ids must lie in 0\.\.261[^\n]*{wrong}"):
                shared()(ids)

    def test_a_filter_wider_than_a_word(self):
        embedding = CharCNNEmbedding(filters=[[7, 4]], max_word_length=5)
        with pytest.raises(ElmoError, match=r"5 characters a word.*widest filter \(7\)"):
            Elmo(embedding, BiLM(1, 4, 4))

    def test_ids_of_other_integers(self):
        expected = numbers(shared()(IDS))["elmo"]
        found = numbers(shared()(IDS.astype("int64")))["elmo"]
        np.testing.assert_array_equal(found, expected)

    def test_inside_a_functional_model(self):
        """A tagger: masked positions count neither in the network nor in the loss."""
        ids = keras.Input((None, 12), dtype="int32")
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            x = shared()(ids)["elmo"]
            x = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))(x)
            model = keras.Model(ids, keras.layers.Dense(2)(x))
            model.compile(keras.optimizers.SGD(0.0), "mse")
            targets = np.ones((*IDS.shape[:2], 2), "float32")
            loss = model.train_on_batch(IDS, targets)
        outputs = model(IDS)
        np.testing.assert_array_equal(ops.convert_to_numpy(outputs._keras_mask), MASK)
        outputs = ops.convert_to_numpy(outputs)
        expected = np.square(outputs[MASK] - 1).mean()
        np.testing.assert_allclose(loss, expected, rtol=1e-4)
        alone = ops.convert_to_numpy(model(IDS[4:, : fixtures.LENGTHS[4]]))
        np.testing.assert_allclose(alone[0], outputs[4, : fixtures.LENGTHS[4]], atol=1e-5)

    def test_inside_a_subclassed_model(self, tmp_path):
        class Classifier(keras.Model):
            def __init__(self):
                super().__init__()
                self.elmo = make()
                self.pool = keras.layers.GlobalAveragePooling1D()

            def call(self, ids):
                outputs = self.elmo(ids)
                return self.pool(outputs["elmo"], mask=outputs["mask"])

        model = Classifier()
        pooled = ops.convert_to_numpy(model(IDS))
        expected = numbers(shared()(IDS))["elmo"]
        row = fixtures.LENGTHS[4]
        np.testing.assert_allclose(pooled[4], expected[4, :row].mean(axis=0), atol=1e-5)
        set_mix(model.elmo.scalar_mix)
        other = Classifier()
        model.save_weights(tmp_path / "m.weights.h5")
        other(IDS)
        other.load_weights(tmp_path / "m.weights.h5")
        assert_close(arrays(other(IDS)), arrays(model(IDS)), 0)

    @pytest.mark.parametrize("policy", POLICIES)
    def test_mixed_precision(self, policy, published_model):
        ids = fixtures.make_char_ids()
        expected = numbers(load(published_model("plain"))(ids))
        elmo = load(published_model("plain"), dtype=policy)
        outputs = elmo(ids)
        half = policy.removeprefix("mixed_")
        for name in ("layers", "elmo"):
            assert keras.backend.standardize_dtype(outputs[name].dtype) == half
        assert {v.dtype for v in elmo.variables if "seed" not in v.path} == {"float32"}
        found = numbers(outputs)
        scale = np.abs(expected["layers"]).max()
        for name in ("layers", "elmo"):
            assert np.isfinite(found[name]).all()
            difference = np.abs(found[name] - expected[name]) / scale
            assert difference.max() < POLICIES[policy]
        assert not found["elmo"][~found["mask"].astype(bool)].any()


class TestTraining:
    def test_by_default_only_the_mix_trains(self):
        elmo = make()
        assert [tuple(v.shape) for v in elmo.trainable_variables] == [(3,), ()]
        frozen = [ops.convert_to_numpy(v) for v in elmo.non_trainable_variables]
        factors = np.random.default_rng(0).normal(size=(*IDS.shape[:2], 12))
        start = elmo.scalar_mix.get_weights()
        projected(elmo).train_on_batch([IDS, factors], np.zeros((1,)))
        assert_close(arrays(elmo.non_trainable_variables), frozen, 0)
        for before, after in zip(start, elmo.scalar_mix.get_weights(), strict=True):
            assert (before != after).all()

    def test_the_bilm_trains_when_asked(self):
        elmo = make(trainable_bilm=True)
        assert len(elmo.trainable_variables) == len(elmo.variables)
        start = {v.path: ops.convert_to_numpy(v) for v in elmo.trainable_variables}
        factors = np.random.default_rng(0).normal(size=(*IDS.shape[:2], 12))
        loss = projected(elmo).train_on_batch([IDS, factors], np.zeros((1,)))
        assert np.isfinite(loss)
        for variable in elmo.trainable_variables:
            values = ops.convert_to_numpy(variable)
            assert np.isfinite(values).all()
            assert (values != start[variable.path]).any(), variable.path

    def test_a_frozen_mix_stays(self):
        elmo = make()
        elmo.scalar_mix.trainable = False
        assert elmo.trainable_variables == []

    def test_several_representations(self):
        elmo = make(num_representations=2)
        assert set(elmo(IDS)) == {"layers", "mask", "elmo_0", "elmo_1"}
        assert len(elmo.trainable_variables) == 4
        first = numbers(elmo(IDS))
        np.testing.assert_array_equal(first["elmo_0"], first["elmo_1"])
        factors = np.random.default_rng(0).normal(size=(*IDS.shape[:2], 12))
        projected(elmo, "elmo_1").train_on_batch([IDS, factors], np.zeros((1,)))
        second = numbers(elmo(IDS))
        np.testing.assert_array_equal(second["elmo_0"], first["elmo_0"])
        assert (second["elmo_1"] != first["elmo_1"]).any()
        with pytest.raises(ElmoError, match="num_representations must be at least 1, not 0"):
            make(num_representations=0)

    def test_dropout(self):
        keras.utils.set_random_seed(0)
        elmo = make(dropout=0.5)
        np.testing.assert_array_equal(numbers(elmo(IDS))["elmo"], numbers(shared()(IDS))["elmo"])
        outputs = numbers(elmo(IDS, training=True))
        share = (outputs["elmo"][MASK] == 0).mean()
        assert 0.3 < share < 0.7
        np.testing.assert_array_equal(outputs["layers"], numbers(shared()(IDS))["layers"])

    def test_the_penalty_on_the_mix(self):
        elmo = make(mix_regularizer=keras.regularizers.L2(0.5))
        set_mix(elmo.scalar_mix)
        np.testing.assert_allclose(arrays(elmo.losses), [0.31], rtol=1e-5)


class TestSaving:
    # Changing any of these makes old files unreadable.
    WEIGHTS_FILE = {
        "layers/bi_lm/backward_0/vars/0": (6, 32),
        "layers/bi_lm/backward_0/vars/1": (6, 32),
        "layers/bi_lm/backward_0/vars/2": (32,),
        "layers/bi_lm/backward_0/vars/3": (8, 6),
        "layers/bi_lm/forward_0/vars/0": (6, 32),
        "layers/bi_lm/forward_0/vars/1": (6, 32),
        "layers/bi_lm/forward_0/vars/2": (32,),
        "layers/bi_lm/forward_0/vars/3": (8, 6),
        "layers/char_cnn_embedding/highway_0/carry/vars/0": (10, 10),
        "layers/char_cnn_embedding/highway_0/carry/vars/1": (10,),
        "layers/char_cnn_embedding/highway_0/transform/vars/0": (10, 10),
        "layers/char_cnn_embedding/highway_0/transform/vars/1": (10,),
        "layers/char_cnn_embedding/projection/vars/0": (10, 6),
        "layers/char_cnn_embedding/projection/vars/1": (6,),
        "layers/char_cnn_embedding/vars/0": (262, 4),
        "layers/char_cnn_embedding/vars/1": (1, 4, 4),
        "layers/char_cnn_embedding/vars/2": (4,),
        "layers/char_cnn_embedding/vars/3": (3, 4, 6),
        "layers/char_cnn_embedding/vars/4": (6,),
        "layers/scalar_mix/vars/0": (2,),
        "layers/scalar_mix/vars/1": (),
        "layers/scalar_mix_1/vars/0": (2,),
        "layers/scalar_mix_1/vars/1": (),
    }

    def test_names_in_the_weights_file(self, tmp_path):
        plain = shared()
        bilm = BiLM(1, 8, 6)
        elmo = Elmo(CharCNNEmbedding.from_config(plain.embedding.get_config()), bilm, 2)
        elmo.save_weights(tmp_path / "m.weights.h5")
        found = {}

        def collect(name, item):
            if isinstance(item, h5py.Dataset):
                found[name] = item.shape

        with h5py.File(tmp_path / "m.weights.h5") as file:
            file.visititems(collect)
        assert found == self.WEIGHTS_FILE

    @pytest.mark.parametrize(
        "arguments",
        [
            {},
            {
                "num_representations": 2,
                "keep_boundaries": True,
                "layer_norm": "allennlp",
                "dropout": 0.3,
                "mix_regularizer": keras.regularizers.L2(0.1),
                "trainable_bilm": True,
            },
        ],
        ids=["default", "all options"],
    )
    def test_keras_file(self, arguments, tmp_path):
        elmo = make(**arguments)
        mixes = ["scalar_mix_0", "scalar_mix_1"] if arguments else ["scalar_mix"]
        for k, name in enumerate(mixes):
            set_mix(getattr(elmo, name), MIX + k)
        elmo.save(tmp_path / "m.keras")
        other = keras.saving.load_model(tmp_path / "m.keras")
        assert type(other) is Elmo
        assert json.dumps(other.get_config()) == json.dumps(elmo.get_config())
        assert len(other.trainable_variables) == len(elmo.trainable_variables)
        assert [loss for loss in arrays(other.losses)] == arrays(elmo.losses)
        expected = numbers(elmo(IDS))
        for name, values in numbers(other(IDS)).items():
            np.testing.assert_array_equal(values, expected[name])

    def test_config_is_plain(self):
        config = json.dumps(make(mix_regularizer="l2").get_config())
        assert json.dumps(Elmo.from_config(json.loads(config)).get_config()) == config

    def test_weights_do_not_depend_on_the_options_of_a_model(self, tmp_path):
        elmo = make()
        set_mix(elmo.scalar_mix)
        elmo.save_weights(tmp_path / "m.weights.h5")
        other = make({"stateful": True}, batch_size=5, dropout=0.5, keep_boundaries=True)
        set_weights(other.bilm, 1)
        other.load_weights(tmp_path / "m.weights.h5")
        expected = numbers(elmo(IDS))["elmo"]
        found = numbers(other(IDS))["elmo"][:, 1:-1]
        np.testing.assert_allclose(found[MASK], expected[MASK], rtol=0, atol=1e-6)

    def test_clone(self):
        clone = keras.models.clone_model(make())
        clone.set_weights(shared().get_weights())
        found, expected = numbers(clone(IDS)), numbers(shared()(IDS))
        for name, values in found.items():
            np.testing.assert_array_equal(values, expected[name])

    def test_real_words(self):
        embedding = CharCNNEmbedding(filters=[[1, 8], [3, 16]], projection_dim=8)
        elmo = Elmo(embedding, BiLM(num_layers=2, units=16, projection_dim=8))
        assert elmo(batch_to_ids([["A", "word"]]))["elmo"].shape == (1, 2, 16)
