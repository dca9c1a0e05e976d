import gzip
import json

import h5py
import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import bilm_hdf5
from keras_elmo.convert.hdf5_tensors import read_hdf5
from tests import fixtures
from tests.convert.fuzz import check_reader
from tests.convert.fuzz import fails
from tests.goldens import ALLENNLP
from tests.goldens import SIMPLE_ELMO

WORDS = ["<S>", "</S>", "<UNK>", "the", "cat", "sat"]


def numpy(x):
    return keras.ops.convert_to_numpy(x)


def layers_of(elmo, sentences):
    return numpy(elmo(elmo.encoder.encode_batch(sentences))["layers"])


@pytest.mark.parametrize("name", ALLENNLP)
def test_matches_allennlp_in_every_layer(name, shared_data):
    folder = shared_data / "fixtures-golden" / "A-allennlp" / name
    golden = np.load(folder / "golden.npz")
    elmo = keras_elmo.load(folder, keep_boundaries=True)
    outputs = elmo(golden["char_ids"].astype("int32"))
    for k in range(elmo.bilm.num_layers + 1):
        expected = golden[f"call1/act{k}"]
        np.testing.assert_allclose(numpy(outputs["layers"][:, k]), expected, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(numpy(outputs["mask"]), golden["mask"])


@pytest.mark.parametrize("name", SIMPLE_ELMO)
def test_matches_simple_elmo_in_every_layer(name, shared_data):
    folder = shared_data / "fixtures-golden" / "A-simple_elmo" / name
    golden = np.load(folder / "golden.npz")
    elmo = keras_elmo.load(folder)
    mask = golden["mask_nobound"]
    char_ids = golden["char_ids_with_boundaries"][:, 1:-1] * mask[..., None]
    found = numpy(elmo(char_ids.astype("int32"))["layers"])
    expected = golden["call1/lm_embeddings"] * mask[:, None, :, None]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.minimal
@pytest.mark.parametrize("variant", fixtures.VARIANTS)
def test_written_back_bit_for_bit(variant, published_model, tmp_path):
    options, weights = published_model(variant)
    elmo = keras_elmo.load((options, weights))
    bilm_hdf5.save(elmo, tmp_path / "options.json", tmp_path / "weights.hdf5")
    assert json.loads((tmp_path / "options.json").read_text()) == json.loads(options.read_text())
    found, expected = (read_hdf5(p) for p in (tmp_path / "weights.hdf5", weights))
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.minimal
def test_numbers_of_characters_in_the_options_do_not_matter(published_model, tmp_path):
    options, weights = published_model("plain")
    contents = json.loads(options.read_text())
    results = []
    for number in (261, 262, None):
        contents["char_cnn"]["n_characters"] = number
        elmo = bilm_hdf5.load(contents, weights)
        assert numpy(elmo.embedding.char_embeddings).shape[0] == 262
        assert not numpy(elmo.embedding.char_embeddings)[0].any()
        results.append(layers_of(elmo, [["A", "word"]]))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.fixture
def word_model(tmp_path):
    """Paths of options, weights and vocabulary of a model that reads words."""
    options, arrays = fixtures.make_model("plain")
    del options["char_cnn"]
    arrays = {name: array for name, array in arrays.items() if name.startswith("RNN")}
    arrays["embedding"] = np.random.default_rng(5).normal(size=(6, 8)).astype("float32")
    paths = fixtures.write_model(tmp_path, options, arrays)
    (tmp_path / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    return (*paths, tmp_path / "vocab.txt"), arrays["embedding"]


@pytest.mark.minimal
def test_a_model_that_reads_words(word_model):
    paths, table = word_model
    elmo = keras_elmo.load(paths)
    found = layers_of(elmo, [["the", "dog", "sat"], ["cat"]])
    np.testing.assert_array_equal(found[0, 0], np.tile(table[[3, 2, 5]], 2))
    alone = layers_of(elmo, [["cat"]])[0]
    np.testing.assert_allclose(alone, found[1, :, :1], rtol=0, atol=1e-6)
    kept = keras_elmo.load(paths, keep_boundaries=True)
    found = layers_of(kept, [["cat"]])[0, 0]
    np.testing.assert_array_equal(found, np.tile(table[[0, 4, 1]], 2))


@pytest.mark.minimal
def test_a_model_that_reads_words_goes_there_and_back(word_model, tmp_path):
    paths, _ = word_model
    elmo = keras_elmo.load(paths)
    back = tmp_path / "back"
    new = [back / name for name in ("options.json", "weights.hdf5", "vocab.txt")]
    bilm_hdf5.save(elmo, *new)
    for old, found in ((read_hdf5(p) for p in (paths[1], new[1])),):
        assert found.keys() == old.keys()
        assert all((found[name] == old[name]).all() for name in old)
    again = keras_elmo.load(back)  # the vocabulary is found in the folder
    sentences = [["the", "dog"], []]
    np.testing.assert_array_equal(layers_of(again, sentences), layers_of(elmo, sentences))


@pytest.mark.minimal
def test_a_vocabulary_may_be_compressed(word_model):
    paths, _ = word_model
    packed = paths[2].with_suffix(".txt.gz")
    packed.write_bytes(gzip.compress(paths[2].read_bytes()))
    assert keras_elmo.load((*paths[:2], packed)).encoder.words == WORDS


def _changed(published_model, tmp_path, change):
    options, weights = published_model("plain")
    path = tmp_path / "weights.hdf5"
    path.write_bytes(weights.read_bytes())
    with h5py.File(path, "a") as file:
        change(file)
    return options, path


def _replace(file, name, array):
    del file[name]
    file[name] = array


CELL = "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell"


@pytest.mark.minimal
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.pop("CNN_proj/W_proj"), ["CNN_proj/W_proj", "missing"]),
        (lambda f: f.pop(f"{CELL}/W_P_0"), [f"{CELL}/W_P_0", "missing"]),
        (lambda f: _replace(f, "CNN/b_cnn_1", np.ones(5, "f4")), ["CNN/b_cnn_1", "(5,)", "(4,)"]),
        (lambda f: f[f"{CELL}/B"].write_direct(np.full(48, np.nan, "f4")), [f"{CELL}/B", "NaN"]),
        (lambda f: _replace(f, f"{CELL}/B", np.full(48, 1e39)), [f"{CELL}/B", "infinite"]),
        (lambda f: _replace(f, "CNN/W_cnn_0", np.zeros((1, 1, 4, 4), "f4")), ["W_cnn_0", "zeros"]),
        (lambda f: _replace(f, "char_embed", np.ones((261, 4), "i4")), ["char_embed", "int32"]),
        (lambda f: _replace(f, "char_embed", np.float32(1.0)), ["char_embed", "()"]),
        (lambda f: _replace(f, "char_embed", h5py.ExternalLink("x.h5", "/y")), ["link", "refused"]),
        (lambda f: _replace(f, "char_embed", h5py.SoftLink("/y")), ["link", "refused"]),
        (lambda f: [f.pop(name) for name in list(f)], ["no weights of a biLM", "nothing"]),
    ],
)
def test_says_which_tensor_is_wrong(change, words, published_model, tmp_path):
    options, weights = _changed(published_model, tmp_path, change)
    fails(lambda: keras_elmo.load((options, weights)), weights, *words)


