"""Sentences laid end to end in the rows of a batch, so that hardly a position is wasted."""

from typing import NamedTuple

import numpy as np

WIDTHS = (16, 32, 64, 128, 256, 512)  # positions a row
USUAL_WIDTH = 64
LONGEST = WIDTHS[-1]
FEW_ROWS = (1, 8, 32, 48, 64, 96, 128)
CHEAP_ROWS = 32  # up to here a step costs little more for another row
DISTINCT = 0.375  # distinct words a position; running text has less in a batch of 2,000 or more


class Batch(NamedTuple):
    """Rows of sentences: `numbers[k]` lies in `rows[k]` from position `starts[k]` on."""

    shape: tuple  # (rows, positions)
    numbers: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    def spans(self):
        """Number, row and slice of positions of each sentence."""
        for number, row, start, length in zip(*self[1:], strict=True):
            yield number, row, slice(start, start + length)

    def distinct(self, sentences, vectors):
        """The word vectors of this batch, each once, and where they stand.

        Args:
            sentences: list of int arrays (tokens,), rows of `vectors`.
            vectors: (words, P) float32.

        Returns:
            Vectors (n, P), zeros at the end, n being one of two sizes; places (rows, positions)
            int32 in them, any number where no sentence lies.
        """
        numbers = np.full(self.shape, sentences[self.numbers[0]][0])
        for number, row, positions in self.spans():
            numbers[row, positions] = sentences[number]
        used, places = np.unique(numbers, return_inverse=True)
        size = int(DISTINCT * numbers.size)
        size = size if len(used) <= size else numbers.size
        table = np.zeros((size, vectors.shape[1]), vectors.dtype)
        table[: len(used)] = vectors[used]
        return table, places.reshape(self.shape).astype(np.int32)

    def firsts(self):
        """(rows, positions) bool: where a sentence begins."""
        return self._marks(self.starts)

    def lasts(self):
        """(rows, positions) bool: where a sentence ends."""
        return self._marks(self.starts + self.lengths - 1)

    def _marks(self, positions):
        marks = np.zeros(self.shape, dtype=bool)
        marks[self.rows, positions] = True
        return marks


def pack(lengths, batch_tokens):
    """Packs sentences into batches of `batch_tokens` positions and of few different shapes.

    Every row is `USUAL_WIDTH` positions wide, or the next power of two for longer sentences.
    The rows are filled by best fit, the longest sentences first. Only the last batch of a width
    has fewer rows.

    Args:
        lengths: list of int, tokens of each sentence, at most `LONGEST`. Those of 0 are left out.
        batch_tokens: int, positions of a batch.

    Returns:
        A list of `Batch`.

    Example:
        >>> [batch.shape for batch in pack([60, 4, 64], batch_tokens=4096)]
        [(8, 64)]
    """
    left = sorted((k for k, n in enumerate(lengths) if n), key=lambda k: -lengths[k])
    batches = []
    while left:
        width = _width(lengths[left[0]], sum(lengths[k] for k in left))
        max_rows = max(1, batch_tokens // max(USUAL_WIDTH, width // 2))
        own = len(left)
        if width > USUAL_WIDTH:  # shorter ones only fill up
            own = sum(lengths[k] > width // 2 for k in left)
        rows = _Rows(width)
        rows.fill(left[:own], lengths, grow=True)
        rest = sum(lengths[k] for k in left[own:])
        rows.add(min(-len(rows.content) % max_rows, rest // width))
        left = rows.fill(left[own:], lengths, grow=False)
        content = [row for row in rows.content if row]
        for first in range(0, len(content), max_rows):
            batches.append(_batch(content[first : first + max_rows], lengths, width, max_rows))
    return batches


def _width(longest, total):
    # Little text goes into short rows: there the number of steps counts, not that of the rows.
    usual = min(USUAL_WIDTH, total // CHEAP_ROWS)
    return next(width for width in WIDTHS if width >= max(longest, usual))


def _batch(content, lengths, width, max_rows):
    rows = max_rows
    if len(content) < max_rows:
        rows = min(max_rows, next((few for few in FEW_ROWS if few >= len(content)), max_rows))
    places = [(k, row, start) for row, items in enumerate(content) for k, start in items]
    numbers, row, start = np.array(places, dtype=np.int64).T
    return Batch((rows, width), numbers, row, start, np.array(lengths)[numbers])


class _Rows:
    """Rows of one width that are being filled; `free[n]` are those with n positions left."""

    def __init__(self, width):
        self.width = width
        self.content = []
        self.free = [[] for _ in range(width + 1)]

    def add(self, count):
        new = [[] for _ in range(count)]
        self.content += new
        self.free[self.width] += new

    def fill(self, numbers, lengths, grow):
        """Puts each sentence where it leaves the least room; returns those that found none."""
        left = []
        for k in numbers:
            room = next((n for n in range(lengths[k], self.width + 1) if self.free[n]), None)
            if room is None and grow:
                self.add(1)
                room = self.width
            if room is None:
                left.append(k)
                continue
            row = self.free[room].pop()
            row.append((k, self.width - room))
            self.free[room - lengths[k]].append(row)
        return left
