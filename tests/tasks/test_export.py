import keras
import numpy as np
import pytest
from click.testing import CliRunner

import keras_elmo
from keras_elmo import ElmoError
from keras_elmo.cli import main
from keras_elmo.export import litert
from keras_elmo.export import onnx
from keras_elmo.layers import WordEmbedding
from keras_elmo.tasks import PairClassifier
from keras_elmo.tasks import Seq2Seq
from keras_elmo.tasks import SpanExtractor
from keras_elmo.tasks import TextClassifier
from keras_elmo.tasks import TokenClassifier
from keras_elmo.tasks import export
from keras_elmo.text.vocabulary_encoder import VocabularyEncoder
from tests.operations import operations
from tests.tasks.conftest import SENTENCES
from tests.tasks.conftest import TAGS

pytestmark = pytest.mark.tensorflow


def make_tagger(features):
    """A tagger that was not trained, but gives different tags."""
    model = TokenClassifier(features, TAGS, units=8)
    rng = np.random.default_rng(0)
    for weight in (model.projection.kernel, *model.crf.weights):
        weight.assign(20 * rng.normal(size=weight.shape))
    logits = model({"text": model.features.encode(SENTENCES)})["logits"]
    model.projection.bias.assign(-keras.ops.mean(logits, axis=(0, 1)))
    assert len({tag for tags in model.predict(SENTENCES) for tag in tags}) > 1
    return model


@pytest.fixture(scope="module")
def tagger(make_features):
    """On characters alone, as the formats without strings need it."""
    return make_tagger(make_features())


@pytest.fixture(scope="module")
def classifier(make_features):
    return TextClassifier(make_features(), ["bad", "good"], units=4)


def served(folder):
    import tensorflow as tf

    return tf.saved_model.load(str(folder)).signatures


def strings(texts):
    import tensorflow as tf

    return tf.constant(texts)


def test_a_served_tagger_reads_strings(make_features, tmp_path):
    tagger = make_tagger(make_features("both"))
    export.save(tagger, tmp_path / "tagger" / "1")
    signatures = served(tmp_path / "tagger" / "1")
    assert sorted(signatures) == ["default", "serving_default", "tokens"]
    found = signatures["default"](strings=strings([" ".join(s) for s in SENTENCES]))["tags"]
    expected = tagger.predict(SENTENCES, batch_size=4)
    for row, tags in zip(found.numpy().astype(str), expected, strict=True):
        assert row.tolist() == tags + [""] * (6 - len(tags))
    padded = [tokens + [""] * (6 - len(tokens)) for tokens in SENTENCES]
    again = signatures["tokens"](tokens=strings(padded))["tags"]
    np.testing.assert_array_equal(again, found)
    with pytest.raises(ElmoError, match="exists already"):
        export.save(tagger, tmp_path / "tagger" / "1")


def test_empty_strings_alone(tagger, classifier, tmp_path):
    export.save(tagger, tmp_path / "tagger")
    tags = served(tmp_path / "tagger")["default"](strings=strings(["", " "]))["tags"]
    assert not any(tag for row in tags.numpy().tolist() for tag in row)
    export.save(classifier, tmp_path / "classifier")
    found = served(tmp_path / "classifier")["default"](strings=strings([""]))
    assert found["label"].numpy().astype(str).tolist() == classifier.predict([[]])


def test_raw_text_to_tags(tagger, tmp_path):
    pytest.importorskip("tensorflow_text")
    export.save(tagger, tmp_path / "1", weights="float16", tokenizer="tensorflow-text")
    answer = served(tmp_path / "1")["text"](text=strings(["It rains.", "Paris"]))
    assert answer["tokens"].numpy().tolist() == [[b"It", b"rains", b"."], [b"Paris", b"", b""]]
    assert answer["tags"].numpy()[1].tolist()[1:] == [b"", b""]
    assert set(answer["tags"].numpy()[0].astype(str)) <= set(tagger.labels)


def test_a_served_pair_classifier(make_features, tmp_path):
    log = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    import tensorflow as tf

    model = PairClassifier(make_features(), ["no", "yes"], units=4)
    export.save(model, tmp_path / "model", warm_up=True)
    default = served(tmp_path / "model")["default"]
    found = default(first=strings(["It rains", "a"]), second=strings(["It is wet .", "b"]))
    assert found["label"].numpy().astype(str).tolist() == model.predict(
        [("It rains", "It is wet ."), ("a", "b")], batch_size=2
    )
    np.testing.assert_allclose(found["probabilities"].numpy().sum(axis=1), 1.0, rtol=1e-5)
    path = tmp_path / "model" / "assets.extra" / "tf_serving_warmup_requests"
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        inputs = log.PredictionLog.FromString(record).predict_log.request.inputs
        assert default(**{k: tf.constant(tf.make_ndarray(v)) for k, v in inputs.items()})


def test_a_served_tagger_that_reads_words(tmp_path):
    encoder = VocabularyEncoder(words=["<S>", "</S>", "<UNK>", "Paris", "is"])
    embedding = WordEmbedding(6, 8, projection_dim=8)
    bilm = keras_elmo.BiLM(num_layers=1, units=8, projection_dim=8)
    tagger = TokenClassifier(keras_elmo.Elmo(embedding, bilm, encoder=encoder), TAGS, units=4)
    export.save(tagger, tmp_path / "1")
    found = served(tmp_path / "1")["default"](strings=strings(["Paris is big"]))["tags"]
    assert found.numpy().astype(str).tolist() == tagger.predict([["Paris", "is", "big"]])


