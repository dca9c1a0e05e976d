import builtins

import pytest

from keras_elmo.errors import ElmoError
from keras_elmo.text.tokenizers import get_tokenizer


def test_whitespace_is_the_default():
    assert get_tokenizer() is str.split
    assert get_tokenizer("whitespace")(" a  b\tc\n") == ["a", "b", "c"]


def test_any_function():
    assert get_tokenizer(list)("ab") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I don't know.", "I do n't know ."),
        ("They’re Spain’s; can’t they?", "They 're Spain 's ; ca n't they ?"),
        ("“Is that you, James?” she called.", '" Is that you , James ? " she called .'),
        ("It is “Go and find out.”", 'It is " Go and find out . "'),
        ('He said "no" to it', 'He said " no " to it'),
        ("the 16th–17th—a Thursday…", "the 16th - 17th -- a Thursday ..."),
        ("a few minutes’ delay", "a few minutes ' delay"),
        ("Dr. Smith of the U.S. paid $3,000.50.", "Dr. Smith of the U.S. paid $ 3,000.50 ."),
        ("(1095–1291)", "( 1095 - 1291 )"),
        ("so-called 12% Naïve中", "so-called 12 % Naïve中"),
        ("", ""),
    ],
)
def test_treebank(text, tokens):
    pytest.importorskip("nltk")
    assert get_tokenizer("treebank")(text) == tokens.split()


def test_words():
    assert get_tokenizer("words")("It’s 5, don't!") == ["It", "'s", "5", ",", "do", "n't", "!"]


def test_tensorflow_text():
    pytest.importorskip("tensorflow_text")
    assert get_tokenizer("tensorflow-text")("It sat, 中.") == ["It", "sat", ",", "中", "."]


def test_unknown_name():
    with pytest.raises(ElmoError, match="'spacy'.*treebank"):
        get_tokenizer("spacy")


def test_missing_package_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without_nltk(name, *args, **kwargs):
        if name.startswith("nltk"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_nltk)
    with pytest.raises(ElmoError, match=r'pip install "keras-elmo\[text\]"'):
        get_tokenizer("treebank")
