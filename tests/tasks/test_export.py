import numpy as np
import pytest

from keras_elmo import ElmoError
from keras_elmo.export import litert
from keras_elmo.tasks import PairClassifier
from keras_elmo.tasks import SpanExtractor
from keras_elmo.tasks import TokenClassifier
from keras_elmo.tasks import export
from tests.tasks.conftest import SENTENCES
from tests.tasks.conftest import TAGS

pytestmark = pytest.mark.tensorflow


def served(folder):
    import tensorflow as tf

    return tf.saved_model.load(str(folder)).signatures


def strings(texts):
    import tensorflow as tf

    return tf.constant(texts)


def test_a_served_tagger_reads_strings(make_features, tmp_path):
    tagger = TokenClassifier(make_features("both"), TAGS, units=8)
    tagger.fit(SENTENCES, TAGS, epochs=5, batch_size=4, learning_rate=0.05, verbose=0)
    export.save(tagger, tmp_path / "tagger" / "1")
    signatures = served(tmp_path / "tagger" / "1")
    assert sorted(signatures) == ["default", "serving_default", "tokens"]
    found = signatures["default"](strings=strings([" ".join(s) for s in SENTENCES]))["tags"]
    expected = tagger.predict(SENTENCES, batch_size=4)
    for row, tags in zip(found.numpy().astype(str), expected, strict=True):
        assert row.tolist() == tags + [""] * (6 - len(tags))
    with pytest.raises(ElmoError, match="exists already"):
        export.save(tagger, tmp_path / "tagger" / "1")


def test_a_served_pair_classifier(make_features, tmp_path):
    model = PairClassifier(make_features(), ["no", "yes"], units=4)
    export.save(model, tmp_path / "model")
    default = served(tmp_path / "model")["default"]
    found = default(first=strings(["It rains", "a"]), second=strings(["It is wet .", "b"]))
    assert found["label"].numpy().astype(str).tolist() == model.predict(
        [("It rains", "It is wet ."), ("a", "b")], batch_size=2
    )
    np.testing.assert_allclose(found["probabilities"].numpy().sum(axis=1), 1.0, rtol=1e-5)


def test_a_tagger_on_a_phone(make_features, tmp_path):
    from ai_edge_litert.interpreter import Interpreter

    from keras_elmo.text.characters import batch_to_ids

    tagger = TokenClassifier(make_features(), TAGS, units=4)
    litert.save(export.on_char_ids(tagger), tmp_path / "tagger.tflite", weights="float32")
    run = Interpreter(str(tmp_path / "tagger.tflite")).get_signature_runner()
    tags = run(char_ids=batch_to_ids(SENTENCES[:1]))["tags"][0]
    assert [tagger.labels[k] for k in tags] == tagger.predict(SENTENCES[:1])[0]


def test_what_cannot_be_exported(make_features, tmp_path):
    with pytest.raises(ElmoError, match="a SpanExtractor can't be exported"):
        export.save(SpanExtractor(make_features(), units=4), tmp_path / "model")
    with pytest.raises(ElmoError, match="reads more than the characters"):
        export.on_char_ids(TokenClassifier(make_features("both"), TAGS, units=4))
