import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo.tasks import PairClassifier
from keras_elmo.tasks import TokenFeatures
from keras_elmo.tasks import frequent_words
from keras_elmo.tasks.features import exact_matches

FIRST = [["Who", "met", "Anna", "?"], ["Anna"], []]
SECOND = [["Anna", "met", "him"], ["anna", "rains", "in"], ["in"]]
IN_SECOND = [[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
IN_FIRST = [[1, 1, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("kind", ["elmo", "words", "both"])
@pytest.mark.parametrize("kept", [False, True])
def test_exact_matches(make_features, kind, kept):
    features = make_features(kind)
    inputs = [
        features.encode(
            texts, features.embed(texts) if kept and kind != "words" else None, compared=True
        )
        for texts in (FIRST, SECOND)
    ]
    found = [ops.convert_to_numpy(x) for x in exact_matches(*inputs)]
    np.testing.assert_array_equal(found[0][..., 0], IN_SECOND)
    np.testing.assert_array_equal(found[1][..., 0], IN_FIRST)


@pytest.mark.parametrize("kind", ["elmo", "both"])
def test_pairs_learn_the_same_from_layers_that_are_kept(make_features, kind):
    pairs = list(zip(FIRST, SECOND, strict=True))
    losses = []
    for cache in (True, False):
        features = make_features(kind)
        keras.utils.set_random_seed(1)
        model = PairClassifier(features, ["no", "yes"], units=4, dropout=0.0)
        history = model.fit(
            pairs, ["yes", "no", "no"], epochs=2, batch_size=2, cache=cache, verbose=0
        )
        losses.append(history.history["loss"])
    np.testing.assert_allclose(*losses, atol=1e-5)


def test_a_string_is_no_list_of_words():
    with pytest.raises(TypeError, match="Expected a list of tokens"):
        frequent_words(["the cat sat"])
    with pytest.raises(TypeError, match="Expected a list of words"):
        TokenFeatures(words="the cat")