@pytest.mark.minimal
@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (["lstm", "dim"], None, ["lstm.dim", "None"]),
        (["lstm", "dim"], "12", ["lstm.dim", "int"]),
        (["lstm", "dim"], 0, ["lstm.dim", "at least 1"]),
        (["lstm", "dim"], 13, ["tensor"]),
        (["lstm", "n_layers"], 1, ["Cell1/LSTMCell/B", "no place in", "options.json"]),
        (["char_cnn", "n_highway"], 1, ["CNN_high_1", "no place in"]),
        (["lstm", "n_layers"], 3, ["Cell2", "missing"]),
        (["lstm", "n_layers"], 200, ["Cell199", "missing"]),  # before 200 layers are made
        (["lstm", "projection_dim"], 4_000_000, ["lstm.projection_dim", "4000000"]),
        (["lstm", "cell_clip"], -1, ["lstm.cell_clip", "-1"]),
        (["char_cnn", "filters"], [[1, 4], [2]], ["char_cnn.filters"]),
        (["char_cnn", "filters"], [], ["char_cnn.filters"]),
        (["char_cnn", "filters"], [[1, 4], [2, 5]], ["tensor"]),
        (["char_cnn", "activation"], "gelu", ["gelu"]),
        (["char_cnn", "n_highway"], -1, ["char_cnn.n_highway"]),
        (["char_cnn", "n_highway"], 200, ["CNN_high_199/W_carry", "missing"]),
        (["char_cnn", "filters"], [[1, 260]] * 90, ["CNN/W_cnn_0", "shape"]),
        (["char_cnn", "max_characters_per_token"], 10**9, ["at most 10000"]),
        (["char_cnn"], None, ["vocabulary"]),
        (["lstm"], None, ["lstm"]),
    ],
)
def test_says_which_option_is_wrong(keys, value, words, published_model, tmp_path):
    options, weights = published_model("plain")
    contents = json.loads(options.read_text())
    place = contents
    for key in keys[:-1]:
        place = place[key]
    if value is None:
        del place[keys[-1]]
    else:
        place[keys[-1]] = value
    path = tmp_path / "options.json"
    path.write_text(json.dumps(contents))
    fails(lambda: keras_elmo.load((path, weights)), *words)


