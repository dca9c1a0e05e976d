import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import ElmoError
from keras_elmo import tasks
from keras_elmo.tasks import TokenClassifier
from keras_elmo.tasks.tags import broken
from tests.tasks.conftest import SENTENCES
from tests.tasks.conftest import TAGS


@pytest.fixture
def make_tagger(make_features):
    def make(kind="elmo", place="input", decoder="crf", labels=TAGS, **arguments):
        features = make_features(kind, place, **arguments)
        keras.utils.set_random_seed(5)
        return TokenClassifier(features, labels, units=8, decoder=decoder, dropout=0.0)

    return make


@pytest.mark.parametrize(
    ("kind", "place", "decoder", "epochs"),
    [
        ("elmo", "input", "crf", 60),
        ("words", "input", "softmax", 30),
        ("both", "both", "crf", 20),
    ],
)
def test_learns_by_heart(make_tagger, kind, place, decoder, epochs):
    tagger = make_tagger(kind, place, decoder)
    options = {"batch_size": 4, "learning_rate": 0.05, "verbose": 0}
    history = tagger.fit(SENTENCES, TAGS, epochs=epochs, **options)
    assert history.history["loss"][-1] < 0.1 * history.history["loss"][0]
    assert tagger.predict(SENTENCES) == TAGS
    scores = tagger.evaluate(SENTENCES, TAGS)
    assert scores == {
        "f1": 100, "precision": 100, "recall": 100, "f1_LOC": 100, "f1_PER": 100
    }  # fmt: skip


def test_what_is_kept_of_a_frozen_bilm_changes_nothing(make_tagger):
    losses = []
    for cache in (True, False):
        tagger = make_tagger(place="both", kind="both", mix_regularizer="l2")
        history = tagger.fit(
            SENTENCES, TAGS, (SENTENCES, TAGS), epochs=2, batch_size=3, cache=cache, verbose=0
        )
        losses.append(history.history["loss"])
        frozen = [*tagger.features.elmo.bilm.variables, *tagger.features.elmo.embedding.variables]
        assert not any(v.trainable for v in frozen)
    np.testing.assert_allclose(*losses, rtol=1e-4)


def test_answers_do_not_depend_on_the_company(make_tagger):
    tagger = make_tagger()
    together = tagger.predict([*SENTENCES, ["word"] * 40, []], batch_size=3)
    assert together[:4] == [tagger.predict([sentence], batch_size=1)[0] for sentence in SENTENCES]
    assert len(together[4]) == 40
    assert together[5] == []
    assert tagger.predict([]) == []


def test_strings_and_lists_of_tokens_are_the_same(make_tagger):
    tagger = make_tagger()
    assert tagger.predict(["Paris is big"]) == tagger.predict([["Paris", "is", "big"]])


def test_a_crf_never_breaks_the_scheme(make_tagger):
    tagger = make_tagger()
    rng = np.random.default_rng(0)
    tagger.projection.kernel.assign(rng.normal(0, 30, tagger.projection.kernel.shape))
    tags = tagger.predict([["word"] * 30, SENTENCES[0]])
    assert [broken(sentence) for sentence in tags] == [[], []]


@pytest.mark.parametrize(("kind", "suffix"), [("both", ""), ("both", ".keras"), ("words", "")])
def test_saved_and_loaded_whole(make_tagger, tmp_path, kind, suffix):
    tagger = make_tagger(kind, "both" if kind == "both" else "input")
    tagger.fit(SENTENCES, TAGS, epochs=1, batch_size=4, learning_rate=0.03, verbose=0)
    path = tmp_path / f"tagger{suffix}"
    tagger.save(path)
    again = tasks.load(path)
    assert again.labels == tagger.labels
    assert again.predict(SENTENCES, batch_size=4) == tagger.predict(SENTENCES, batch_size=4)
    weights = zip(again.get_weights(), tagger.get_weights(), strict=True)
    assert all(np.array_equal(*pair) for pair in weights)
    again.fit(SENTENCES, TAGS, epochs=1, batch_size=4, verbose=0)


