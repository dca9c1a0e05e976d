"""Batches of a language model: every row reads its own stream of sentences, window by window."""

from dataclasses import dataclass

import numpy as np

from keras_elmo.text.character_encoder import CharacterEncoder
from keras_elmo.text.characters import BOS
from keras_elmo.text.characters import EOS
from keras_elmo.text.characters import MAX_WORD_LENGTH
from keras_elmo.training.corpus import SentenceStream

MAX_TYPES = 1 << 20  # word types whose character ids are kept, about 250 MB
# Words are trimmed to the narrowest width that changes no number. The words of a width are filled
# up to a multiple of the second number, so that few shapes, and so few programs, come up.
WIDTHS = {16: 128, 24: 64, MAX_WORD_LENGTH: 16}


class Windows:
    """Windows of `unroll` tokens from a corpus, filled as the original trainer fills them.

    A row takes sentences from the one stream until its window is full; what is left of the last
    one opens its next window. The forward inputs of a sentence are `<S> w1 .. wn` with targets
    `w1 .. wn </S>`; the backward inputs are `</S> wn .. w1` with targets `wn .. w1 <S>`.
    A last batch that cannot be filled is dropped, unless `complete` asks for it.

    Args:
        corpus: `Corpus`.
        vocabulary: `Vocabulary` of the targets.
        batch_size: int, rows.
        unroll: int, tokens a window.
        seed: int to shuffle, or `None` to keep the order of the files.
        repeat: whether to go on with the next pass when the corpus ends.
        widest_filter: int, widest convolution of the character CNN: so much padding stays where
            words are trimmed, which then changes no number.
        position: dict as `position` gave it, to go on from there.
        complete: whether the end of the corpus gives batches too, with empty places in them.
        encoder: of the model, what turns words into the ids it reads; `None`: `CharacterEncoder`.

    Yields:
        A dict of int32 arrays: `char_ids_16`, `char_ids_24`, `char_ids_50` (words, width), the
        distinct words of the batch by length, filled up with zeros (other widths with another
        encoder); `forward`, `backward`
        (batch, unroll), places in the three together; `forward_targets`, `backward_targets`
        (batch, unroll), vocabulary ids; with `complete` also `mask` (batch, unroll) bool.

    Example:
        >>> windows = Windows(corpus, vocabulary, batch_size=32, unroll=20, seed=1)
        >>> batch = next(windows)
        >>> position = windows.position  # plain lists, str and int
    """

    def __init__(
        self,
        corpus,
        vocabulary,
        batch_size=128,
        unroll=20,
        seed=None,
        repeat=False,
        widest_filter=7,
        position=None,
        complete=False,
        encoder=None,
    ):
        position = position or {"stream": [0, 0, 0], "rows": [[0, ""]] * batch_size}
        self._stream = SentenceStream(corpus, seed, repeat, position["stream"])
        self._types = _WordTypes(vocabulary, encoder or CharacterEncoder(), widest_filter)
        self._unroll, self._complete = unroll, complete
        self._rows = [_Row(offset, sentence.split()) for offset, sentence in position["rows"]]
        self._encode_rows()

    @property
    def position(self):
        """Where the next batch starts, as JSON holds it: the stream's place, and the rows'."""
        rows = [[row.offset, " ".join(row.words)] for row in self._rows]
        return {"stream": self._stream.position, "rows": rows}

    def __iter__(self):
        return self

    def __next__(self):
        if len(self._types) > MAX_TYPES:
            self._types.clear()
            self._encode_rows()
        # (forward and backward, batch, unroll), as word types
        inputs, targets = np.zeros((2, 2, len(self._rows), self._unroll), np.int32)
        lengths = [self._fill(row, inputs[:, i], targets[:, i]) for i, row in enumerate(self._rows)]
        if min(lengths) < self._unroll and not (self._complete and max(lengths)):
            raise StopIteration
        char_ids, places = self._types.distinct(inputs)
        forward_targets, backward_targets = self._types.target_ids(targets)
        batch = {
            **char_ids,
            "forward": places[0],
            "backward": places[1],
            "forward_targets": forward_targets,
            "backward_targets": backward_targets,
        }
        if self._complete:
            batch["mask"] = np.arange(self._unroll) < np.array(lengths)[:, None]
        return batch

    def _fill(self, row, inputs, targets):
        done = 0
        while done < self._unroll:
            if row.left <= 0:
                row.offset, row.words = 0, next(self._stream, [])
                if not row.words:
                    break
                row.sequences = self._types.encode(row.words)
            end = min(done + row.left, self._unroll)
            start, stop = row.offset, row.offset + end - done
            inputs[:, done:end] = row.sequences[:, start:stop]
            targets[:, done:end] = row.sequences[:, start + 1 : stop + 1]
            row.offset, done = stop, end
        return done

    def _encode_rows(self):
        for row in self._rows:
            row.sequences = self._types.encode(row.words)


