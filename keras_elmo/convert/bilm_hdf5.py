"""The published format of AllenNLP and bilm-tf: options.json and weights.hdf5, both ways."""

import gzip
import json
import os
import zlib
from pathlib import Path

import h5py
import keras
import numpy as np

from keras_elmo.convert import published
from keras_elmo.convert.options import Options
from keras_elmo.convert.options import read_json
from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced

WEIGHTS = (".hdf5", ".h5")
OPTIONS = "options.json"
VOCABULARIES = ("vocabulary.txt", "vocab.txt", "vocabulary.txt.gz", "vocab.txt.gz")
INFLATION = 1000  # how much larger than its file a dataset may be, against decompression bombs


def load(options, weights, vocabulary=None, embeddings=None, **arguments):
    """Loads a pair of options and weights.

    Args:
        options: path of the JSON file, or its contents as a dict.
        weights: path of the HDF5 file.
        vocabulary: path of the vocabulary, for a model that reads words.
        embeddings: path of an HDF5 file with the vectors of these words, which then replace the
            characters; bilm-tf and `save_embeddings` write it.
        **arguments: `stateful`, `dtype`, and those of `Elmo`.

    Returns:
        An `Elmo` with the weights of the file.

    Raises:
        ElmoError: if a file cannot be read, an option is missing, or a tensor is missing, has
            another shape than the options say, is not finite or all zeros.

    Example:
        >>> elmo = bilm_hdf5.load("options.json", "weights.hdf5", num_representations=2)

    Reference:
        The files behind Peters et al. (2018), Deep contextualized word representations.
    """
    checked = read_options(options)
    tensors = read_hdf5(weights)
    _check_kind(weights, tensors)
    words = None if vocabulary is None else read_words(vocabulary)
    if embeddings is not None:
        checked = Options(checked.path, {"lstm": checked.contents["lstm"]})
        tensors["embedding"] = _read_embeddings(embeddings)
    return published.build(weights, checked, tensors, words, **arguments)


def load_files(files, **arguments):
    """Loads `(options, weights[, vocabulary[, embeddings]])`.

    Args:
        files: paths; the third for a model that reads words, the fourth for one whose character
            CNN is replaced by its cached vectors, see `token_embeddings`.
        **arguments: as for `load`.

    Returns:
        An `Elmo`.

    Raises:
        ElmoError: as for `load`.

    Example:
        >>> elmo = bilm_hdf5.load_files(["options.json", "weights.hdf5"])
    """
    if not 2 <= len(files) <= 4:
        raise ElmoError(f"a pair (options, weights) was expected, not {len(files)} files")
    return load(*files, **arguments)


def load_folder(folder, **arguments):
    """Loads the pair that lies in a folder, as in the archives of the NLPL repository.

    Args:
        folder: `Path` or `zipfile.Path` with options.json and one .hdf5 file of weights.
        **arguments: as for `load`.

    Returns:
        An `Elmo`.

    Raises:
        ElmoError: as for `load`, and if there is no such pair.

    Example:
        >>> elmo = bilm_hdf5.load_folder(Path("209"))
    """
    weights = [item for item in folder.iterdir() if item.name.endswith(WEIGHTS)]
    if len(weights) != 1:
        found = ", ".join(sorted(item.name for item in weights)) or "none"
        raise ElmoError(f"{folder}: one .hdf5 file of weights was expected, found {found}")
    options = read_options(folder / OPTIONS)
    vocabulary = None
    if "char_cnn" not in options.contents:
        vocabulary = vocabulary_in(folder)
        if vocabulary is None:
            raise ElmoError(f"{folder}: this model reads words; put its vocab.txt there")
    return load(folder / OPTIONS, weights[0], vocabulary, **arguments)


def save(elmo, options, weights, vocabulary=None):
    """Writes a model as options.json and weights.hdf5, as AllenNLP and simple_elmo read them.

    A model that was loaded from such a pair is written back bit for bit, with its own options.

    Args:
        elmo: an `Elmo` that reads the published characters, or words alone.
        options: path of the JSON file to write.
        weights: path of the HDF5 file to write.
        vocabulary: path of the vocabulary to write, for a model that reads words.

    Raises:
        ElmoError: if the model reads anything else, for which the format has no place.

    Example:
        >>> bilm_hdf5.save(keras_elmo.load(), "options.json", "weights.hdf5")
    """
    tensors, contents = published.tensors_of(elmo)
    with replaced(weights) as temporary, h5py.File(temporary, "w") as file:
        for name, array in tensors.items():
            file[name] = array
    with replaced(options) as temporary:
        temporary.write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")
    if vocabulary is not None:
        with replaced(vocabulary) as temporary:
            text = "".join(f"{word}\n" for word in elmo.encoder.words)
            temporary.write_text(text, encoding="utf-8", newline="\n")