@pytest.mark.minimal
def test_a_folder_of_several_files(published_model, tmp_path):
    options, weights = published_model("plain")
    (tmp_path / "elmo_small_options.json").write_bytes(options.read_bytes())
    (tmp_path / "elmo_small_weights.hdf5").write_bytes(weights.read_bytes())
    assert keras_elmo.load(tmp_path).bilm.units == 12
    (tmp_path / "other.hdf5").write_bytes(b"other")
    fails(lambda: keras_elmo.load(tmp_path), tmp_path, "elmo_small_weights.hdf5, other.hdf5")
    (tmp_path / "elmo_small_weights.hdf5").rename(tmp_path / "model.hdf5")
    assert keras_elmo.load(tmp_path).bilm.units == 12
    (tmp_path / "elmo_small_options.json").unlink()
    fails(lambda: keras_elmo.load(tmp_path), tmp_path, "options.json", "found none")


@pytest.mark.minimal
def test_the_wrong_file(published_model, tmp_path):
    options, weights = published_model("plain")
    vectors = tmp_path / "vectors.hdf5"
    with h5py.File(vectors, "w") as file:
        file["0"] = np.ones((3, 2, 16), "f4")
        file["sentence_to_index"] = "{}"
    fails(lambda: keras_elmo.load((options, vectors)), vectors, "embeddings, not weights")
    fails(lambda: keras_elmo.load((options, tmp_path / "no.hdf5")), "no.hdf5", "no such")
    fails(lambda: keras_elmo.load((options, options)), options, "not an HDF5 file")
    fails(lambda: keras_elmo.load((weights, weights)), weights, "not a JSON file")
    fails(lambda: keras_elmo.load((options,)), "pair")
    fails(lambda: keras_elmo.load(weights), weights, "(options, weights)")


@pytest.mark.minimal
def test_refuses_to_write_what_has_no_place(tmp_path):
    embedding = keras_elmo.layers.WordEmbedding(
        9, 3, keras_elmo.CharCNNEmbedding([[1, 4]]), projection_dim=4
    )
    bilm = keras_elmo.BiLM(num_layers=1, units=4, projection_dim=4)
    elmo = keras_elmo.Elmo(embedding, bilm, encoder=_Encoder())
    fails(lambda: bilm_hdf5.save(elmo, tmp_path / "o.json", tmp_path / "w.hdf5"), "vocabulary")
    assert list(tmp_path.iterdir()) == []


class _Encoder:
    max_word_length = 51
    boundary_ids = ((1,) * 51, (2,) * 51)
    markers = ()


@pytest.mark.minimal
def test_broken_files_raise_our_error_only(published_model, tmp_path):
    options, _ = published_model("plain")
    path = tmp_path / "options.json"
    path.write_bytes(options.read_bytes())
    check_reader(lambda: bilm_hdf5.read_options(path).filters("char_cnn", "filters"), path, 150)
