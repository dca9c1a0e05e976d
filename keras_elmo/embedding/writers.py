"""Files of vectors: HDF5, Parquet, NPZ."""

import json
import zipfile
from importlib.util import find_spec
from itertools import chain

import h5py
import numpy as np

from keras_elmo.errors import ElmoError

GROUP_BYTES = 1 << 25  # of vectors in a Parquet row group


def write_hdf5(path, records, compression=False):
    """AllenNLP's file: datasets "0", "1", ..., and `sentence_to_index`, JSON from text to name.

    Args:
        path: the file to write.
        records: iterable of pairs of a `Sentence` and an array.
        compression: bool, whether to compress (gzip with byte shuffling).
    """
    index = {}
    with h5py.File(path, "w") as file:
        for number, (sentence, vectors) in enumerate(records):
            # A compressed dataset is cut into chunks, which can't be empty.
            filters = {"compression": "gzip", "shuffle": True} if vectors.size else {}
            file.create_dataset(str(number), data=vectors, **(filters if compression else {}))
            index[sentence.text] = str(number)
        file.create_dataset(
            "sentence_to_index", data=[json.dumps(index)], dtype=h5py.string_dtype()
        )


def write_npz(path, records, compression=False):
    """One array a sentence, "0", "1", ..., and `sentences`, the array of their texts.

    Args:
        path: the file to write.
        records: iterable of pairs of a `Sentence` and an array.
        compression: bool, whether to compress (deflate).
    """
    method = zipfile.ZIP_DEFLATED if compression else zipfile.ZIP_STORED
    texts = []
    with zipfile.ZipFile(path, "w") as file:

        def add(name, array):
            entry = zipfile.ZipInfo(f"{name}.npy")  # without the time, so equal input, equal file
            entry.compress_type = method
            with file.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)

        for number, (sentence, vectors) in enumerate(records):
            add(number, vectors)
            texts.append(sentence.text)
        add("sentences", np.array(texts, dtype=str))


def write_parquet(path, records, compression=False):
    """One row a sentence: `text`, `tokens`, `vectors` (flat) and `shape`.

    `np.reshape(row["vectors"], row["shape"])` is the array.

    Args:
        path: the file to write.
        records: iterable of pairs of a `Sentence` and an array.
        compression: bool, whether to compress (zstd).
    """
    import pyarrow
    from pyarrow import parquet

    groups = _groups(records)
    first = next(groups, [])
    dtype = first[0][1].dtype if first else np.dtype("float32")
    types = {
        "text": pyarrow.string(),
        "tokens": pyarrow.list_(pyarrow.string()),
        "vectors": pyarrow.list_(pyarrow.from_numpy_dtype(dtype)),
        "shape": pyarrow.list_(pyarrow.int32()),
    }
    schema = pyarrow.schema(types.items())
    with parquet.ParquetWriter(path, schema, compression="zstd" if compression else "none") as file:
        for group in chain([first], groups):
            columns = [
                [sentence.text for sentence, _ in group],
                [sentence.tokens for sentence, _ in group],
                [vectors.ravel() for _, vectors in group],
                [vectors.shape for _, vectors in group],
            ]
            arrays = map(pyarrow.array, columns, types.values())
            file.write_table(pyarrow.table(list(arrays), schema=schema))


def _groups(records):
    group, size = [], 0
    for sentence, vectors in records:
        group.append((sentence, vectors))
        size += vectors.nbytes
        if size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


WRITERS = {
    ".h5": write_hdf5,
    ".hdf5": write_hdf5,
    ".npz": write_npz,
    ".parquet": write_parquet,
}


def writer_for(path):
    """The function that writes the kind of file that the name of `path` says.

    Args:
        path: `pathlib.Path`.

    Returns:
        One of the functions of this module.

    Raises:
        ElmoError: if the name ends in none of the known endings, or a package is missing.
    """
    if path.suffix not in WRITERS:
        raise ElmoError(f"{path}: the name must end in one of {', '.join(WRITERS)}")
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise ElmoError(f'{path}: Parquet needs pyarrow: pip install "keras-elmo[parquet]"')
    return WRITERS[path.suffix]
