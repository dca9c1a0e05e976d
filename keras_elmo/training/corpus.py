"""Text files of any size as sentences, in order or well mixed, with a position to come back to."""

import contextlib
import glob
import gzip
import os
import sys
from itertools import islice

import numpy as np

from keras_elmo.errors import ElmoError
from keras_elmo.files import GZIP_ERRORS

STANDARD_INPUT = "-"
BLOCK_SENTENCES = 1 << 17  # sentences shuffled together, about 25 MB of text
OPEN_FILES = 64  # files mixed into one block


class Corpus:
    """Sentences from text files, a sentence a line, its tokens divided by spaces.

    Blank lines are skipped; CRLF and a byte-order mark are fine.

    Args:
        sources: a path or a list of them: text files, `.gz`, or patterns (`data/*.txt.gz`); `-`:
            standard input, which can be read once.

    Raises:
        ElmoError: if a source names no file.

    Example:
        >>> corpus = Corpus(["train/*.txt.gz"])
        >>> next(iter(corpus))
        ['The', 'cat', 'sat', '.']
    """

    def __init__(self, sources):
        sources = [sources] if isinstance(sources, (str, os.PathLike)) else sources
        self.paths = [path for source in sources for path in _expand(os.fspath(source))]
        self._counts = None

    def __iter__(self):
        for path in self.paths:
            yield from map(str.split, read_lines(path))

    def counts(self):
        """Sentences and words of each file, as a list of pairs; read from the data once."""
        if self._counts is None:
            self._counts = [_count(path) for path in self.paths]
        return self._counts

    def num_sentences(self):
        return sum(sentences for sentences, _ in self.counts())

    def num_predictions(self):
        """Predictions a direction in one pass: every word and every sentence's end."""
        return sum(sentences + words for sentences, words in self.counts())

    def blocks(self, epoch=0, seed=None):
        """What one pass over the corpus reads, block by block.

        Without a seed: the files in their order. With one: the files are shuffled, and every
        block takes an equal share of each of the (at most 64) files it is mixed from, so that
        the mixture is the same from the first to the last block.

        Args:
            epoch: int, the pass; each has its own order.
            seed: int, or `None` for the order of the files.

        Returns:
            A list of blocks; a block is a list of `(path, first sentence, end)`.
        """
        shards = [(path, count) for path, (count, _) in zip(self.paths, self.counts(), strict=True)]
        width = 1
        if seed is not None:
            order = np.random.default_rng([seed, epoch]).permutation(len(shards))
            shards = [shards[i] for i in order]
            width = OPEN_FILES
        groups = [shards[i : i + width] for i in range(0, len(shards), width)]
        return [block for group in groups for block in _divide(group)]


class SentenceStream:
    """Sentences in training order, pass after pass, from any position on.

    Args:
        corpus: `Corpus`.
        seed: int to shuffle the files, and the sentences inside every block; `None`: in order.
        repeat: whether a new pass begins where one ends.
        position: list `[epoch, block, sentence]` as `position` gave it.

    Example:
        >>> stream = SentenceStream(Corpus("train.txt"), seed=1)
        >>> next(stream), stream.position
        (['A', 'cat', '.'], [0, 0, 1])
    """

    def __init__(self, corpus, seed=None, repeat=False, position=(0, 0, 0)):
        self._corpus, self._seed, self._repeat = corpus, seed, repeat
        self._epoch, self._block, self._offset = position
        self._blocks = corpus.blocks(self._epoch, seed)
        self._open = {}  # path -> (next sentence, iterator)
        self._sentences = self._load()

    @property
    def position(self):
        """Where the next sentence comes from, as plain integers."""
        return [self._epoch, self._block, self._offset]

    def __iter__(self):
        return self

    def __next__(self):
        while self._offset >= len(self._sentences):
            self._advance()
        self._offset += 1
        return self._sentences[self._offset - 1].split()

    def _advance(self):
        if self._block + 1 < len(self._blocks):
            self._block += 1
        elif self._repeat and self._blocks:
            self._epoch, self._block = self._epoch + 1, 0
            self._blocks = self._corpus.blocks(self._epoch, self._seed)
        else:
            raise StopIteration
        self._offset = 0
        self._sentences = self._load()

    def _load(self):
        if not self._blocks:
            return []
        block = self._blocks[self._block]
        sentences = [line for part in block for line in self._read(*part)]
        for path in set(self._open) - {path for path, _, _ in block}:
            del self._open[path]
        if self._seed is not None:
            rng = np.random.default_rng([self._seed, self._epoch, self._block])
            sentences = [sentences[i] for i in rng.permutation(len(sentences))]
        return sentences

    def _read(self, path, start, end):
        position, iterator = self._open.pop(path, (0, None))
        if iterator is None or position > start:
            position, iterator = 0, read_lines(path)
        part = list(islice(iterator, start - position, end - position))
        if len(part) < end - start:
            raise ElmoError(f"{path}: the file has become shorter since it was counted.")
        self._open[path] = (end, iterator)
        return part


def read_lines(path):
    """The lines of a UTF-8 text file that are not blank; `.gz` is unpacked.

    Raises:
        ElmoError: if a line is not UTF-8, or a compressed file is damaged.
    """
    number = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield text
    except UnicodeDecodeError as error:
        raise ElmoError(f"{path}, line {number}: not valid UTF-8 ({error}).") from None
    except GZIP_ERRORS as error:
        raise ElmoError(f"{path}: damaged or incomplete .gz file ({error}).") from None


def _open(path):
    if path == STANDARD_INPUT:
        return contextlib.nullcontext(sys.stdin.buffer)
    return (gzip.open if path.endswith(".gz") else open)(path, "rb")


def _expand(source):
    if os.path.isfile(source) or source == STANDARD_INPUT:
        return [source]
    paths = sorted(path for path in glob.glob(source, recursive=True) if os.path.isfile(path))
    if not paths:
        raise ElmoError(f"{source}: no such file, and no file matches it as a pattern.")
    return paths


def _count(path):
    sentences = words = 0
    for line in read_lines(path):
        sentences += 1
        words += len(line.split())
    return sentences, words


def _divide(shards):
    total = sum(count for _, count in shards)
    parts = -(-total // BLOCK_SENTENCES)
    for i in range(parts):
        block = [(path, n * i // parts, n * (i + 1) // parts) for path, n in shards]
        yield [(path, start, end) for path, start, end in block if start < end]
