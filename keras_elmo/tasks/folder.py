"""A task model as a folder: config.json, metadata.json, model.weights.h5, vocabularies."""

import json
from pathlib import Path

import keras

from keras_elmo.convert import folder as elmo_folder
from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced
from keras_elmo.version import __version__


def save(model, path):
    """Writes a task model as a folder, whole or not at all.

    Args:
        model: a task model, such as a `TokenClassifier`.
        path: folder; an old one of that name is replaced.

    Example:
        >>> save(tagger, "my_tagger")
    """
    versions = {"keras_version": keras.__version__, "keras_elmo_version": __version__}
    contents = {
        elmo_folder.CONFIG: keras.saving.serialize_keras_object(model),
        elmo_folder.METADATA: {**versions, "parameter_count": model.count_params()},
    }
    with replaced(path) as temporary:
        assets = temporary / elmo_folder.ASSETS
        assets.mkdir(parents=True)
        model.save_assets(assets)
        for name, entries in contents.items():
            text = json.dumps(entries, indent=2, sort_keys=True) + "\n"
            (temporary / name).write_text(text, encoding="utf-8")
        model.save_weights(temporary / elmo_folder.WEIGHTS)


def is_task_model(path):
    """Whether a folder holds a task model."""
    config = Path(path) / elmo_folder.CONFIG
    return config.is_file() and _kind(elmo_folder.read_json(config)) is not None


def _kind(config):
    """The class that a configuration is one of, or `None`."""
    kind = keras.saving.get_registered_object(config.get("registered_name"))
    return kind if hasattr(kind, "losses_of") else None


def load(path):
    """Loads a task model that `save` wrote.

    Args:
        path: folder, or file `.keras`.

    Returns:
        The model, such as a `TokenClassifier`, ready to answer.

    Raises:
        ElmoError: if it isn't one, or a file is missing or broken.

    Example:
        >>> tagger.save("my_tagger")
        >>> keras_elmo.tasks.load("my_tagger").predict(["Paris is big"])
    """
    path = Path(path)
    if path.suffix == ".keras":
        return keras.saving.load_model(path)
    config = elmo_folder.read_json(path / elmo_folder.CONFIG)
    kind = _kind(config)
    if kind is None:
        raise ElmoError(f"{path / elmo_folder.CONFIG}: not a task model of keras_elmo")
    try:
        model = kind.from_config(config["config"])
    except (KeyError, TypeError) as error:
        raise ElmoError(f"{path / elmo_folder.CONFIG}: cannot be read ({error})") from None
    model.load_assets(path / elmo_folder.ASSETS)
    # Of the head and the optimizer's moments some may have learned nothing, and be zeros.
    elmo_folder.load_weights(model, path / elmo_folder.WEIGHTS, learned="features/elmo/")
    return model