@dataclass
class _Row:
    offset: int  # predictions already made from the sentence
    words: list
    sequences: np.ndarray = None  # (forward and backward, words + 2)

    @property
    def left(self):
        return len(self.words) + 1 - self.offset if self.words else 0


class _WordTypes(dict):
    """Every word seen so far: its number, character ids, length and target id."""

    def __init__(self, vocabulary, encoder, widest_filter):
        super().__init__()
        self._vocabulary, self._encoder = vocabulary, encoder
        longest = encoder.max_word_length
        trimmed = {width: step for width, step in WIDTHS.items() if width < longest}
        self._widths = {**trimmed, longest: 16 if trimmed else 128}
        # Longest words of each width: one window must hold padding alone, as in the full width.
        self._limits = [width - widest_filter for width in trimmed]
        self._reset()

    def _reset(self):
        self._new = []
        self._char_ids = np.empty((0, self._encoder.max_word_length), np.int32)
        self._lengths = np.empty(0, np.int32)
        self._targets = np.empty(0, np.int32)

    def __missing__(self, word):
        self._new.append(word)
        number = self[word] = len(self)
        return number

    def clear(self):
        super().clear()
        self._reset()

    def encode(self, words):
        sequence = [self[BOS], *map(self.__getitem__, words), self[EOS]]
        return np.array([sequence, sequence[::-1]], np.int32)

    def target_ids(self, types):
        self._update()
        return self._targets[types]

    def distinct(self, types):
        """Character ids of the distinct types, by width, and the places of all types in them."""
        self._update()
        unique, first, inverse = np.unique(types, return_index=True, return_inverse=True)
        narrowest = np.searchsorted(self._limits, self._lengths[unique])
        places, start, groups = np.empty(len(unique), np.int32), 0, {}
        for number, (width, step) in enumerate(self._widths.items()):
            members = np.flatnonzero(narrowest == number)
            # In the order they appear: the same whatever came before this batch.
            members = members[np.argsort(first[members])]
            char_ids = np.zeros((round_up(max(len(members), 1), step), width), np.int32)
            char_ids[: len(members)] = self._char_ids[unique[members], :width]
            places[members] = start + np.arange(len(members))
            groups[f"char_ids_{width}"], start = char_ids, start + len(char_ids)
        return groups, places[inverse].reshape(types.shape)

    def _update(self):
        if not self._new:
            return
        size = len(self)
        if size > len(self._targets):  # grow by doubling
            self._char_ids = _grown(self._char_ids, 2 * size)
            self._lengths = _grown(self._lengths, 2 * size)
            self._targets = _grown(self._targets, 2 * size)
        start = size - len(self._new)
        char_ids = self._encoder.encode_words(self._new)
        self._char_ids[start:size] = char_ids
        self._lengths[start:size] = np.count_nonzero(char_ids != self._encoder.pad_id, axis=1)
        self._targets[start:size] = self._vocabulary.encode(self._new)
        self._new = []


def round_up(number, step):
    """The smallest multiple of `step` that is not below `number`."""
    return -(-number // step) * step


def _grown(array, size):
    grown = np.empty((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
