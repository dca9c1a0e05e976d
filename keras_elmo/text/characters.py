"""Words to the character ids that every published ELMo reads; NumPy only."""

from array import array
from functools import lru_cache
from itertools import chain
from itertools import repeat

import numpy as np

from keras_elmo.errors import ElmoError

MAX_WORD_LENGTH = 50
NUM_CHARS = 262

# The shift of +1 is already in: 0 is left for "no token here".
BEGIN_SENTENCE = 257
END_SENTENCE = 258
BEGIN_WORD = 259
END_WORD = 260
PAD_CHAR = 261

BOS = "<S>"
EOS = "</S>"

CACHED_WORDS = 1 << 16  # about 25 MB


def word_to_char_ids(word, max_word_length=MAX_WORD_LENGTH):
    """Character ids of one word.

    A word is its UTF-8 bytes, cut to `max_word_length - 2`, between the begin-of-word and the
    end-of-word id, then padded: `[259, byte + 1, ..., 260, 261, 261, ...]`. The words `<S>` and
    `</S>` are the sentence boundaries. Lone surrogates have no UTF-8 bytes and are dropped.

    Args:
        word: str, or an object with a str attribute `text` (a spaCy token).
        max_word_length: int, ids a word. Every published model has 50.

    Returns:
        int32 array of shape `(max_word_length,)`.

    Raises:
        TypeError: if `word` is neither of the two.

    Example:
        >>> word_to_char_ids("The")[:6]
        array([259,  85, 105, 102, 260, 261], dtype=int32)
    """
    return words_to_char_ids([word], max_word_length)[0]


def words_to_char_ids(words, max_word_length=MAX_WORD_LENGTH):
    """Character ids of a list of words.

    The rows of the last 65,536 word types are kept, so running text costs little more than a
    look-up a token.

    Args:
        words: iterable of str, or of objects with a str attribute `text`.
        max_word_length: int, ids a word.

    Returns:
        int32 array of shape `(len(words), max_word_length)`, see `word_to_char_ids`.

    Raises:
        TypeError: if `words` is a string, or an item is neither a str nor has `text`.

    Example:
        >>> words_to_char_ids(["The", "cat"]).shape
        (2, 50)
    """
    return _rows(tokens_of(words), max_word_length)


def batch_to_ids(sentences, max_word_length=MAX_WORD_LENGTH):
    """Character ids of a batch of tokenized sentences, without boundaries.

    Args:
        sentences: iterable of lists of tokens (str, or objects with a str attribute `text`).
        max_word_length: int, ids a token.

    Returns:
        int32 array of shape `(batch, longest sentence, max_word_length)`; 0 after a sentence's end.

    Raises:
        TypeError: if a string stands where a list of tokens belongs.

    Example:
        >>> batch_to_ids([["The", "cat", "sat"], ["Hello"]]).shape
        (2, 3, 50)

    Reference:
        - [Peters et al., 2018](https://arxiv.org/abs/1802.05365), `batch_to_ids` of AllenNLP.
    """
    sentences = [tokens_of(sentence) for sentence in not_text(sentences, "sentences")]
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    longest = lengths.max(initial=0)
    ids = np.zeros((len(sentences), longest, max_word_length), dtype=np.int32)
    ids[np.arange(longest) < lengths[:, None]] = _rows(
        list(chain.from_iterable(sentences)), max_word_length
    )
    return ids


def _rows(words, max_word_length):
    if max_word_length < 3:
        raise ElmoError(
            f"`max_word_length` must be at least 3 (begin, one byte, end), got {max_word_length}."
        )
    limit = max_word_length - 2
    if max(map(len, words), default=0) > limit:  # keeps huge tokens out of the cache
        words = [word if len(word) <= limit else _shorten(word, limit) for word in words]
    rows = bytearray().join(map(_row, words, repeat(max_word_length)))
    return np.frombuffer(rows, dtype=np.int32).reshape(-1, max_word_length)


@lru_cache(maxsize=CACHED_WORDS)
def _row(word, max_word_length):
    limit = max_word_length - 2
    if word == BOS:
        characters = [BEGIN_SENTENCE]
    elif word == EOS:
        characters = [END_SENTENCE]
    else:
        characters = [byte + 1 for byte in word.encode("utf-8", "ignore")[:limit]]
    padding = [PAD_CHAR] * (limit - len(characters))
    return array("i", [BEGIN_WORD, *characters, END_WORD, *padding]).tobytes()


def _shorten(word, limit):
    return word.encode("utf-8", "ignore").decode()[:limit]


def tokens_of(words):
    """The words as a list of str; a string in place of a list is a TypeError."""
    words = list(not_text(words, "tokens"))
    if set(map(type, words)) <= {str}:
        return words
    return [_string(word) for word in words]


def not_text(items, kind):
    """The items themselves, but a TypeError for a string in their place."""
    if isinstance(items, (str, bytes)):
        raise TypeError(
            f"Expected a list of {kind}, got the string {items[:40]!r}: "
            f"split it into tokens first, for example with {items[:40]!r}.split()."
        )
    return items


def _string(word):
    text = word if isinstance(word, str) else getattr(word, "text", None)
    if not isinstance(text, str):
        raise TypeError(
            "A token must be a str or have a str attribute `text`, "
            f"got {type(word).__name__} {word!r:.40}."
        )
    return str(text)


def boundary_ids(max_word_length=MAX_WORD_LENGTH):
    """Character ids of the begin and the end of a sentence.

    Args:
        max_word_length: int, ids a token.

    Returns:
        Two int32 arrays of shape `(max_word_length,)`.

    Example:
        >>> boundary_ids(5)[0]
        array([259, 257, 260, 261, 261], dtype=int32)
    """
    begin, end = words_to_char_ids([BOS, EOS], max_word_length)
    return begin, end
