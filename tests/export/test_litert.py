import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.errors import ElmoError
from keras_elmo.export import litert
from keras_elmo.export.litert_runner import LiteRTRunner
from tests import fixtures
from tests.operations import operations

pytest.importorskip("tensorflow")
pytest.importorskip("ai_edge_litert")
pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def middling():
    """Large enough for its matrices to be stored as int8."""
    keras.utils.set_random_seed(0)
    embedding = keras_elmo.CharCNNEmbedding([[1, 32], [3, 64], [5, 96]], projection_dim=64)
    return keras_elmo.Elmo(embedding, keras_elmo.BiLM(num_layers=2, units=128, projection_dim=64))


@pytest.fixture(scope="module")
def full(middling, tmp_path_factory):
    """It with float32 weights."""
    path = tmp_path_factory.mktemp("litert") / "full.tflite"
    litert.save(middling, path, weights="float32")
    return path


def compare(elmo, path, sentences, atol):
    runner = LiteRTRunner(path)
    expected = {k: v.numpy() for k, v in elmo(keras_elmo.batch_to_ids(sentences)).items()}
    for i, words in enumerate(sentences):
        answer = runner(words)
        assert answer.keys() == {"elmo", "layers", "top"}
        for name in ("elmo", "layers"):
            want = expected[name][i, ..., : len(words), :]
            np.testing.assert_allclose(answer[name], want, atol=atol)
        np.testing.assert_array_equal(answer["top"], answer["layers"][-1])


def test_equals_the_model_at_any_length(elmo, tflite):
    lengths = np.random.default_rng(0).permutation(200) % 23
    compare(elmo, tflite, fixtures.make_sentences(lengths), atol=1e-4)


@pytest.mark.parametrize("variant", ["no_highway", "three_layers", "no_clip", "no_projection"])
def test_other_models(published_model, tmp_path, variant):
    elmo = keras_elmo.load(published_model(variant))
    litert.save(elmo, tmp_path / "elmo.tflite", weights="float32")
    compare(elmo, tmp_path / "elmo.tflite", fixtures.make_sentences((5, 1, 9)), atol=1e-4)


def test_builtin_operations_alone(tflite):
    builtin, other = operations(tflite)
    assert "WHILE" in builtin
    assert other == []


@pytest.mark.parametrize(
    ("weights", "size", "cosine"), [("int8", 0.35, 0.99), ("float16", 0.55, 0.9999)]
)
def test_smaller_weights(middling, full, tmp_path, weights, size, cosine):
    small = tmp_path / "small.tflite"
    litert.save(middling, small, weights=weights)
    assert small.stat().st_size < size * full.stat().st_size
    assert operations(small)[1] == []
    words = sum(fixtures.make_sentences((12, 20)), [])
    expected = np.asarray(middling(keras_elmo.batch_to_ids([words]))["layers"][0])
    layers = LiteRTRunner(small)(words)["layers"]
    assert fixtures.mean_cosines(layers, expected).min() > cosine
    assert (layers != expected).any()


def test_fixed_lengths_share_the_weights(middling, full, tmp_path):
    three = tmp_path / "three.tflite"
    litert.save(middling, three, weights="float32", lengths=[4, 16, 64])
    assert three.stat().st_size < 1.3 * full.stat().st_size
    runner = LiteRTRunner(three)
    assert sorted(runner.lengths) == [4, 16, 64]
    compare(middling, three, fixtures.make_sentences((3, 4, 5, 30)), atol=1e-4)
    with pytest.raises(ValueError, match="65 words, .* at most 64"):
        runner(["a"] * 65)


def test_a_fixed_length_with_one_output_runs_in_the_compiled_model(elmo, tmp_path):
    compiled_model = pytest.importorskip("ai_edge_litert.compiled_model")
    path = tmp_path / "elmo.tflite"
    litert.save(elmo, path, "float32", outputs=["mix"], lengths=[8])
    assert LiteRTRunner(path)(["a"]).keys() == {"elmo"}
    model = compiled_model.CompiledModel.from_file(str(path))
    ids = np.zeros((1, 8, 50), np.int32)
    ids[:, :2] = keras_elmo.batch_to_ids([["The", "cat"]])
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    inputs[0].write(ids)
    model.run_by_index(0, inputs, outputs)
    answer = outputs[0].read(8 * 16, np.float32).reshape(1, 8, 16)
    np.testing.assert_allclose(answer, elmo(ids)["elmo"], atol=1e-4)


def test_any_keras_model_on_char_ids(elmo, tmp_path):
    char_ids = keras.Input((None, 50), dtype="int32")
    outputs = elmo(char_ids)
    mean = keras.layers.GlobalAveragePooling1D()(outputs["elmo"], mask=outputs["mask"])
    model = keras.Model(char_ids, {"mean": mean, "top": keras.layers.Dense(3)(outputs["elmo"])})
    path = tmp_path / "model.tflite"
    litert.save(model, path, weights="float32")
    assert operations(path)[1] == []
    words = ["The", "cat", "sat"]
    expected = model(keras_elmo.batch_to_ids([words]))
    for name, value in LiteRTRunner(path)(words).items():
        np.testing.assert_allclose(value, expected[name][0], atol=1e-4)


def test_refuses_what_it_cannot_do(elmo, tmp_path):
    taken = tmp_path / "taken.tflite"
    taken.touch()
    free = tmp_path / "free.tflite"
    words = keras.Sequential([keras.Input((None,)), keras.layers.Embedding(5, 2)])
    char_ids = keras.Input((None, 50), dtype="int32")
    small = keras.Model(char_ids, keras.layers.Dense(2)(elmo(char_ids)["elmo"]))
    small.layers[-1].quantize("int8")
    for arguments, problem in [
        ((elmo, taken), "taken.tflite: exists already"),
        ((elmo, tmp_path / "elmo.bin"), "must end in .tflite"),
        ((elmo, free, "int4"), "int8, float16, float32, not 'int4'"),
        ((elmo, free, "int8", ["bottom"]), "mix, top, all, not 'bottom'"),
        ((elmo, free, "int8", ["mix"], [8, 0]), "at least 1, not 0"),
        ((words, free), "must read character ids"),
        ((small, free), "a model that `quantize` made smaller"),
    ]:
        with pytest.raises(ElmoError, match=problem):
            litert.save(*arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.tflite"]
