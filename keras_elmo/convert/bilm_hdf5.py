"""The published format of AllenNLP and bilm-tf: options.json and weights.hdf5, both ways."""

import json
import os
from pathlib import Path

import h5py
import keras
import numpy as np

from keras_elmo.convert.tensors import check_tensor
from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced
from keras_elmo.layers.bilm import DIRECTIONS
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.models.elmo import Elmo

CHAR_ROWS = 261  # of the table in the files; row 0 of ours, "no token here", is not stored
IMAGES = "CNN/W_cnn"  # published as convolutions over images of height 1


def load(options, weights, stateful=False, dtype=None, **elmo_arguments):
    """Loads a pair of options and weights.

    Args:
        options: path of the JSON file, or its contents as a dict.
        weights: path of the HDF5 file.
        stateful: bool, whether the biLM carries its state from call to call; needs `batch_size`.
        dtype: dtype policy of the layers, such as `"mixed_bfloat16"`.
        **elmo_arguments: for `Elmo`.

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
    name = "options" if isinstance(options, dict) else os.fspath(options)
    options = options if isinstance(options, dict) else read_options(options)
    with _open(weights) as file:
        layout = _check_kind(weights, file)
        embedding, bilm = _layers(_Options(name, options), file, layout, stateful, dtype)
        elmo = Elmo(embedding, bilm, **elmo_arguments)
        for place, variables in _places(embedding, bilm, layout["single_cell"]):
            _fill(variables, _read(weights, file, place, variables))
    elmo.source = {"format": "bilm_hdf5", "options": options, "layout": layout}
    return elmo


def save(elmo, options, weights):
    """Writes a model as options.json and weights.hdf5, as AllenNLP and simple_elmo read them.

    A model that was loaded from such a pair is written back bit for bit, with its own options.

    Args:
        elmo: an `Elmo` whose embedding is a `CharCNNEmbedding`.
        options: path of the JSON file to write.
        weights: path of the HDF5 file to write.

    Raises:
        ElmoError: if the model has another embedding, for which the format has no place.

    Example:
        >>> bilm_hdf5.save(keras_elmo.load(), "options.json", "weights.hdf5")
    """
    if not isinstance(elmo.embedding, CharCNNEmbedding):
        raise ElmoError(
            f"{options}: this format holds models with a CharCNNEmbedding, not with "
            f"{type(elmo.embedding).__name__}"
        )
    source = getattr(elmo, "source", None) or {}
    layout = source.get("layout") or {"char_rows": CHAR_ROWS, "single_cell": False}
    with replaced(weights) as temporary, h5py.File(temporary, "w") as file:
        for place, variables in _places(elmo.embedding, elmo.bilm, layout["single_cell"]):
            parts = [keras.ops.convert_to_numpy(variable) for variable in variables]
            array = np.concatenate(parts)
            if place == "char_embed":
                array = array[-layout["char_rows"] :]
            file[place] = array[None] if place.startswith(IMAGES) else array
    with replaced(options) as temporary:
        contents = source.get("options") or make_options(elmo.embedding, elmo.bilm)
        temporary.write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")


def read_options(path):
    """The contents of an options.json."""
    try:
        options = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ElmoError(f"{path}: no such options file") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ElmoError(f"{path}: not a JSON file of options ({error})") from None
    if not isinstance(options, dict) or "lstm" not in options:
        raise ElmoError(f'{path}: has no "lstm" section; this is not an options file of ELMo')
    if "char_cnn" not in options:
        raise ElmoError(
            f'{path}: has no "char_cnn" section: a model that reads words, not characters'
        )
    return options


def make_options(embedding, bilm):
    """The options of a model, as in a published options.json."""
    config = bilm.get_config()
    return {
        "lstm": {
            "use_skip_connections": bilm.skip_connections,
            "projection_dim": bilm.output_dim,
            "cell_clip": config["cell_clip"],
            "proj_clip": config["projection_clip"],
            "dim": bilm.units,
            "n_layers": bilm.num_layers,
        },
        "char_cnn": {
            "activation": embedding.get_config()["activation"],
            "filters": embedding.filters,
            "n_highway": embedding.num_highways,
            "embedding": {"dim": embedding.char_embedding_dim},
            "n_characters": embedding.num_chars,
            "max_characters_per_token": embedding.max_word_length,
        },
    }


class _Options:
    """An options file whose entries are checked as they are read."""

    def __init__(self, path, contents):
        self.path = path
        self.contents = contents

    def get(self, *keys, kinds=(int,), default=None):
        value = self.contents
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is None and default is not None:
            return default
        if not isinstance(value, kinds) or isinstance(value, bool) and bool not in kinds:
            raise ElmoError(
                f"{self.path}: option {'.'.join(keys)} is {value!r}, but must be "
                f"of type {' or '.join(kind.__name__ for kind in kinds)}"
            )
        return value

    def clip(self, key):
        # Missing, null and 0 all mean that nothing is clipped, as in AllenNLP.
        return self.get("lstm", key, kinds=(int, float), default=0) or None

    def filters(self):
        filters = self.get("char_cnn", "filters", kinds=(list,))
        pairs = all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, int) for n in pair)
            for pair in filters
        )
        if not filters or not pairs:
            raise ElmoError(
                f"{self.path}: option char_cnn.filters must be a list of [width, count]"
            )
        return filters


def _layers(options, file, layout, stateful, dtype):
    """The two layers as the options say, built and ready to be filled."""
    projection_dim = options.get("lstm", "projection_dim")
    filters = options.filters()
    units = options.get("lstm", "dim")
    cell = _cell(0, 0, layout["single_cell"])
    # Without a tensor for it, bilm-tf leaves out a projection that would not change the size.
    has_char_projection = "CNN_proj" in file or sum(n for _, n in filters) != projection_dim
    has_projection = f"{cell}W_P_0" in file or units != projection_dim
    embedding = CharCNNEmbedding(
        filters=filters,
        projection_dim=projection_dim if has_char_projection else None,
        num_highways=options.get("char_cnn", "n_highway", default=0),
        char_embedding_dim=options.get("char_cnn", "embedding", "dim"),
        activation=options.get("char_cnn", "activation", kinds=(str,), default="relu"),
        max_word_length=options.get("char_cnn", "max_characters_per_token", default=50),
        dtype=dtype,
    )
    bilm = BiLM(
        num_layers=options.get("lstm", "n_layers"),
        units=units,
        projection_dim=projection_dim if has_projection else None,
        cell_clip=options.clip("cell_clip"),
        projection_clip=options.clip("proj_clip"),
        skip_connections=options.get("lstm", "use_skip_connections", kinds=(bool,), default=False),
        stateful=stateful,
        dtype=dtype,
    )
    return embedding, bilm


def _cell(direction, layer, single_cell):
    several = "" if single_cell else f"MultiRNNCell/Cell{layer}/"
    return f"RNN_{direction}/RNN/{several}LSTMCell/"


def _places(embedding, bilm, single_cell):
    """Pairs of a published name and the variables that are stacked under it."""
    yield "char_embed", [embedding.char_embeddings]
    for k in range(len(embedding.filters)):
        yield f"{IMAGES}_{k}", [getattr(embedding, f"conv_kernel_{k}")]
        yield f"CNN/b_cnn_{k}", [getattr(embedding, f"conv_bias_{k}")]
    for k in range(embedding.num_highways):
        highway = getattr(embedding, f"highway_{k}")
        for part in ("carry", "transform"):
            dense = getattr(highway, part)
            yield f"CNN_high_{k}/W_{part}", [dense.kernel]
            yield f"CNN_high_{k}/b_{part}", [dense.bias]
    if embedding.projection_dim is not None:
        yield "CNN_proj/W_proj", [embedding.projection.kernel]
        yield "CNN_proj/b_proj", [embedding.projection.bias]
    for number, direction in enumerate(DIRECTIONS):
        for k in range(bilm.num_layers):
            lstm = getattr(bilm, f"{direction}_{k}")
            cell = _cell(number, k, single_cell)
            yield f"{cell}W_0", [lstm.kernel, lstm.recurrent_kernel]
            yield f"{cell}B", [lstm.bias]
            if lstm.projection_kernel is not None:
                yield f"{cell}W_P_0", [lstm.projection_kernel]


def _open(path):
    try:
        return h5py.File(path, "r")
    except FileNotFoundError:
        raise ElmoError(f"{path}: no such weights file") from None
    except OSError as error:
        raise ElmoError(
            f"{path}: truncated, or not an HDF5 file ({error}); get the file again"
        ) from None


def _check_kind(path, file):
    if "RNN_0" not in file:
        held = ", ".join(list(file)[:5]) or "nothing"
        embeddings = "sentence_to_index" in file or "embedding" in file or "0" in file
        what = "embeddings, not weights" if embeddings else "no weights of a biLM"
        raise ElmoError(f"{path}: holds {what} (found: {held}); give the model's weights file")
    rows = file["char_embed"].shape[0] if "char_embed" in file else CHAR_ROWS
    # Models of one LSTM layer were written without the level of the several cells.
    return {"char_rows": rows, "single_cell": "LSTMCell" in file["RNN_0/RNN"]}


def _read(path, file, place, variables):
    dataset = file.get(place)
    if not isinstance(dataset, h5py.Dataset):
        raise ElmoError(f"{path}: tensor {place} is missing; the file is not complete")
    try:
        array = dataset[...]
    except OSError as error:
        raise ElmoError(f"{path}: tensor {place} cannot be read ({error})") from None
    rows = sum(variable.shape[0] for variable in variables)
    if place == "char_embed" and len(array) == rows - 1:
        array = np.concatenate([np.zeros_like(array[:1]), array])
    shape = (rows, *variables[0].shape[1:])
    if place.startswith(IMAGES):
        return check_tensor(path, place, array, (1, *shape))[0]
    return check_tensor(path, place, array, shape)


def _fill(variables, array):
    ends = np.cumsum([variable.shape[0] for variable in variables])[:-1]
    for variable, part in zip(variables, np.split(array, ends), strict=True):
        variable.assign(part)
