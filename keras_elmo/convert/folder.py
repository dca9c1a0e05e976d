"""A folder of ours: config.json, metadata.json, model.weights.h5, and vocabularies if any."""

import json
from pathlib import Path

import h5py
import keras
import numpy as np

from keras_elmo.convert import safetensors_file
from keras_elmo.convert.hdf5_tensors import read_hdf5
from keras_elmo.convert.options import read_json
from keras_elmo.convert.tensors import check_tensor
from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced
from keras_elmo.models.elmo import Elmo
from keras_elmo.version import __version__

CONFIG = "config.json"
METADATA = "metadata.json"
WEIGHTS = "model.weights.h5"
SAFETENSORS = "model.safetensors"  # may stand in its place
ASSETS = "assets/tokenizer"  # as in a preset of KerasHub
TOKENIZER = "tokenizer.json"  # for KerasHub alone
SOFTMAX = "softmax.weights.h5"  # of a language model, with the words that it predicts
VOCABULARY = "vocabulary.txt"


def save(elmo, folder, dtype=None, safetensors=False, **metadata):
    """Writes a model as a folder, whole or not at all.

    Args:
        elmo: an `Elmo`.
        folder: path; an old folder of that name is replaced.
        dtype: `"float16"` halves the weights on disk; `None` keeps them as they are.
        safetensors: bool, whether to write the weights as model.safetensors.
        **metadata: entries added to metadata.json, such as where the model came from.

    Example:
        >>> folder.save(keras_elmo.load(), "my_elmo")
    """
    with replaced(folder) as temporary:
        temporary.mkdir()
        write(elmo, temporary, dtype, safetensors, **metadata)


def write(elmo, folder, dtype=None, safetensors=False, **metadata):
    """Writes the three files of a model into a folder that is there already."""
    folder = Path(folder)
    config = keras.saving.serialize_keras_object(elmo)
    _write_json(folder / CONFIG, config)
    entries = {
        "keras_version": keras.__version__,
        "keras_elmo_version": __version__,
        "parameter_count": elmo.count_params(),
        "source": getattr(elmo, "source", None),
        **metadata,
    }
    _write_json(folder / METADATA, entries)
    elmo.save_assets(folder / ASSETS)
    _write_json(folder / TOKENIZER, _hub_tokenizer(elmo))
    if safetensors:
        safetensors_file.save(elmo, folder / SAFETENSORS, dtype)
        return
    elmo.save_weights(folder / WEIGHTS)
    if dtype is not None:
        _cast(folder / WEIGHTS, dtype)


def write_softmax(folder, weights, biases, words, dtype=None):
    """Adds the softmax of a language model to a folder.

    Args:
        folder: path.
        weights: (words, P) array.
        biases: (words,) array.
        words: list of str.
        dtype: as for `save`.
    """
    with h5py.File(Path(folder) / SOFTMAX, "w") as file:
        for name, array in (("kernel", weights), ("bias", biases)):
            file[name] = np.asarray(array, dtype)
    text = "".join(f"{word}\n" for word in words)
    (Path(folder) / VOCABULARY).write_text(text, encoding="utf-8", newline="\n")


def load(folder, stateful=False, dtype=None, **elmo_arguments):
    """Loads a model from a folder that `save` wrote.

    Args:
        folder: path.
        stateful: bool, whether the biLM carries its state from call to call; needs `batch_size`.
        dtype: dtype policy of the layers; `None`: as saved.
        **elmo_arguments: for `Elmo`, in place of the saved ones.

    Returns:
        An `Elmo`. With another number of mixes than were saved, the mixes are fresh.

    Raises:
        ElmoError: if a file is missing, broken or of another model.

    Example:
        >>> elmo = folder.load("my_elmo", keep_boundaries=True)
    """
    folder = Path(folder)
    config = read_json(folder / CONFIG)
    if config.get("registered_name") != "keras_elmo>Elmo":
        raise ElmoError(f"{folder / CONFIG}: not a model of keras_elmo")
    try:
        saved = _revive(config["config"], stateful, dtype)
    except ElmoError:
        raise
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise ElmoError(f"{folder / CONFIG}: cannot be read ({_line(error)})") from None
    elmo = Elmo(**{**saved, **elmo_arguments})
    elmo.load_assets(folder / ASSETS)
    holder = elmo
    if elmo.num_representations != saved["num_representations"]:
        holder = Elmo(**{**saved, "trainable_bilm": elmo.trainable_bilm})  # of the same two layers
    if (folder / SAFETENSORS).exists():
        safetensors_file.load(holder, folder / SAFETENSORS)
    else:
        load_weights(holder, folder / WEIGHTS)
    elmo.source = read_metadata(folder).get("source")
    return elmo


def read_metadata(folder):
    """The contents of a folder's metadata.json, or an empty dict."""
    path = Path(folder) / METADATA
    return read_json(path) if path.exists() else {}


def _revive(config, stateful, dtype):
    """The arguments of `Elmo` in a configuration, their objects made."""
    config["bilm"]["config"]["stateful"] = stateful
    for part in ("embedding", "bilm"):
        config[part].pop("build_config", None)  # it may name a batch size
        config[part]["config"].update({} if dtype is None else {"dtype": dtype})
    for part in ("embedding", "bilm", "encoder"):
        if not config[part]["registered_name"].startswith("keras_elmo>"):
            raise ValueError(f"{part} is {config[part]['registered_name']}, none of keras_elmo")
        config[part] = keras.saving.deserialize_keras_object(config[part])
    return config


def load_weights(model, path, learned=""):
    """Loads the weights of a model from its file; an ElmoError says what is wrong with it.

    Args:
        model: an `Elmo`, or a task model.
        path: `pathlib.Path` of the file.
        learned: prefix of the names of those matrices that can't be all zeros.
    """
    if not path.exists():
        raise ElmoError(f"{path}: no such file; the folder is not complete")
    for name, array in read_hdf5(path).items():
        if np.issubdtype(array.dtype, np.floating):
            zeros = not name.startswith(learned)
            check_tensor(path, name, array, array.shape, zeros)
    try:
        model.load_weights(path)
    except (OSError, KeyError, ValueError) as error:
        raise ElmoError(
            f"{path}: does not hold the weights of this model ({_line(error)})"
        ) from None


def _cast(path, dtype):
    def copy(name, item):
        if isinstance(item, h5py.Group):
            new.require_group(name).attrs.update(item.attrs)
        else:
            floats = np.issubdtype(item.dtype, np.floating)
            new[name] = item[...].astype(dtype) if floats else item[...]

    with (
        replaced(path) as temporary,
        h5py.File(path, "r") as old,
        h5py.File(temporary, "w") as new,
    ):
        new.attrs.update(old.attrs)
        old.visititems(copy)


def _hub_tokenizer(elmo):
    """What `keras_elmo.hub.ElmoTokenizer` would write."""
    return {
        "module": "keras_elmo.hub",
        "class_name": "ElmoTokenizer",
        "registered_name": "keras_elmo>ElmoTokenizer",
        "config": {
            "name": "elmo_tokenizer",
            "encoder": keras.saving.serialize_keras_object(elmo.encoder),
        },
    }


def _write_json(path, contents):
    path.write_text(json.dumps(contents, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _line(error):
    return str(error).strip().split("\n")[0]
