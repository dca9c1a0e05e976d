"""Results that survive the process: a file that is only appended to, read back after a kill."""

import json
from typing import NamedTuple

import numpy as np

from keras_elmo.errors import ElmoError


class Sentence(NamedTuple):
    """A sentence of the input: its text as it stands there, and its tokens."""

    text: str
    tokens: list


class Journal:
    """An append-only file of embedded sentences.

    A record, of the sentences that one window holds, is one line of JSON and the numbers of its
    arrays. A record that a killed process left incomplete is cut off when the file is opened, so
    whatever `records` gives is whole. The first line tells how the vectors were made.

    Args:
        path: `pathlib.Path` of the file; made where there is none.
        settings: dict of plain values, how the vectors are made.

    Raises:
        ElmoError: if the file was made with other settings.

    Example:
        >>> journal = Journal(Path("vectors.journal"), {"layers": "top"})
        >>> journal.append([Sentence("Hello", ["Hello"])], [np.zeros((1, 8), "float32")])
        >>> [sentence.text for sentence, vectors in journal.records()]
        ['Hello']
    """

    def __init__(self, path, settings):
        self.path = path
        settings = json.loads(json.dumps(settings))
        path.touch()
        with path.open("r+b") as file:
            found = _line(file)
            if found is None:
                file.seek(0)
                file.truncate()
                file.write(json.dumps(settings).encode() + b"\n")
            else:
                self._check(found, settings)
                file.truncate(max((end for _, end in self._heads()), default=file.tell()))

    def append(self, sentences, arrays):
        """Adds the sentences of one window, all or, if the process is killed, none.

        Args:
            sentences: list of `Sentence`.
            arrays: list of arrays, all of one dtype.
        """
        head = {
            "sentences": sentences,
            "shapes": [array.shape for array in arrays],
            "dtype": arrays[0].dtype.name,
        }
        with self.path.open("ab") as file:
            file.write(json.dumps(head).encode() + b"\n")
            for array in arrays:
                file.write(array.tobytes())

    def records(self):
        """All sentences with their arrays, in order.

        Yields:
            Pairs of a `Sentence` and an array.
        """
        with self.path.open("rb") as file:
            _line(file)
            while (head := _line(file)) is not None:
                dtype = np.dtype(head["dtype"])
                for sentence, shape in zip(head["sentences"], head["shapes"], strict=True):
                    data = file.read(_size(shape, dtype))
                    yield Sentence(*sentence), np.frombuffer(data, dtype).reshape(shape)

    def sentences(self):
        """All sentences, in order.

        Yields:
            Each `Sentence`.
        """
        for head, _ in self._heads():
            for sentence in head["sentences"]:
                yield Sentence(*sentence)

    def num_windows(self):
        """How many records there are."""
        return sum(1 for _ in self._heads())

    def _heads(self):
        """The head and the end of each record that is whole."""
        total = self.path.stat().st_size
        with self.path.open("rb") as file:
            _line(file)
            while (head := _line(file)) is not None:
                dtype = np.dtype(head["dtype"])
                end = file.tell() + sum(_size(shape, dtype) for shape in head["shapes"])
                if end > total:
                    return
                yield head, end
                file.seek(end)

    def _check(self, found, settings):
        for name in settings:
            if found.get(name) != settings[name]:
                raise ElmoError(
                    f"{self.path.parent}: begun with {name}={found.get(name)}, now "
                    f"{name}={settings[name]}; give what was given then, or --overwrite"
                )


def _size(shape, dtype):
    return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize


def _line(file):
    line = file.readline()
    return json.loads(line) if line.endswith(b"\n") else None
