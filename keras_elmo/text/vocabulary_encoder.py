"""Words to ids by a vocabulary of words, of characters, or both."""

from pathlib import Path

import keras
import numpy as np

from keras_elmo.errors import ElmoError
from keras_elmo.text.characters import BOS
from keras_elmo.text.characters import EOS
from keras_elmo.text.characters import not_text
from keras_elmo.text.characters import tokens_of

PAD = "<pad>"
# ELMoForManyLangs was trained with these two the wrong way round.
BEGIN_WORD = "<eow>"
END_WORD = "<bow>"


@keras.saving.register_keras_serializable(package="keras_elmo")
class VocabularyEncoder:
    """Words to rows of ids: the word's own, its characters', or both.

        row = [word + 1, begin + 1, code points + 1, end + 1, padding + 1, ...]

    0 is left for "no token here". Unknown words and characters have the id of the third marker.
    With `max_characters` a word is cut to that many code points less two, before it is looked up.

    Args:
        words: list of str, the vocabulary by id; `None`: no ids of words.
        characters: list of str, the characters by id with `<pad>`, `<bow>`, `<eow>` and the
            markers among them; `None`: no ids of characters.
        max_characters: int, ids of characters a word; `None`: words of any length.
        markers: the entries of begin and end of sentence, and of what is unknown.
        boundary_ids: rows of begin and end of sentence; `None`: looked up.

    Raises:
        ElmoError: if a marker is missing.

    Example:
        >>> VocabularyEncoder(words=["<S>", "</S>", "<UNK>", "cat"]).encode_words(["cat", "dog"])
        array([[4], [3]], dtype=int32)

    Reference:
        Che et al. (2018), Towards better UD parsing, section 3 (words and characters).
    """

    def __init__(
        self,
        words=None,
        characters=None,
        max_characters=None,
        markers=(BOS, EOS, "<UNK>"),
        boundary_ids=None,
    ):
        self.max_characters = max_characters
        self.markers = list(markers)
        self.max_word_length = (words is not None) + (characters is not None and max_characters)
        self._set(words, characters)
        if boundary_ids is None:
            boundary_ids = [self._row(marker) for marker in self.markers[:2]]
        self.boundary_ids = [list(row) for row in boundary_ids]

    def _set(self, words, characters):
        self.words, self.characters = words, characters
        begin, end, unknown = self.markers
        self._words = _ids("words", words, [unknown])
        needed = [begin, end, unknown, PAD, BEGIN_WORD, END_WORD]
        self._characters = _ids("characters", characters, needed)

    @property
    def assets(self):
        """The names of the files that hold the vocabularies."""
        vocabularies = {"words": self.words, "characters": self.characters}
        return [f"{name}.txt" for name, entries in vocabularies.items() if entries is not None]

    @property
    def pad_id(self):
        """What fills a row behind the word; `None` without characters."""
        return self._characters[PAD] if self._characters else None

    def encode_words(self, words):
        """Ids of a list of words, int32 of shape (len(words), max_word_length)."""
        rows = [self._row(word) for word in tokens_of(words)]
        return np.array(rows, dtype=np.int32).reshape(len(rows), self.max_word_length)

    def encode_batch(self, sentences):
        """Ids of lists of words, int32 of shape (batch, longest, max_word_length), padded by 0."""
        sentences = [tokens_of(sentence) for sentence in not_text(sentences, "sentences")]
        longest = max(map(len, sentences), default=0)
        ids = np.zeros((len(sentences), longest, self.max_word_length), dtype=np.int32)
        for row, sentence in zip(ids, sentences, strict=True):
            row[: len(sentence)] = self.encode_words(sentence)
        return ids

    def _row(self, word):
        begin, end, unknown = self.markers
        if self.max_characters is not None:
            word = word[: self.max_characters - 2]
        row = []
        if self._words is not None:
            row.append(self._words.get(word, self._words[unknown]))
        if self._characters is not None:
            ids = self._characters
            spelled = [word] if word in (begin, end) else word
            row += [ids[BEGIN_WORD], *(ids.get(c, ids[unknown]) for c in spelled), ids[END_WORD]]
            row += [ids[PAD]] * (self.max_word_length - len(row))
        return row

    def get_config(self):
        # The vocabularies are files of their own; an empty list stands for one.
        return {
            "words": None if self.words is None else [],
            "characters": None if self.characters is None else [],
            "max_characters": self.max_characters,
            "markers": self.markers,
            "boundary_ids": self.boundary_ids,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def save_assets(self, folder):
        """Writes each vocabulary into a text file: an entry a line, the line is its id."""
        for name, entries in (("words", self.words), ("characters", self.characters)):
            if entries is not None:
                Path(folder).mkdir(parents=True, exist_ok=True)
                text = "".join(f"{entry}\n" for entry in entries)
                (Path(folder) / f"{name}.txt").write_text(text, encoding="utf-8", newline="\n")

    def load_assets(self, folder):
        """Reads the files of `save_assets`."""
        names = {"words": self.words, "characters": self.characters}
        self._set(
            *(
                None if entries is None else _read(Path(folder) / f"{name}.txt")
                for name, entries in names.items()
            )
        )


def _ids(kind, entries, needed):
    if not entries:  # absent, or to come by `load_assets`
        return None
    ids = {entry: number + 1 for number, entry in enumerate(entries)}
    missing = [entry for entry in needed if entry not in ids]
    if missing:
        raise ElmoError(f"the vocabulary of {kind} has no entry {missing[0]}")
    return ids


def _read(path):
    try:
        return path.read_bytes().decode("utf-8").split("\n")[:-1]
    except FileNotFoundError:
        raise ElmoError(f"{path}: no such file; the model is not complete") from None
    except UnicodeDecodeError as error:
        raise ElmoError(f"{path}: not UTF-8 text ({error})") from None
