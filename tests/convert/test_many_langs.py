import json
import shutil
import zipfile

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import folder as our_folder
from keras_elmo.convert import many_langs
from keras_elmo.convert.torch_file import read_tensors
from tests.convert.fuzz import broken
from tests.convert.fuzz import fails
from tests.convert.fuzz import refusal

MODELS = ["a", "b"]


def numpy(x):
    return keras.ops.convert_to_numpy(x)


@pytest.fixture(scope="module")
def models(shared_data):
    root = shared_data / "fixtures-efml"
    return {name: keras_elmo.load(root / f"model_{name}") for name in MODELS}


@pytest.fixture(scope="module")
def sentences(shared_data):
    text = (shared_data / "fixtures-efml" / "sentences.json").read_text(encoding="utf-8")
    return [sentence["tokens"] for sentence in json.loads(text)["sentences"]]


@pytest.fixture
def copy(shared_data, tmp_path):
    """A function: name of a model -> a copy that may be changed."""

    def make(name):
        target = tmp_path / f"model_{name}"
        shutil.copytree(shared_data / "fixtures-efml" / f"model_{name}", target)
        for path in (target, *target.iterdir()):
            path.chmod(0o755)
        return target

    return make


def golden(shared_data, name):
    return np.load(shared_data / "fixtures-efml" / f"golden_{name}.npz")


@pytest.mark.parametrize("name", MODELS)
def test_ids(name, models, sentences, shared_data):
    encoder, expected = models[name].encoder, golden(shared_data, name)
    begin, end = encoder.boundary_ids
    for number, sentence in enumerate(sentences):
        rows = np.array([begin, *encoder.encode_words(sentence), end]) - 1
        characters = expected[f"char_ids_{number:02}"]
        np.testing.assert_array_equal(rows[:, -characters.shape[1] :], characters)
        if f"word_ids_{number:02}" in expected:
            np.testing.assert_array_equal(rows[:, 0], expected[f"word_ids_{number:02}"])


