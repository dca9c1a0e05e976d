import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_elmo.errors import ElmoError
from keras_elmo.text.characters import batch_to_ids
from keras_elmo.text.characters import words_to_char_ids
from keras_elmo.text.tokenizer import split_sentences
from keras_elmo.text.tokenizer import tokens_to_char_ids

tf = pytest.importorskip("tensorflow")

tokens_in_graph = tf.function(
    tokens_to_char_ids, input_signature=[tf.TensorSpec((None, None), tf.string)]
)
utf8 = st.characters(exclude_categories=["Cs"])


def padded(sentences):
    longest = max(map(len, sentences), default=0)
    rows = [[t.encode() for t in s] + [b""] * (longest - len(s)) for s in sentences]
    return np.array(rows, dtype=object).reshape(len(sentences), longest)


def test_published_character_map(shared_data):
    charmap = json.loads((shared_data / "fixtures-golden/A-allennlp/charmap.json").read_text())
    pairs = [
        (word.encode(), ids)
        for word, ids in zip(charmap["words"], charmap["ids"], strict=True)
        if word and not any(0xD800 <= ord(c) < 0xE000 for c in word)
    ]
    words, ids = zip(*pairs, strict=True)
    assert len(words) == 30
    np.testing.assert_array_equal(tokens_to_char_ids(tf.constant(words)), ids)


@settings(deadline=None)
@given(st.lists(st.lists(st.text(utf8, min_size=1, max_size=60), max_size=4), max_size=4))
def test_equals_the_numpy_mapping(sentences):
    ids = tokens_in_graph(padded(sentences))
    assert ids.dtype == tf.int32
    np.testing.assert_array_equal(ids, batch_to_ids(sentences))


def test_other_word_length():
    words = ["a", "abc", "abcd", "中中", "<S>"]
    np.testing.assert_array_equal(tokens_to_char_ids(words, 5), words_to_char_ids(words, 5))


@pytest.mark.parametrize("shape", [(), (2,), (2, 3, 1)])
def test_any_rank(shape):
    ids = tokens_to_char_ids(tf.fill(shape, "cat"))
    assert ids.shape == (*shape, 50)
    np.testing.assert_array_equal(
        tf.reshape(ids, (-1, 50)), words_to_char_ids(["cat"] * int(np.prod(shape)))
    )


def test_saved_model_without_the_package(tmp_path):
    module = tf.Module()
    module.ids = tokens_in_graph
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_array_equal(
        loaded.ids(tf.constant([["The", "cat"], ["<S>", ""]])),
        batch_to_ids([["The", "cat"], ["<S>"]]),
    )


def test_split_sentences():
    text = tf.constant(["The  cat sat", "", "don't"])
    assert split_sentences(text).numpy().tolist() == [
        [b"The", b"cat", b"sat"],
        [b"", b"", b""],
        [b"don't", b"", b""],
    ]


def test_split_sentences_with_tensorflow_text():
    pytest.importorskip("tensorflow_text")
    graph = tf.function(lambda text: split_sentences(text, "tensorflow-text"))
    assert graph(tf.constant(["It sat.", "so"])).numpy().tolist() == [
        [b"It", b"sat", b"."],
        [b"so", b"", b""],
    ]


def test_unknown_tokenizer():
    with pytest.raises(ElmoError, match="'treebank'.*'tensorflow-text'"):
        split_sentences(tf.constant(["a"]), "treebank")
