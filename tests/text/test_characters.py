import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text import characters
from keras_elmo.text.characters import batch_to_ids
from keras_elmo.text.characters import word_to_char_ids
from keras_elmo.text.characters import words_to_char_ids

BOS_IDS = [259, 257, 260] + [261] * 47
EOS_IDS = [259, 258, 260] + [261] * 47


def by_the_book(word, width=50):
    data = {"<S>": [256], "</S>": [257]}.get(word)
    if data is None:
        data = list("".join(c for c in word if not 0xD800 <= ord(c) < 0xE000).encode())
    data = data[: width - 2]
    return [259] + [byte + 1 for byte in data] + [260] + [261] * (width - 2 - len(data))


def test_spelled_out():
    assert word_to_char_ids("The").tolist() == [259, 85, 105, 102, 260] + [261] * 45
    assert word_to_char_ids("<S>").tolist() == BOS_IDS
    assert word_to_char_ids("</S>").tolist() == EOS_IDS
    assert word_to_char_ids("").tolist() == [259, 260] + [261] * 48
    assert word_to_char_ids("\0").tolist() == [259, 1, 260] + [261] * 47
    assert word_to_char_ids("a" * 10_000).tolist() == [259] + [98] * 48 + [260]
    assert word_to_char_ids("ab", max_word_length=3).tolist() == [259, 98, 260]


def test_published_character_map(shared_data):
    charmap = json.loads((shared_data / "fixtures-golden/A-allennlp/charmap.json").read_text())
    np.testing.assert_array_equal(words_to_char_ids(charmap["words"]), charmap["ids"])


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=70)))
def test_any_text(words):
    ids = words_to_char_ids(words)
    assert ids.dtype == np.int32
    assert ids.shape == (len(words), 50)
    assert ids.tolist() == [by_the_book(word) for word in words]


@given(st.text(max_size=12), st.integers(3, 20))
def test_other_word_lengths(word, width):
    assert word_to_char_ids(word, width).tolist() == by_the_book(word, width)


@given(st.lists(st.lists(st.text(max_size=5), max_size=5), max_size=4))
def test_batch(sentences):
    ids = batch_to_ids(sentences)
    assert ids.shape == (len(sentences), max(map(len, sentences), default=0), 50)
    for row, sentence in zip(ids, sentences, strict=True):
        np.testing.assert_array_equal(row[: len(sentence)], words_to_char_ids(sentence))
        assert not row[len(sentence) :].any()


def test_result_is_the_callers_own():
    words_to_char_ids(["cat"])[0, 1] = 7
    assert word_to_char_ids("cat").tolist() == by_the_book("cat")


def test_surrogates_count_nothing_towards_the_limit():
    assert word_to_char_ids("\ud800" * 48 + "b").tolist() == by_the_book("b")


def test_huge_tokens_do_not_fill_memory():
    characters._row.cache_clear()
    words_to_char_ids(["x" * 48 + str(i) * 1000 for i in range(100)])
    assert characters._row.cache_info().currsize == 1


def test_tokens_with_text():
    doc = (SimpleNamespace(text=word) for word in ["The", "cat"])
    np.testing.assert_array_equal(batch_to_ids([doc])[0], words_to_char_ids(["The", "cat"]))
    assert word_to_char_ids(np.str_("cat")).tolist() == by_the_book("cat")


@pytest.mark.parametrize("sentences", ["hello", ["hello world"], b"hello", [b"hello"]])
def test_text_for_tokens(sentences):
    with pytest.raises(TypeError, match=r"split it into tokens first.*\.split\(\)"):
        batch_to_ids(sentences)


@pytest.mark.parametrize("token", [7, None, b"cat", ["cat"], SimpleNamespace(text=7)])
def test_token_of_another_type(token):
    with pytest.raises(TypeError, match="A token must be a str"):
        words_to_char_ids(["a", token])


def test_no_room_for_a_byte():
    with pytest.raises(ValueError, match="at least 3"):
        word_to_char_ids("a", max_word_length=2)
