"""The published format of AllenNLP and bilm-tf: options.json and weights.hdf5, both ways."""

import json
import os
from pathlib import Path

import h5py

from keras_elmo.convert import published
from keras_elmo.convert import token_embeddings
from keras_elmo.convert.hdf5_tensors import read_hdf5
from keras_elmo.convert.options import Options
from keras_elmo.convert.options import read_json
from keras_elmo.convert.word_list import read_lines
from keras_elmo.convert.word_list import vocabulary_in
from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced

WEIGHTS = (".hdf5", ".h5")
OPTIONS = "options.json"


def load(options, weights, vocabulary=None, embeddings=None, **arguments):
    """Loads a pair of options and weights.

    Args:
        options: path of the JSON file, or its contents as a dict.
        weights: path of the HDF5 file.
        vocabulary: path of the vocabulary, for a model that reads words.
        embeddings: path of a file with the vectors of these words, which then replace the
            characters, see `token_embeddings`.
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
    words = None if vocabulary is None else read_lines(vocabulary)
    if embeddings is not None:
        checked = Options(checked.path, {"lstm": checked.contents["lstm"]})
        size = checked.size("lstm", "projection_dim")
        tensors["embedding"] = token_embeddings.read(embeddings, words, size)
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
        folder: `Path` or `zipfile.Path` with options.json and model.hdf5, or one file each that
            ends so.
        **arguments: as for `load`.

    Returns:
        An `Elmo`.

    Raises:
        ElmoError: as for `load`, and if there is no such pair.

    Example:
        >>> elmo = bilm_hdf5.load_folder(Path("209"))
    """
    weights = _only(folder, WEIGHTS, "model.hdf5")
    options = _only(folder, (OPTIONS,), OPTIONS)
    vocabulary = None
    if "char_cnn" not in read_options(options).contents:
        vocabulary = vocabulary_in(folder)
        if vocabulary is None:
            raise ElmoError(f"{folder}: this model reads words; put its vocab.txt there")
    return load(options, weights, vocabulary, **arguments)


def _only(folder, endings, name):
    """The file of this name, or else the only one with such an ending."""
    found = sorted(item.name for item in folder.iterdir() if item.name.endswith(endings))
    if name not in found and len(found) != 1:
        names = ", ".join(found) or "none"
        raise ElmoError(f"{folder}: one {name} was expected, or *{endings[0]}; found {names}")
    return folder / (name if name in found else found[0])


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


def read_options(options):
    """The `Options` in a file, or in a dict."""
    if isinstance(options, dict):
        return Options("options", options)
    path = Path(options) if isinstance(options, (str, os.PathLike)) else options
    contents = read_json(path)
    if not isinstance(contents.get("lstm"), dict):
        raise ElmoError(f'{path}: has no "lstm" section; this is not an options file of ELMo')
    return Options(path, contents)


def _check_kind(path, tensors):
    if not any(name.startswith("RNN_0/") for name in tensors):
        held = ", ".join(list(tensors)[:5]) or "nothing"
        embeddings = {"sentence_to_index", "embedding", "0"} & set(tensors)
        what = "embeddings, not weights" if embeddings else "no weights of a biLM"
        raise ElmoError(f"{path}: holds {what} (found: {held}); give the model's weights file")
