"""Scores of a text file as lines of text, for `keras-elmo score`."""

import numpy as np

from keras_elmo.errors import ElmoError
from keras_elmo.text.characters import BOS
from keras_elmo.text.characters import EOS
from keras_elmo.training.corpus import read_lines


def sentences(scorer, source, tokens=False):
    r"""A line a sentence: the log-probability forward, backward, their mean, the sentence.

    Args:
        scorer: `SentenceScorer`.
        source: path of a text file, a sentence a line; `-`: standard input.
        tokens: bool, whether a line for each of its words, and for its ends, comes before it.

    Yields:
        Lines of text, the first names the columns.

    Example:
        >>> print(*sentences(scorer, "text.txt"), sep="\n")
        forward	backward	mean	sentence
        -14.2102	-13.8810	-14.0456	A cat sat .
    """
    yield "forward\tbackward\tmean\tsentence"
    for score in scorer.score(map(str.split, read_lines(source))):
        if tokens:
            # The begin is predicted backward alone, the end forward alone.
            forward = ["", *(f"{value:.4f}" for value in score.forward)]
            backward = [f"{value:.4f}" for value in np.roll(score.backward, 1)] + [""]
            for word, *values in zip([BOS, *score.tokens, EOS], forward, backward, strict=True):
                yield "\t".join([*values, "", word])
        values = score.forward.sum(), score.backward.sum(), score.total
        yield "\t".join([*(f"{value:.4f}" for value in values), " ".join(score.tokens)])


def pairs(scorer, source):
    r"""A line a minimal pair: by how much the first sentence is likelier, and the likelier one.

    Args:
        scorer: `SentenceScorer`.
        source: path of a text file, two sentences a line, divided by a tab; `-`: standard input.

    Yields:
        Lines of text, the first names the columns, the last tells in how many pairs the first
        sentence is the likelier one.

    Raises:
        ElmoError: if a line does not hold two sentences.

    Example:
        >>> print(*pairs(scorer, "pairs.tsv"), sep="\n")
        forward	backward	mean	likelier
        2.1180	1.9032	2.0106	The cats sleep .
        first likelier, of 1: forward 1, backward 1, mean 1
    """
    yield "forward\tbackward\tmean\tlikelier"
    wins, count = np.zeros(3, int), 0
    scores = iter(scorer.score(_halves(source)))
    for first, second in zip(scores, scores, strict=True):
        gaps = [
            (first.forward.sum() - second.forward.sum()),
            (first.backward.sum() - second.backward.sum()),
            first.total - second.total,
        ]
        wins += np.array(gaps) > 0
        count += 1
        likelier = first if gaps[-1] > 0 else second
        yield "\t".join([*(f"{gap:.4f}" for gap in gaps), " ".join(likelier.tokens)])
    parts = zip(("forward", "backward", "mean"), wins, strict=True)
    yield f"first likelier, of {count}: {', '.join(f'{name} {n}' for name, n in parts)}"


def _halves(source):
    for number, line in enumerate(read_lines(source), 1):
        halves = [half.split() for half in line.split("\t")]
        if len(halves) != 2 or not all(halves):
            raise ElmoError(
                f"{source}, sentence line {number}: must hold two sentences divided by one tab"
            )
        yield from halves
