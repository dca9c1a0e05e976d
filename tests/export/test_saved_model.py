import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import keras_elmo
from keras_elmo.errors import ElmoError
from keras_elmo.export import saved_model
from tests import fixtures

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def folder(elmo, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "elmo" / "1"
    saved_model.save(elmo, path)
    return path


@pytest.fixture(scope="module")
def signatures(folder):
    return tf.saved_model.load(str(folder)).signatures


def padded(sentences):
    longest = max(map(len, sentences), default=0)
    return [[*sentence, *[""] * (longest - len(sentence))] for sentence in sentences]


def ask_tokens(signatures, sentences, lengths=None):
    lengths = [len(s) for s in sentences] if lengths is None else lengths
    return signatures["tokens"](
        tokens=tf.constant(padded(sentences), tf.string),
        sequence_len=tf.constant(lengths, tf.int32),
    )


def assert_same_bits(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def test_answers_as_the_hub_module_does(shared_data, tmp_path):
    golden = shared_data / "fixtures-golden"
    elmo = keras_elmo.load(golden / "D-tfhub" / "module")
    saved_model.save(elmo, tmp_path / "elmo" / "1")
    signatures = tf.saved_model.load(str(tmp_path / "elmo" / "1")).signatures
    inputs = json.loads((golden / "D-tfhub" / "inputs.json").read_text(encoding="utf-8"))
    answers = {
        "default": signatures["default"](strings=tf.constant(inputs["strings"])),
        "tokens": signatures["tokens"](
            tokens=tf.constant(inputs["tokens"]), sequence_len=tf.constant(inputs["sequence_len"])
        ),
    }
    with np.load(golden / "D-tfhub" / "golden.npz") as expected:
        assert len(expected) == sum(map(len, answers.values()))
        for key in expected:
            signature, name = key.split("/")
            value, want = answers[signature][name].numpy(), expected[key]
            assert value.dtype == want.dtype
            if (
                signature == "tokens"
            ):  # that module has no boundaries: it spells <S> letter by letter
                keep = [i for i, row in enumerate(inputs["tokens"]) if "<S>" not in row]
                assert value.shape == want.shape
                value, want = value[keep], want[keep]
            np.testing.assert_allclose(value, want, atol=2e-6)


def test_equals_the_model(elmo, signatures):
    lengths = np.random.default_rng(0).permutation(200) % 23
    for start in range(0, 200, 50):
        sentences = fixtures.make_sentences(lengths[start : start + 50], seed=start)
        char_ids = keras_elmo.batch_to_ids(sentences)
        expected = {k: v.numpy() for k, v in elmo(char_ids).items()}
        answer = {k: v.numpy() for k, v in ask_tokens(signatures, sentences).items()}
        assert_same_bits(answer, signatures["char_ids"](char_ids=tf.constant(char_ids)))
        layers = [np.tile(answer["word_emb"], 2), answer["lstm_outputs1"], answer["lstm_outputs2"]]
        np.testing.assert_allclose(np.stack(layers, 1), expected["layers"], atol=1e-4)
        np.testing.assert_allclose(answer["elmo"], expected["elmo"], atol=1e-4)
        counts = np.maximum(expected["mask"].sum(1), 1)[:, None]
        np.testing.assert_allclose(answer["default"], expected["elmo"].sum(1) / counts, atol=1e-4)
        np.testing.assert_array_equal(answer["sequence_len"], expected["mask"].sum(1))


def test_splits_on_single_spaces(signatures):
    answer = signatures["default"](strings=tf.constant(["  a  b c ", "a\tb", ""]))
    np.testing.assert_array_equal(answer["sequence_len"], [3, 1, 0])
    again = ask_tokens(signatures, [["a", "b", "c"], ["a\tb"], []])
    assert_same_bits(answer, again)
    assert not answer["default"][2].numpy().any()


def test_serving_default_is_default(signatures):
    strings = tf.constant(["a b"])
    one, other = signatures["serving_default"](strings=strings), signatures["default"](strings)
    assert_same_bits(one, other)


@pytest.mark.parametrize(("batch", "time"), [(0, 0), (0, 3), (2, 0), (1, 1)])
def test_empty_requests(signatures, batch, time):
    answer = signatures["tokens"](
        tokens=tf.fill((batch, time), ""), sequence_len=tf.zeros(batch, tf.int32)
    )
    assert answer["elmo"].shape == (batch, time, 16)
    assert answer["default"].shape == (batch, 16)
    assert not any(value.numpy().any() for value in answer.values())


def test_sequence_len_cuts_and_empty_tokens_are_padding(signatures):
    cut = ask_tokens(signatures, [["a", "b", "c"]], [2])
    assert_same_bits(cut, ask_tokens(signatures, [["a", "b", ""]], [3]))
    assert cut["sequence_len"].numpy().tolist() == [2]


@pytest.mark.parametrize(("length", "problem"), [(3, "beyond the tokens"), (-1, "below 0")])
def test_impossible_sequence_len(signatures, length, problem):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"sequence_len is {problem}"):
        ask_tokens(signatures, [["a", "b"]], [length])


def test_no_state_and_safe_for_threads(signatures):
    batches = [
        fixtures.make_sentences(lengths, seed=sum(lengths)) for lengths in ([3, 1], [9], [5])
    ]
    first = [ask_tokens(signatures, batch) for batch in batches]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda b: ask_tokens(signatures, b), batches * 20))
    for number, answer in enumerate(answers):
        assert_same_bits(answer, first[number % len(batches)])


