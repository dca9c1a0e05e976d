"""The words a language model predicts, in the format of the published vocabularies."""

from collections import Counter
from itertools import chain

import numpy as np

from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced
from keras_elmo.text.characters import BOS
from keras_elmo.text.characters import EOS

UNK = "<UNK>"


class Vocabulary:
    """Words and their ids: `<S>`, `</S>`, `<UNK>`, then by falling frequency.

    The sampler of the softmax draws small ids more often, so the order matters. A file holds one
    word a line; the line is the id. Where a file names a word twice the last line counts, as in
    the original trainer, and both lines keep their id.

    Args:
        words: list of str with `<S>`, `</S>` and `<UNK>` among them.
        source: str, where the words come from, for error messages.

    Raises:
        ElmoError: if one of the three markers is missing.

    Example:
        >>> vocabulary = Vocabulary.build([["b", "b", "b", "a", "a", "c"]])
        >>> vocabulary.words
        ['<S>', '</S>', '<UNK>', 'b', 'a', 'c']
        >>> vocabulary.encode(["a", "z"])
        array([4, 2], dtype=int32)
    """

    def __init__(self, words, source="vocabulary"):
        self.words = list(words)
        self._ids = {word: i for i, word in enumerate(self.words)}
        missing = [marker for marker in (BOS, EOS, UNK) if marker not in self._ids]
        if missing:
            raise ElmoError(
                f"{source}: the marker {missing[0]} is missing; a vocabulary needs the lines "
                f"{BOS}, {EOS} and {UNK}."
            )
        self.bos, self.eos, self.unk = (self._ids[marker] for marker in (BOS, EOS, UNK))

    @classmethod
    def build(cls, sentences, min_count=1, max_size=None):
        """Counts words and keeps the frequent ones; equal counts are ordered by the word.

        Args:
            sentences: iterable of lists of str.
            min_count: int, rarer words are left out.
            max_size: int, words kept at most, the three markers included.

        Returns:
            A `Vocabulary`.
        """
        counts = Counter(chain.from_iterable(sentences))
        for marker in (BOS, EOS, UNK):
            counts.pop(marker, None)
        kept = [word for word, count in counts.items() if count >= min_count]
        kept.sort(key=lambda word: (-counts[word], word))
        return cls([BOS, EOS, UNK, *kept][:max_size])

    @classmethod
    def read(cls, path):
        """Reads a vocabulary file: UTF-8, a word a line; CRLF and a byte-order mark are fine.

        Args:
            path: str or path.

        Returns:
            A `Vocabulary`.

        Raises:
            ElmoError: if a line is blank or not UTF-8, or a marker is missing.
        """
        words = []
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    word = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise ElmoError(f"{path}, line {number}: not valid UTF-8 ({error}).") from None
                if not word.strip():
                    raise ElmoError(f"{path}, line {number}: blank; a line must hold one word.")
                words.append(word)
        return cls(words, source=path)

    def write(self, path):
        """Writes the vocabulary file; it appears under its name only when it is whole."""
        text = "".join(f"{word}\n" for word in self.words)
        with replaced(path) as temporary:
            temporary.write_bytes(text.encode("utf-8"))

    def encode(self, tokens):
        """Ids of the tokens, int32; words outside the vocabulary get the id of `<UNK>`."""
        get, unk = self._ids.get, self.unk
        return np.fromiter((get(token, unk) for token in tokens), np.int32)

    def __len__(self):
        return len(self.words)

    def __contains__(self, word):
        return word in self._ids