@pytest.mark.parametrize("name", MODELS)
def test_matches_the_original_in_every_layer(name, models, sentences, shared_data):
    elmo, expected = models[name], golden(shared_data, name)
    outputs = elmo(elmo.encoder.encode_batch(sentences))
    layers, mix = numpy(outputs["layers"]), numpy(outputs["elmo"])
    for number, sentence in enumerate(sentences):
        for found, key in ((layers[number, :, : len(sentence)], "batch"), (mix[number], "mean")):
            wanted = expected[f"{key}_{number:02}"]
            found = found[..., : len(sentence), :]
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_works_in_the_embedder(name, models, sentences, shared_data):
    expected = golden(shared_data, name)
    found = keras_elmo.Embedder(models[name]).embed(sentences)
    for number, vectors in enumerate(found):
        np.testing.assert_allclose(vectors, expected[f"batch_{number:02}"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_our_folder_and_a_keras_file_keep_it(name, models, sentences, tmp_path):
    elmo = models[name]
    expected = numpy(elmo(elmo.encoder.encode_batch(sentences[:2]))["layers"])
    our_folder.save(elmo, tmp_path / "folder")
    elmo.save(tmp_path / "model.keras")
    for again in (
        keras_elmo.load(tmp_path / "folder"),
        keras.saving.load_model(tmp_path / "model.keras"),
    ):
        found = numpy(again(again.encoder.encode_batch(sentences[:2]))["layers"])
        np.testing.assert_array_equal(found, expected)


def test_read_from_a_zip(models, shared_data, tmp_path):
    with zipfile.ZipFile(tmp_path / "144.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (shared_data / "fixtures-efml" / "model_a").iterdir():
            archive.write(path, f"144/{path.name}")
    found = keras_elmo.load(tmp_path / "144.zip").get_weights()
    for one, other in zip(found, models["a"].get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.minimal
def test_dictionary_quirks(tmp_path):
    path = tmp_path / "char.dic"
    path.write_bytes(b" \t1\nb\t2\ra b\t0\r\n")
    assert many_langs._read_dictionary(path) == ["a b", "\u3000", "b"]
    for text, words in (
        ("a\t0\n\nb\t1\n", "line 2"),
        ("a\t0\tb\n", "line 1"),
        ("a\tb\n", "line 1"),
        ("a\t0\nb\t2\n", "from 0 to 1"),
        ("a\x850\t0\n", "line 1"),
    ):
        path.write_text(text, encoding="utf-8")
        fails(lambda: many_langs._read_dictionary(path), path, words)
    path.write_bytes(b"\xff\t0\n")
    fails(lambda: many_langs._read_dictionary(path), path, "UTF-8")


def edit(path, *keys, value):
    contents = json.loads(path.read_text())
    place = contents
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path.write_text(json.dumps(contents))


def test_structure_of_the_released_models_is_known(copy):
    model = copy("a")
    (model / "cnn_50_100_512_4096_sample.json").unlink()
    fails(lambda: keras_elmo.load(model), "512", "same model")  # those of the released models
    edit(model / "config.json", "config_path", value="/home/me/other.json")
    fails(lambda: keras_elmo.load(model), "other.json", "missing")
    edit(model / "config.json", "config_path", value="../model_a/config.json")
    fails(lambda: keras_elmo.load(model), "config.json", "token_embedder.word_dim")
    edit(model / "config.json", "config_path", value=None)
    fails(lambda: keras_elmo.load(model), "config_path")


@pytest.mark.parametrize("part", ["encoder.pkl", "token_embedder.pkl", "word.dic", "char.dic"])
def test_missing_parts(part, copy):
    model = copy("a")
    (model / part).unlink()
    fails(lambda: keras_elmo.load(model), part, "no such file")


def test_sizes_that_disagree(copy):
    model = copy("b")
    structure = model / "cnn_tiny_b.json"
    for keys, value, words in (
        (("encoder", "dim"), 11, ["encoder.pkl", "backward_layer_1", "shape"]),
        (("encoder", "n_layers"), 1, ["encoder.pkl", "forward_layer_1"]),
        (("encoder", "n_layers"), 3, ["encoder.pkl", "backward_layer_2", "missing"]),
        (("encoder", "n_layers"), 70, ["encoder.pkl", "backward_layer_69", "missing"]),
        (("token_embedder", "filters"), [[1, 70]] * 70, ["convolutions.0.weight", "shape"]),
        (("token_embedder", "max_characters_per_token"), 10**9, ["at most 10000"]),
        (("encoder", "name"), "lstm", ["encoder of the name elmo"]),
        (("token_embedder", "n_highway"), 2, ["token_embedder.pkl", "highways._layers.1"]),
        (("token_embedder", "char_dim"), 0, ["both 0"]),
        (("token_embedder", "max_characters_per_token"), 6, ["max_characters_per_token"]),
    ):
        original = structure.read_text()
        edit(structure, *keys, value=value)
        fails(lambda: keras_elmo.load(model), *words)
        structure.write_text(original)
    (model / "char.dic").write_text((model / "char.dic").read_text() + "new\t70\n")
    fails(lambda: keras_elmo.load(model), "token_embedder.pkl", "char_emb_layer", "(71, 4)")


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (0.0, "all zeros")])
@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("encoder.pkl", "forward_layer_1.state_linearity.weight"),
        ("token_embedder.pkl", "highways._layers.0.weight"),
    ],
)
def test_values_that_are_none(part, name, value, word, shared_data, monkeypatch):
    def read(path):
        tensors = read_tensors(path)
        if path.name == part:
            tensors[name][...] = value
        return tensors

    monkeypatch.setattr(many_langs, "read_tensors", read)
    source = shared_data / "fixtures-efml" / "model_b"
    fails(lambda: keras_elmo.load(source), part, name, word)


def test_broken_models_raise_our_error_only(copy):
    model = copy("b")
    parts = ("encoder.pkl", "token_embedder.pkl", "char.dic", "config.json", "cnn_tiny_b.json")
    for part in parts:
        data = (model / part).read_bytes()
        for seed in range(5):
            (model / part).write_bytes(broken(data, seed, head=500))
            refusal(lambda: keras_elmo.load(model))
        (model / part).write_bytes(data)


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_reads_its_words(name, models, sentences, shared_data, tmp_path):
    import tensorflow as tf

    from keras_elmo.export import saved_model

    saved_model.save(models[name], tmp_path / "1")
    signature = tf.saved_model.load(tmp_path / "1").signatures["tokens"]
    longest = max(map(len, sentences))
    tokens = [sentence + [""] * (longest - len(sentence)) for sentence in sentences]
    lengths = [len(sentence) for sentence in sentences]
    found = signature(tokens=tf.constant(tokens), sequence_len=tf.constant(lengths))
    expected = golden(shared_data, name)
    for number, length in enumerate(lengths):
        vectors, mean = found["elmo"][number, :length], found["default"][number]
        wanted = expected[f"mean_{number:02}"]
        np.testing.assert_allclose(vectors, wanted, rtol=0, atol=1e-5)
        np.testing.assert_allclose(mean, wanted.mean(axis=0), rtol=0, atol=1e-5)