def test_a_tagger_on_a_phone(tagger, tmp_path):
    from keras_elmo.export.litert_runner import LiteRTRunner

    tagger.save(tmp_path / "tagger")
    target = tmp_path / "tagger.tflite"
    options = ["--format", "litert", "--weights", "float32", "--lengths", 4, "--lengths", 8]
    command = ["export", tmp_path / "tagger", target, *options]
    done = CliRunner().invoke(main, [*map(str, command)])
    assert done.exit_code == 0, done.output
    assert operations(target)[1] == []
    run = LiteRTRunner(target)
    assert sorted(run.lengths) == [4, 8]
    for words, tags in zip(SENTENCES, tagger.predict(SENTENCES), strict=True):
        answer = run(words)
        assert [tagger.labels[k] for k in answer["tags"]] == tags
        assert answer["logits"].shape == (len(words), len(tagger.labels))


def test_a_classifier_on_a_phone(classifier, tmp_path):
    from keras_elmo.export.litert_runner import LiteRTRunner

    path = tmp_path / "classifier.tflite"
    litert.save(export.on_char_ids(classifier), path)  # int8
    assert operations(path)[1] == []
    found = LiteRTRunner(path)(SENTENCES[0])
    ids = keras_elmo.batch_to_ids(SENTENCES[:1])
    logits = classifier({"text": {"char_ids": ids}}, training=False)["logits"]
    assert found.keys() == {"probabilities"}
    np.testing.assert_allclose(found["probabilities"], keras.ops.softmax(logits)[0], atol=1e-2)


def test_a_tagger_as_onnx(tagger, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    onnx.save(export.on_char_ids(tagger), tmp_path / "tagger.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "tagger.onnx"))
    [tags] = session.run(["tags"], {"char_ids": keras_elmo.batch_to_ids(SENTENCES)})
    for row, expected in zip(tags, tagger.predict(SENTENCES), strict=True):
        assert [tagger.labels[k] for k in row[: len(expected)]] == expected


@pytest.mark.parametrize(("kind", "longest"), [("elmo", 2), ("both", 17)])
def test_a_served_answerer_of_questions(make_features, tmp_path, kind, longest):
    model = SpanExtractor(make_features(kind), units=4, longest=longest)
    examples = [
        ("Who sang on Monday ?", "On Monday Anna sang a song ."),
        ("Where is Paris ?", "Paris is big"),
        ("And ?", "It rains in Paris and here"),
    ]
    export.save(model, tmp_path / "1")
    default = served(tmp_path / "1")["default"]
    questions, contexts = zip(*examples, strict=True)
    found = default(question=strings(questions), context=strings(contexts))
    expected = model.predict(examples, batch_size=3)
    assert found["answer"].numpy().astype(str).tolist() == [answer.text for answer in expected]
    scores = [answer.score for answer in expected]
    np.testing.assert_allclose(found["score"], scores, rtol=1e-5, atol=1e-5)
    places = zip(contexts, found["first_token"].numpy(), found["last_token"].numpy(), strict=True)
    for (context, first, last), answer in zip(places, expected, strict=True):
        assert " ".join(context.split()[first : last + 1]) == answer.text
    nothing = default(question=strings(["Who ?", ""]), context=strings(["", ""]))
    assert nothing["answer"].numpy().tolist() == [b"", b""]


@pytest.mark.parametrize(("writer", "beam"), [(False, 1), (True, 4)])
def test_a_served_translator(make_features, make_elmo, tmp_path, writer, beam):
    targets = ["Il pleut.", "L'été (Il neige.)", "Il pleut, pleut", "neige"]
    words = ["Il", "pleut", "neige", "L", "'", "été", ",", ".", "(", ")"]
    language_model = make_elmo() if writer else None
    options = {"units": 16, "word_dim": 8, "dropout": 0.0, "beam": beam, "longest": 12}
    model = Seq2Seq(make_features("both"), words, language_model=language_model, **options)
    model.fit(SENTENCES, targets, epochs=30, batch_size=4, learning_rate=0.03, verbose=0)
    export.save(model, tmp_path / "1")
    texts = [" ".join(words) for words in SENTENCES]
    found = served(tmp_path / "1")["default"](strings=strings(texts))["translation"]
    expected = model.predict(texts, batch_size=len(texts))
    assert [text.decode() for text in found.numpy()] == expected
    assert len(set(expected)) > 1


def test_what_cannot_be_exported(make_features, tagger, tmp_path):
    both = TokenClassifier(make_features("both"), TAGS, units=4)
    spans = SpanExtractor(make_features(), units=4)
    writer = Seq2Seq(make_features(), ["a"], units=4)
    top = {"outputs": ["top"]}
    for function, arguments, options, problem in [
        (export.on_char_ids, (writer,), {}, "a Seq2Seq goes only into a savedmodel"),
        (export.on_char_ids, (spans,), {}, "reads more than the characters"),
        (export.on_char_ids, (both,), {}, "reads more than the characters"),
        (export.save, (tagger, tmp_path / "model"), {"weights": "int8"}, "not 'int8'"),
        (litert.save, (export.on_char_ids(tagger), tmp_path / "x.tflite"), top, "outputs: an Elmo"),
    ]:
        with pytest.raises(ElmoError, match=problem):
            function(*arguments, **options)
    assert list(tmp_path.iterdir()) == []
