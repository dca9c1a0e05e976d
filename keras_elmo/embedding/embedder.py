"""Embedding any amount of text with an ELMo."""

from collections import deque
from itertools import chain
from itertools import islice
from threading import Lock

import numpy as np
from keras import ops

from keras_elmo import backend
from keras_elmo.embedding.packing import LONGEST
from keras_elmo.embedding.packing import pack
from keras_elmo.embedding.program import Program
from keras_elmo.embedding.words import WordVectors
from keras_elmo.text.characters import tokens_of
from keras_elmo.text.tokenizers import get_tokenizer

WINDOW = 4  # batches that sentences are sorted over
AHEAD = 2  # windows read before the results of one are given
CONCURRENT = 2  # batches that run at once: one multiplies while the other does the rest
FILLED = 0.98  # share of the positions of a window that packing can fill
LARGE = 2048  # units: with more, the matrices fit into no cache, and rows share reading them


class Embedder:
    """Embeds sentences by the biLM of a model: any number of them, in flat memory.

    Results come in the order of the sentences and do not depend on what else is embedded. Each
    word type goes through the character CNN once. Sentences are packed end to end into batches of
    one of a few shapes, each compiled once, and the next batches are prepared while one runs.

    A sentence of up to 512 tokens is one sequence; a longer one is read in windows of 512 that
    hand their state on, forward from its first to its last and backward from its last to its
    first. Both are exact. Where not even one result fits into memory, see `embed_document`.

    Boundaries are added for the biLM, and no vectors given for them. What is computed from the
    weights alone is kept, so make a new `Embedder` after the biLM was trained.

    Args:
        model: an `Elmo`.
        layers: which vectors: `"all"` layers, the `"top"` one, their `"average"`, the model's
            `"mix"`, or the number of a layer (0: the word vectors, doubled).
        tokenizer: for sentences given as str: `"whitespace"`, `"treebank"`, `"tensorflow-text"`
            or a function from str to a list of str. `None`: sentences must be lists of tokens.
        pool: bool, whether to give one vector a sentence, the mean over its tokens (zeros for an
            empty sentence).
        dtype: of the results: `"float32"` or `"float16"`.
        batch_tokens: int, tokens of a batch. `None`: 4,096; for a biLM of more than 2,048 units
            16,384, under PyTorch 8,192. Time changes little above that; memory grows.
        cached_words: int, word types whose vectors are kept.

    Raises:
        ElmoError: if the model cannot give these layers.

    Example:
        >>> embedder = Embedder(elmo, layers="top", tokenizer="whitespace")
        >>> [len(vectors) for vectors in embedder.embed(["Hello , world !", "Yes"])]
        [4, 1]

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 3.
    """

    def __init__(
        self,
        model,
        layers="all",
        tokenizer=None,
        pool=False,
        dtype="float32",
        batch_tokens=None,
        cached_words=1 << 16,
    ):
        self.layers = layers
        self.tokenizer = None if tokenizer is None else get_tokenizer(tokenizer)
        self.pool = pool
        self.dtype = np.dtype(dtype)
        if batch_tokens is None:
            batch_tokens = _batch_tokens(model.bilm.units)
        self.batch_tokens = batch_tokens
        self.num_layers = model.bilm.num_layers
        self._words = WordVectors(model.embedding, model.encoder, cached_words)
        self._words_lock = Lock()
        self._program = Program(model, layers, self._words.boundaries)

    def embed(self, sentences):
        """Embeds a collection of sentences.

        Args:
            sentences: iterable of lists of tokens (str, or objects with a str attribute `text`);
                with a `tokenizer` also of str.

        Returns:
            A list with one array a sentence: (L + 1, tokens, 2P) for `layers="all"`, else
            (tokens, 2P); with `pool` (L + 1, 2P) or (2P,).

        Raises:
            TypeError: if a str stands where a list of tokens belongs.

        Example:
            >>> Embedder(elmo).embed([["Hello", "world"], []])[1].shape
            (3, 0, 32)
        """
        return list(self.stream(sentences))

    def stream(self, sentences):
        """Embeds sentences one after the other, as `embed` does, but never holds all of them.

        It reads ahead by three windows of about 4 * `batch_tokens` tokens.

        Args:
            sentences: iterable of any length, as for `embed`.

        Returns:
            An iterator over arrays, in the order of the sentences.

        Example:
            >>> for vectors in Embedder(elmo).stream(line.split() for line in open("text.txt")):
            ...     print(vectors.shape)
            (3, 4, 32)
            (3, 5, 32)
        """
        return chain.from_iterable(self.windows(sentences))

    def windows(self, sentences, skip=0):
        """As `stream`, in lists of those sentences that are sorted and run together.

        Where a list ends depends only on the sentences before.

        Args:
            sentences: iterable of any length, as for `embed`.
            skip: int, how many lists to leave out. Only the word vectors of their words are
                computed, so that what follows is the same to the last bit.

        Yields:
            Lists of arrays.

        Example:
            >>> sum(map(len, Embedder(elmo).windows([["Hello"], ["world"]])))
            2
        """
        with backend.thread_pool(1) as preparing, backend.thread_pool(CONCURRENT) as running:
            ahead = deque()
            for number, window in enumerate(self._split(sentences)):
                if number < skip:
                    self._vectors(list(chain.from_iterable(window)))
                    continue
                ahead.append(preparing.submit(self._prepare, window, running))
                if len(ahead) > AHEAD:
                    yield self._collect(*ahead.popleft().result())
            while ahead:
                yield self._collect(*ahead.popleft().result())

    def embed_document(self, tokens, overlap=128):
        """Embeds one text of any length in windows of 512 tokens, in flat memory.

        The forward halves of the vectors are exact: each window goes on from the state that the
        one before left. The backward halves are approximate: a window can't wait for the end of
        the text, so it is read from `overlap` tokens behind its end, as if the text ended there.
        What a biLM remembers fades within a few dozen tokens. (`embed` of a single long sentence
        is exact in both directions.) `pool` does not apply.

        Args:
            tokens: iterable of str, or of objects with a str attribute `text`.
            overlap: int, tokens read behind each window.

        Yields:
            Arrays (L + 1, n, 2P) for `layers="all"`, else (n, 2P); n is 512, but for the last.

        Example:
            >>> words = (word for line in open("text.txt") for word in line.split())
            >>> for vectors in Embedder(elmo, layers="top").embed_document(words):
            ...     print(vectors.shape)
            (9, 32)
        """
        tokens = iter(tokens)
        buffer = tokens_of(islice(tokens, LONGEST + overlap))
        state = self._program.begin[0]
        while buffer:
            x = self._vectors(buffer)
            here = x[:LONGEST]
            forward, state = self._stretch(0, here, LONGEST, state)
            backward, _ = self._stretch(1, x, LONGEST + overlap, self._program.begin[1])
            halves = zip(forward, backward, strict=True)
            layers = [np.concatenate([f, b[: len(here)]], axis=-1) for f, b in halves]
            yield self._result(here, layers, pool=False)
            buffer = buffer[LONGEST:] + tokens_of(islice(tokens, LONGEST))

    def forget_words(self):
        """Empties the table of word vectors, which frees no memory but lets it start anew."""
        with self._words_lock:
            self._words.clear()

    def _tokens(self, sentence):
        if isinstance(sentence, str) and self.tokenizer is not None:
            return self.tokenizer(sentence)
        return tokens_of(sentence)

    def _split(self, sentences):
        limit = int(FILLED * WINDOW * self.batch_tokens)
        window, size = [], 0
        for sentence in map(self._tokens, _sentences(sentences)):
            size += max(1, len(sentence))
            if window and size > limit:
                yield window
                window, size = [], max(1, len(sentence))
            window.append(sentence)
        if window:
            yield window

    def _vectors(self, words):
        with self._words_lock:
            return self._words(words)

    def _prepare(self, window, running):
        """The vectors of the words of a window, its sentences as rows of them, and its batches."""
        with self._words_lock:
            vectors, numbers = self._words.distinct(list(chain.from_iterable(window)))
        lengths = [len(sentence) for sentence in window]
        sentences = np.split(numbers, np.cumsum(lengths)[:-1])
        packed = [n if n <= LONGEST else 0 for n in lengths]
        batches = [] if self.layers == 0 else pack(packed, self.batch_tokens)
        started = [(batch, self._start(running, batch, sentences, vectors)) for batch in batches]
        return vectors, sentences, started

    def _start(self, running, batch, sentences, vectors):
        x, places = batch.distinct(sentences, vectors)
        return running.submit(self._program.sentences, x, places, batch.firsts(), batch.lasts())

    def _collect(self, vectors, sentences, batches):
        results = [None] * len(sentences)
        for batch, outputs in batches:
            outputs = outputs.result()
            for number, row, positions in batch.spans():
                layers = [output[row, positions] for output in outputs]
                results[number] = self._result(vectors[sentences[number]], layers, self.pool)
        for number, rows in enumerate(sentences):
            if results[number] is None:
                x = vectors[rows]
                results[number] = self._result(x, self._long(x), self.pool)
        return results

    def _long(self, x):
        """The wanted layers of one sentence, window by window in each direction."""
        if self.layers == 0:
            return []
        count = self.num_layers if self.layers == "all" else 1
        layers = np.zeros((count, len(x), 2 * x.shape[1]), dtype=np.float32)
        for direction, half in enumerate(np.split(layers, 2, axis=-1)):
            state = self._program.begin[direction]
            for first in range(0, len(x), LONGEST)[:: -1 if direction else 1]:
                here = slice(first, first + LONGEST)
                outputs, state = self._stretch(direction, x[here], LONGEST, state)
                half[:, here] = outputs
        return list(layers)

    def _stretch(self, direction, x, width, state):
        padded = np.zeros((1, width, x.shape[1]), dtype=np.float32)
        padded[0, : len(x)] = x
        starts = np.zeros((1, width), dtype=bool)
        # The padding comes first when read backwards; the state must begin after it.
        starts[0, len(x) - 1] = direction == 1 and len(x) < width
        outputs, state = self._program.stretch(direction, padded, starts, state)
        return [ops.convert_to_numpy(output)[0, : len(x)] for output in outputs], state

    def _result(self, x, layers, pool):
        if self.layers in ("all", 0):
            layers = [np.concatenate([x, x], axis=-1), *layers]
        if pool:
            layers = [layer.sum(0) / max(1, len(layer)) for layer in layers]
        vectors = np.stack(layers, dtype=self.dtype)
        return vectors if self.layers == "all" else vectors[0]


def _sentences(sentences):
    if isinstance(sentences, str):
        raise TypeError(
            f"Expected a list of sentences, got the string {sentences[:40]!r}: put it into a list."
        )
    return sentences


def _batch_tokens(units):
    """How many tokens a batch has if nobody says."""
    if units <= LARGE:
        return 4096
    # Uncompiled operations hand their results on through memory, best through a cache.
    return 16384 if backend.is_compiled() else 8192
