"""Cached vectors of words, which stand in for the characters of a model.

bilm-tf keeps them in an HDF5 file, AllenNLP as lines of a word and its numbers (.txt.gz).
"""

import gzip
import os

import h5py
import keras
import numpy as np

from keras_elmo.convert.hdf5_tensors import read_hdf5
from keras_elmo.convert.word_list import read_lines
from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced

DATASET = "embedding"
TEXT = (".txt", ".txt.gz")


def save(elmo, vocabulary, embeddings, batch_size=256):
    """Writes the vector of every word of a vocabulary.

    Args:
        elmo: an `Elmo`.
        vocabulary: path of the vocabulary, one word a line.
        embeddings: path of the file to write. HDF5, with one dataset `embedding` (words, P), as
            bilm-tf's token mode reads it; or, if it ends in .txt or .txt.gz, lines of a word and
            its numbers, as AllenNLP's tool writes them.
        batch_size: int, words a call.

    Raises:
        ElmoError: if the vocabulary cannot be read.

    Example:
        >>> token_embeddings.save(keras_elmo.load(), "vocab.txt", "embeddings.hdf5")
    """
    words = read_lines(vocabulary)
    starts = range(0, len(words), batch_size)
    batches = [words[start : start + batch_size] for start in starts]
    encoded = map(elmo.encoder.encode_words, batches)
    vectors = (keras.ops.convert_to_numpy(elmo.embedding(ids)) for ids in encoded)
    with replaced(embeddings) as temporary:
        if os.fspath(embeddings).endswith(TEXT):
            _write_text(temporary, zip(batches, vectors, strict=True))
            return
        with h5py.File(temporary, "w") as file:
            shape = (len(words), elmo.embedding.output_dim)
            rows = file.create_dataset(DATASET, shape, dtype="float32")
            for start, part in zip(starts, vectors, strict=True):
                rows[start : start + batch_size] = part


def read(path, words, size):
    """Reads the vectors of a vocabulary.

    Args:
        path: of a file in either form.
        words: list of str, the vocabulary.
        size: int, numbers a vector.

    Returns:
        The array of the file, (words, size) if it is a text; its values are not checked here.

    Raises:
        ElmoError: if the file is broken, or holds the vectors of other words.

    Example:
        >>> token_embeddings.read("embeddings.hdf5", words, 512).shape
        (800000, 512)
    """
    if not os.fspath(path).endswith(TEXT):
        tensors = read_hdf5(path)
        if DATASET not in tensors:
            raise ElmoError(f"{path}: has no dataset {DATASET}; no cached token embeddings")
        return tensors[DATASET]
    lines = read_lines(path)
    if len(lines) != len(words):
        raise ElmoError(f"{path}: has {len(lines)} lines for a vocabulary of {len(words)} words")
    rows = np.empty((len(words), size))
    for number, (line, word) in enumerate(zip(lines, words, strict=True)):
        found, *numbers = line.rsplit(" ", size)
        if found != word:
            raise ElmoError(f"{path}, line {number + 1}: {found!r:.60} where {word!r:.60} belongs")
        try:
            vector = np.array(numbers, dtype="float64")
        except ValueError:
            vector = ()
        if len(vector) != size:
            raise ElmoError(f"{path}, line {number + 1}: a word and {size} numbers were expected")
        rows[number] = vector
    return rows


def _write_text(path, batches):
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8", newline="\n") as file:
        for words, vectors in batches:
            for word, vector in zip(words, vectors, strict=True):
                file.write(f"{word} {' '.join(map(str, vector.tolist()))}\n")
