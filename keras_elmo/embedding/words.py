"""Word vectors, computed once for each word type."""

import numpy as np
from keras import ops

from keras_elmo import backend
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding

CHARACTERS = (16, 20, 24)  # widths that the ids are cut to; else the full one
ROWS = (256, 64, 16)  # words a call


class WordVectors:
    """Vectors of words from an embedding layer, each word type run through it once.

    The table is emptied when the next words do not fit any more. Words are sorted by length and
    their ids cut to the longest plus the widest filter, where a convolution gives the same result;
    all calls have one of a few shapes.

    Args:
        embedding: a built layer from ids (words, characters) to (words, P), such as
            `CharCNNEmbedding`.
        encoder: turns words into these ids, such as `CharacterEncoder`.
        capacity: int, word types that are kept.

    Attributes:
        boundaries: (2, P), the vectors of begin and end of sentence.

    Example:
        >>> vectors = WordVectors(elmo.embedding, elmo.encoder)
        >>> vectors(["a", "word", "a"]).shape
        (3, 16)
    """

    def __init__(self, embedding, encoder, capacity=1 << 16):
        self.embedding = embedding
        self.encoder = encoder
        self.capacity = capacity
        self.table = np.empty((capacity, embedding.output_dim), dtype=np.float32)
        self._rows = {}
        self._embed = _compiled(embedding)
        self.boundaries = self._vectors(np.array(encoder.boundary_ids, dtype=np.int32))

    def __call__(self, words):
        """The vectors of a list of str, float32 of shape (len(words), P)."""
        vectors, numbers = self.distinct(words)
        return vectors[numbers]

    def distinct(self, words):
        """The vectors of the different ones of a list of str, and which of them stands where.

        Returns:
            (types, P) float32, and (len(words),) int64.
        """
        types = {word: number for number, word in enumerate(dict.fromkeys(words))}
        new = [word for word in types if word not in self._rows]
        if len(self._rows) + len(new) > self.capacity:
            self.clear()
            new = list(types)
            if len(new) > len(self.table):
                self.table = np.empty((len(new), self.table.shape[1]), dtype=np.float32)
        if new:
            first = len(self._rows)
            self.table[first : first + len(new)] = self._vectors(self.encoder.encode_words(new))
            self._rows.update(zip(new, range(first, first + len(new)), strict=True))
        rows = np.fromiter(map(self._rows.__getitem__, types), np.int64, len(types))
        return self.table[rows], np.fromiter(map(types.__getitem__, words), np.int64, len(words))

    def clear(self):
        """Empties the table."""
        self._rows.clear()

    def _vectors(self, ids):
        lengths = np.count_nonzero(ids != self.encoder.pad_id, axis=1)
        order = np.argsort(-lengths, kind="stable")
        vectors = np.empty((len(ids), self.table.shape[1]), dtype=np.float32)
        first = 0
        while first < len(ids):
            left = len(ids) - first
            rows = next((rows for rows in ROWS if rows <= left), ROWS[-1])
            chosen = order[first : first + rows]
            padded = np.resize(ids[chosen], (rows, ids.shape[1]))
            padded = padded[:, : self._width(lengths[chosen[0]], ids.shape[1])]
            vectors[chosen] = ops.convert_to_numpy(self._embed(padded))[: len(chosen)]
            first += rows
        return vectors

    def _width(self, longest, full):
        needed = longest + self.embedding.max_width
        return next((width for width in CHARACTERS if needed <= width < full), full)


def _compiled(embedding):
    """The embedding layer as a function of ids, with what it looks up made once."""
    looked_up = isinstance(embedding, CharCNNEmbedding)
    tables = embedding.window_tables() if looked_up else []
    if not tables or not all(map(backend.on_processor, tables)):
        return backend.jit(lambda ids: ops.cast(embedding(ids), "float32"), embedding, frozen=True)

    def run(ids, *tables):
        return ops.cast(embedding(ids, tables=tables), "float32")

    embed = backend.jit(run, embedding, frozen=True)
    return lambda ids: embed(ids, *tables)
