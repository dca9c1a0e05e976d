"""Vocabulary files: a word a line, compressed or not, in an archive or not."""

import gzip
import io
import os
import zlib
from pathlib import Path

from keras_elmo.convert.archive import INFLATION
from keras_elmo.convert.archive import SMALL
from keras_elmo.errors import ElmoError

VOCABULARIES = ("vocabulary.txt", "vocab.txt", "vocabulary.txt.gz", "vocab.txt.gz")


def vocabulary_in(folder):
    """The path of the vocabulary in a folder, or beside it; `None` without one."""
    places = [place / name for place in (folder, folder.parent) for name in VOCABULARIES]
    return next((path for path in places if path.is_file()), None)


def read_lines(path):
    """The lines of a text file.

    Args:
        path: of the file, or `zipfile.Path`; a name that ends in .gz says that it is compressed.

    Returns:
        A list of str.

    Raises:
        ElmoError: if it is missing, broken, a decompression bomb, or not UTF-8.

    Example:
        >>> read_lines("vocab.txt.gz")[:3]
        ['<S>', '</S>', '<UNK>']
    """
    path = Path(path) if isinstance(path, (str, os.PathLike)) else path
    try:
        data = path.read_bytes()
        if path.name.endswith(".gz"):
            data = _unpacked(path, data)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except ElmoError:
        raise
    except (FileNotFoundError, IsADirectoryError, KeyError):
        raise ElmoError(f"{path}: no such file; the model is not complete") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ElmoError(f"{path}: not a text of one word a line ({error})") from None
    return text.removesuffix("\n").split("\n")


def _unpacked(path, data):
    limit = SMALL + INFLATION * len(data)
    with gzip.open(io.BytesIO(data)) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ElmoError(f"{path}: unpacks to more than {limit} bytes; refused as a bomb")
    return data