def test_history_has_scores_and_mixes(make_tagger):
    tagger = make_tagger("both", "both")
    history = tagger.fit(SENTENCES, TAGS, (SENTENCES, TAGS), epochs=2, batch_size=4, verbose=0)
    assert {"loss", "val_f1", "val_f1_PER"} <= set(history.history)
    shares = np.array([history.mixes["input"], history.mixes["output"]])
    assert shares.shape == (2, 2, 3)
    np.testing.assert_allclose(shares.sum(-1), 1.0, rtol=1e-5)


def test_the_best_weights_are_kept(make_tagger):
    tagger = make_tagger()
    data = SENTENCES, TAGS
    history = tagger.fit(
        *data, data, epochs=50, batch_size=4, learning_rate=0.1, patience=3, verbose=0
    )
    scores = history.history["val_f1"]
    assert tagger.evaluate(*data)["f1"] == max(scores)
    assert len(scores) == min(50, scores.index(max(scores)) + 1 + 3)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([["O"], *TAGS[1:]], "sentence 0: 6 tokens, but 1 tags"),
        ([*TAGS[:3], ["O", "B-ORG"]], "sentence 3: the tag 'B-ORG' is not among the labels"),
        (TAGS[:2], "4 examples, but 2 targets"),
    ],
)
def test_wrong_targets(make_tagger, tags, message):
    with pytest.raises(ElmoError, match=message):
        make_tagger().fit(SENTENCES, tags)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([["O"], *TAGS[1:]], "sentence 0: 6 tokens, but 1 tags"),
        (TAGS[:2], "4 examples, but 2 targets"),
    ],
)
def test_held_out_tags_are_checked_before_training(make_tagger, tags, message):
    tagger = make_tagger()
    with pytest.raises(ElmoError, match=message):
        tagger.fit(SENTENCES, TAGS, (SENTENCES, tags), verbose=0)
    assert not tagger.compiled
    with pytest.raises(ElmoError, match=message):
        tagger.evaluate(SENTENCES, tags)


def test_tags_that_are_new_in_the_test_file(make_tagger):
    with pytest.warns(UserWarning, match="1 labels to be scored are unknown.*: 'B-ORG'"):
        make_tagger().evaluate(SENTENCES[3:], [["O", "B-ORG"]])


def test_a_string_is_no_list_of_sentences(make_tagger):
    tagger = make_tagger()
    for call in (tagger.predict, lambda text: tagger.evaluate(text, ["O"])):
        with pytest.raises(TypeError, match="a list of examples, got the string 'Anna lives'"):
            call("Anna lives")


def test_no_labels(make_tagger):
    with pytest.raises(ElmoError, match="`labels` is empty"):
        make_tagger(labels=[])


def test_parts_of_speech_are_scored_by_accuracy(make_tagger):
    tagger = make_tagger(labels=["NOUN", "VERB"], decoder="softmax")
    tags = [["NOUN"] * len(sentence) for sentence in SENTENCES]
    tagger.fit(SENTENCES, tags, epochs=20, batch_size=4, learning_rate=0.1, verbose=0)
    assert tagger.evaluate(SENTENCES, tags) == {"accuracy": 100.0}


def test_only_the_mix_is_trained_of_elmo(make_tagger):
    tagger = make_tagger()
    before = [ops.convert_to_numpy(v).copy() for v in tagger.features.elmo.bilm.variables]
    mix = ops.convert_to_numpy(tagger.features.mixes["input"].weights[0]).copy()
    tagger.fit(SENTENCES, TAGS, epochs=1, batch_size=4, verbose=0)
    after = [ops.convert_to_numpy(v) for v in tagger.features.elmo.bilm.variables]
    assert all(np.array_equal(*pair) for pair in zip(before, after, strict=True))
    assert not np.array_equal(mix, ops.convert_to_numpy(tagger.features.mixes["input"].weights[0]))


def test_lenient_training_leaves_out_what_does_not_fit(make_tagger):
    tagger = make_tagger()
    with pytest.warns(UserWarning, match="1 examples left out, such as sentence 3"):
        tagger.fit(SENTENCES, [*TAGS[:3], ["O"]], epochs=1, batch_size=4, strict=False, verbose=0)


def test_an_untrained_tagger_is_saved_and_loaded(make_tagger, tmp_path):
    """The transitions of its CRF are zeros."""
    tagger = make_tagger()
    tagger.save(tmp_path / "tagger")
    assert tasks.load(tmp_path / "tagger").predict(SENTENCES) == tagger.predict(SENTENCES)