def save_embeddings(elmo, vocabulary, embeddings, batch_size=256):
    """Writes the vector of every word of a vocabulary, as bilm-tf's token mode reads them.

    Args:
        elmo: an `Elmo`.
        vocabulary: path of the vocabulary, one word a line.
        embeddings: path of the HDF5 file to write, with one dataset `embedding` (words, P).
        batch_size: int, words a call.

    Raises:
        ElmoError: if the vocabulary cannot be read.

    Example:
        >>> bilm_hdf5.save_embeddings(keras_elmo.load(), "vocab.txt", "embeddings.hdf5")
    """
    words = read_words(vocabulary)
    with replaced(embeddings) as temporary, h5py.File(temporary, "w") as file:
        shape = (len(words), elmo.embedding.output_dim)
        rows = file.create_dataset("embedding", shape, dtype="float32")
        for start in range(0, len(words), batch_size):
            ids = elmo.encoder.encode_words(words[start : start + batch_size])
            rows[start : start + batch_size] = keras.ops.convert_to_numpy(elmo.embedding(ids))


def _read_embeddings(path):
    tensors = read_hdf5(path)
    if "embedding" not in tensors:
        raise ElmoError(f"{path}: has no dataset embedding; these are no cached token embeddings")
    return tensors["embedding"]


def read_options(options):
    """The `Options` in a file, or in a dict."""
    if isinstance(options, dict):
        return Options("options", options)
    path = _path(options)
    contents = read_json(path)
    if not isinstance(contents.get("lstm"), dict):
        raise ElmoError(f'{path}: has no "lstm" section; this is not an options file of ELMo')
    return Options(path, contents)


def vocabulary_in(folder):
    """The path of the vocabulary in a folder, or beside it; `None` without one."""
    places = [place / name for place in (folder, folder.parent) for name in VOCABULARIES]
    return next((path for path in places if path.is_file()), None)


def read_words(path):
    """The words in a file, one a line, by their number; maybe in a zip, maybe compressed."""
    path = _path(path)
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.name.endswith(".gz") else data
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ElmoError(f"{path}: no such vocabulary") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ElmoError(f"{path}: not a text of one word a line ({error})") from None
    return text.removesuffix("\n").split("\n")


def read_hdf5(path):
    """All tensors of an HDF5 file.

    Args:
        path: of the file, or `zipfile.Path` of one inside an archive.

    Returns:
        A dict from name to array.

    Raises:
        ElmoError: if the file is broken, or points to other files.

    Example:
        >>> read_hdf5("weights.hdf5")["char_embed"].shape
        (261, 16)
    """
    path = _path(path)
    tensors = {}
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            with h5py.File(file, "r") as group:
                _collect(path, group, size, tensors)
    except (FileNotFoundError, IsADirectoryError):
        raise ElmoError(f"{path}: no such weights file") from None
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        if isinstance(error, ElmoError):
            raise
        raise ElmoError(
            f"{path}: truncated, or not an HDF5 file ({error}); get the file again"
        ) from None
    return tensors


def _collect(path, group, size, tensors, depth=0):
    for key in group:
        link = group.get(key, getlink=True)
        name = f"{group.name}/{key}".lstrip("/")
        if not isinstance(link, h5py.HardLink):
            raise ElmoError(f"{path}: {name} is a link to another place; refused")
        item = group[key]
        if isinstance(item, h5py.Group) and depth < 10:
            _collect(path, item, size, tensors, depth + 1)
        elif isinstance(item, h5py.Dataset):
            if item.external or item.is_virtual:
                raise ElmoError(f"{path}: tensor {name} lies in another file; refused")
            if item.nbytes > INFLATION * size:
                raise ElmoError(f"{path}: tensor {name} claims {item.nbytes} bytes; refused")
            tensors[name] = np.asarray(item[()])


def _check_kind(path, tensors):
    if not any(name.startswith("RNN_0/") for name in tensors):
        held = ", ".join(list(tensors)[:5]) or "nothing"
        embeddings = {"sentence_to_index", "embedding", "0"} & set(tensors)
        what = "embeddings, not weights" if embeddings else "no weights of a biLM"
        raise ElmoError(f"{path}: holds {what} (found: {held}); give the model's weights file")


def _path(path):
    return Path(path) if isinstance(path, (str, os.PathLike)) else path
