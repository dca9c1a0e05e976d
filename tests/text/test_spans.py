import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text.spans import spans_of
from keras_elmo.text.spans import split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("They don't, and can’t.", ["They", "do", "n't", ",", "and", "ca", "n't", "."]),
        ("It's Anna's; WE'LL see", ["It", "'s", "Anna", "'s", ";", "WE", "'LL", "see"]),
        ("rock 'n' roll, O'Brien", ["rock", "'", "n", "'", "roll", ",", "O", "'", "Brien"]),
        ("n't 'sir", ["n't", "'", "sir"]),
        ("Где кот?", ["Где", "кот", "?"]),
        (" \n", []),
    ],
)
def test_words(text, words):
    assert split_words(text) == words


@given(st.text())
def test_spans_hold_all_but_space(text):
    spans = spans_of(text)
    assert [end > start for start, end in spans] == [True] * len(spans)
    assert "".join(text[a:b] for a, b in spans) == "".join(text.split())
    assert split_words(text) == [text[a:b].replace("’", "'") for a, b in spans]
