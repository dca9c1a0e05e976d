"""Sentences from files: text, a sentence a line, and CoNLL-U; plain or .gz, or standard input."""

import contextlib
import gzip
import sys
from pathlib import Path

from keras_elmo.embedding.journal import Sentence
from keras_elmo.errors import ElmoError
from keras_elmo.files import GZIP_ERRORS

STANDARD_INPUT = "-"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SentenceFile:
    """The sentences of a file, one after the other.

    CoNLL-U (by the name, `.conllu` or `.conllu.gz`): the words of each sentence; multiword tokens
    and empty nodes are left out. Any other file: a sentence a line.

    Args:
        path: str or path of the file; `-`: standard input.
        tokenizer: function from str to a list of str, for lines of text.
        allow_empty: bool, whether a line may hold no token.

    Attributes:
        size: bytes of the file, `None` for standard input.
        tokens: tokens that have been read.

    Raises:
        ElmoError: where the file is not UTF-8, a line is blank or not CoNLL-U, with its number.

    Example:
        >>> [sentence.tokens for sentence in SentenceFile("text.txt", str.split)]
        [['Hello', 'world']]
    """

    def __init__(self, path, tokenizer, allow_empty=False):
        self.name = "standard input" if str(path) == STANDARD_INPUT else str(path)
        self.path = None if str(path) == STANDARD_INPUT else Path(path)
        self.tokenizer = tokenizer
        self.allow_empty = allow_empty
        self.size = self.path.stat().st_size if self.path else None
        self.tokens = 0
        self._file = None

    def position(self):
        """Bytes of the file that have been read."""
        if self._file is None:
            return 0
        return self.size if self._file.closed else self._file.tell()

    def __iter__(self):
        suffixes = self.path.suffixes[-2:] if self.path else []
        conllu = [suffix for suffix in suffixes if suffix != ".gz"][-1:] == [".conllu"]
        for sentence in self._conllu() if conllu else self._text():
            self.tokens += len(sentence.tokens)
            yield sentence

    def _text(self):
        for number, line in self._lines():
            text = line.strip()
            tokens = self.tokenizer(text)
            if not tokens and not self.allow_empty:
                raise self._error(number, "no token in this line; remove it, or use --allow-empty")
            yield Sentence(text, tokens)

    def _conllu(self):
        tokens = []
        for number, line in self._lines():
            if line and not line.startswith("#"):
                columns = line.split("\t")
                if len(columns) != 10:
                    raise self._error(number, f"CoNLL-U has 10 columns, here are {len(columns)}")
                if columns[0].isdigit():
                    tokens.append(columns[1])
                elif not columns[0].replace("-", "").replace(".", "").isdigit():
                    raise self._error(number, f"{columns[0]!r} is not the number of a word")
            elif not line and tokens:
                yield Sentence(" ".join(tokens), tokens)
                tokens = []
        if tokens:
            yield Sentence(" ".join(tokens), tokens)

    def _lines(self):
        """Pairs of a line's number and its text without the end of the line."""
        with self._open() as lines:
            number = 0
            try:
                for number, line in enumerate(lines, start=1):
                    line = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
                    yield number, line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise self._error(
                    number,
                    f"not UTF-8 (byte 0x{error.object[error.start]:02x} in column "
                    f"{error.start + 1}); convert the file to UTF-8",
                ) from error
            except GZIP_ERRORS as error:
                raise self._error(number + 1, f"broken .gz file ({error})") from error

    @contextlib.contextmanager
    def _open(self):
        if self.path is None:
            yield sys.stdin.buffer
            return
        with self.path.open("rb") as self._file:
            if self.path.suffix == ".gz":
                with gzip.open(self._file) as lines:
                    yield lines
            else:
                yield self._file

    def _error(self, number, message):
        return ElmoError(f"{self.name}, line {number}: {message}")