def test_a_client_of_the_hub_module_in_plain_tensorflow(folder, signatures, tmp_path):
    client, answers = str(Path(__file__).with_name("hub_client.py")), tmp_path / "answers.npz"
    code = (
        "import runpy, sys\n"
        "for name in ('keras', 'keras_elmo', 'tensorflow_hub', 'tensorflow_text'):\n"
        "    sys.modules[name] = None  # as if it were not installed\n"
        f"sys.argv[1:] = {[str(folder), str(answers)]}\n"
        f"runpy.run_path({client!r}, run_name='__main__')\n"
    )
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sentences = [["the", "cat", "is", "on", "the", "mat"], ["dogs", "are", "in", "the", "fog"]]
    expected = ask_tokens(signatures, sentences)
    with np.load(answers) as found:
        assert len(found) == 4 * len(expected)
        for way in ("eager", "in_session"):
            for signature in ("default", "tokens"):
                for name, value in expected.items():
                    answer = found[f"{way}/{signature}/{name}"]
                    np.testing.assert_allclose(answer, value, atol=1e-6)


def test_signatures_by_saved_model_cli(folder):
    done = subprocess.run(
        [sys.executable, "-m", "tensorflow.python.tools.saved_model_cli", "show", "--all"]
        + ["--dir", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    text = " ".join(done.stdout.split("The MetaGraph")[0].split())
    for line in [
        "inputs['strings'] tensor_info: dtype: DT_STRING shape: (-1)",
        "inputs['tokens'] tensor_info: dtype: DT_STRING shape: (-1, -1)",
        "inputs['sequence_len'] tensor_info: dtype: DT_INT32 shape: (-1)",
        "inputs['char_ids'] tensor_info: dtype: DT_INT32 shape: (-1, -1, 50)",
    ]:
        assert line in text
    for name, shape in {
        "word_emb": "(-1, -1, 8)",
        "lstm_outputs1": "(-1, -1, 16)",
        "lstm_outputs2": "(-1, -1, 16)",
        "elmo": "(-1, -1, 16)",
        "default": "(-1, 16)",
    }.items():
        line = f"outputs['{name}'] tensor_info: dtype: DT_FLOAT shape: {shape}"
        assert text.count(line) == 4  # default and its alias, tokens, char_ids


@pytest.mark.parametrize("variant", ["one_layer", "three_layers", "short_words"])
def test_other_models(published_model, tmp_path, variant):
    elmo = keras_elmo.load(published_model(variant), num_representations=2)
    saved_model.save(elmo, tmp_path / "1", weights="float16")
    answer = tf.saved_model.load(str(tmp_path / "1")).signatures["default"](tf.constant(["a bc"]))
    layers = [f"lstm_outputs{k}" for k in range(1, elmo.bilm.num_layers + 1)]
    assert answer.keys() == {"word_emb", *layers, "elmo_0", "elmo_1", "default", "sequence_len"}
    width = elmo.embedding.max_word_length
    expected = elmo(keras_elmo.batch_to_ids([["a", "bc"]], width))
    np.testing.assert_allclose(answer[layers[-1]], expected["layers"][:, -1], atol=2e-2)
    assert (answer[layers[-1]] != expected["layers"][:, -1]).numpy().any()


def test_float16_halves_the_weights(elmo, folder, tmp_path):
    saved_model.save(elmo, tmp_path / "1", weights="float16")
    full, half = (
        sum(f.stat().st_size for f in p.glob("variables/*data*")) for p in (folder, tmp_path / "1")
    )
    assert half < 0.6 * full


def test_raw_text(elmo, tmp_path):
    pytest.importorskip("tensorflow_text")
    saved_model.save(elmo, tmp_path / "1", tokenizer="tensorflow-text")
    signatures = tf.saved_model.load(str(tmp_path / "1")).signatures
    answer = signatures["text"](text=tf.constant(["It sat.", "so"]))
    tokens = answer.pop("tokens").numpy().tolist()
    assert tokens == [[b"It", b"sat", b"."], [b"so", b"", b""]]
    assert_same_bits(answer, ask_tokens(signatures, [["It", "sat", "."], ["so"]]))


def test_warm_up_requests_are_answered(elmo, tmp_path):
    log = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    folder = tmp_path / "name" / "7"
    saved_model.save(elmo, folder, warm_up=True)
    signatures = tf.saved_model.load(str(folder)).signatures
    path = folder / "assets.extra" / "tf_serving_warmup_requests"
    records = list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
    assert records
    for record in records:
        request = log.PredictionLog.FromString(record).predict_log.request
        assert request.model_spec.name == "name"
        inputs = {k: tf.constant(tf.make_ndarray(v)) for k, v in request.inputs.items()}
        answer = signatures[request.model_spec.signature_name](**inputs)
        assert np.isfinite(answer["elmo"]).all()


def test_refuses_what_it_cannot_do(elmo, published_model, tmp_path):
    taken = tmp_path / "taken"
    taken.mkdir()
    stateful = keras_elmo.load(published_model("plain"), stateful=True, batch_size=1)
    boundaries = keras_elmo.load(published_model("plain"), keep_boundaries=True)
    for arguments, problem in [
        ((elmo, taken), "taken: exists already"),
        ((elmo, tmp_path / "1", "int8"), "'int8'"),
        ((elmo, tmp_path / "1", "float32", "treebank"), "'treebank'"),
        ((stateful, tmp_path / "1"), "stateful=False"),
        ((boundaries, tmp_path / "1"), "keep_boundaries=False"),
    ]:
        with pytest.raises(ElmoError, match=problem):
            saved_model.save(*arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
