"""The uses of words in text that are most like one use of a word."""

import dataclasses
import heapq
from collections import deque

import numpy as np

from keras_elmo.embedding.embedder import Embedder
from keras_elmo.errors import ElmoError


@dataclasses.dataclass(frozen=True, order=True)
class Use:
    """A word in its sentence, and the cosine of its vector with the one that was asked for."""

    similarity: float
    tokens: list
    position: int


def similar(elmo, tokens, word, sentences, count=10, layers="top", same_word=True):
    """The uses of a word whose vectors are nearest to its vector in one sentence.

    Args:
        elmo: an `Elmo`.
        tokens: list of str, the sentence.
        word: str, one of its tokens; where it is there twice, the first is meant.
        sentences: iterable of lists of str, the text to look through; it may be of any length.
        count: int, how many.
        layers: which vectors, as for `Embedder`.
        same_word: bool, whether only uses of this word count, in any case of letters, or all words.

    Returns:
        A list of `Use`, the nearest first.

    Raises:
        ElmoError: if the word is not in the sentence, or nowhere in the text.

    Example:
        >>> similar(elmo, "He sat on the river bank".split(), "bank", [["The", "bank", "lends"]])
    """
    if word not in tokens:
        raise ElmoError(f"the sentence has no token {word!r}: {' '.join(tokens)[:60]}")
    embedder = Embedder(elmo, layers=layers)
    wanted = _unit(embedder.embed([tokens])[0][tokens.index(word)])
    chosen = _chosen(sentences, word.lower() if same_word else None)
    kept, ahead = [], deque()  # sentences that the embedder has read, but not yet answered

    def remembered():
        for sentence in chosen:
            ahead.append(sentence)
            yield sentence

    for vectors in embedder.stream(remembered()):
        sentence = ahead.popleft()
        if sentence == tokens:
            continue
        for position, token in enumerate(sentence):
            if not same_word or token.lower() == word.lower():
                use = Use(float(wanted @ _unit(vectors[position])), sentence, position)
                (heapq.heappushpop if len(kept) == count else heapq.heappush)(kept, use)
    if not kept:
        raise ElmoError(f"the text has no other sentence with {word!r}")
    return sorted(kept, reverse=True)


def _chosen(sentences, word):
    """The sentences with the word, or all that are not empty."""
    for sentence in sentences:
        if sentence and (word is None or word in map(str.lower, sentence)):
            yield sentence


def _unit(vector):
    return vector / max(1e-12, float(np.linalg.norm(vector)))
