"""Opening a model, wherever it comes from."""

import contextlib
import os
from pathlib import Path

from keras_elmo.convert import detect
from keras_elmo.convert import folder
from keras_elmo.convert import huggingface
from keras_elmo.convert.archive import opened
from keras_elmo.convert.download import fetch
from keras_elmo.convert.published_models import MANY_LANGS
from keras_elmo.convert.published_models import PUBLISHED
from keras_elmo.errors import ElmoError

BUNDLED = "elmo_mini_en"
PRESETS_FOLDER = Path(__file__).parent / "preset_data"


def load(source=None, stateful=False, dtype=None, **elmo_arguments):
    """Loads an ELMo; which kind of model it is, is told by looking.

    Args:
        source: one of:

            - `None`: the bundled English model;
            - the name of a preset or of a published model;
            - a path or URL: a folder of ours, a folder or archive with options.json and one HDF5
              file of weights, a checkpoint of bilm-tf or simple_elmo, a TF-Hub elmo module, a
              model of ELMoForManyLangs;
            - `hf://user/model`: such a folder on the Hugging Face Hub;
            - `(options, weights)`, paths or URLs; `(options, weights, vocabulary)` for a model that
              reads words; `(options, weights, vocabulary, embeddings)` with cached token
              embeddings.
        stateful: bool, whether the biLM carries its state from call to call, as the original
            implementations do; needs `batch_size`.
        dtype: dtype policy of the layers, such as `"mixed_bfloat16"`.
        **elmo_arguments: for `Elmo`, such as `num_representations`, `keep_boundaries`,
            `layer_norm`, `dropout` or `trainable_bilm`.

    Returns:
        An `Elmo`.

    Raises:
        ElmoError: if the source is not a model, or one that is broken; the message names the
            file and what is wrong with it.

    Example:
        >>> elmo = keras_elmo.load()
        >>> elmo(keras_elmo.batch_to_ids([["Hello", "world"]]))["elmo"].shape[:2]
        (1, 2)
    """
    arguments = {"stateful": stateful, "dtype": dtype, **elmo_arguments}
    with located(source) as (kind, place):
        return detect.LOADERS[kind](place, **arguments)


def save_to_preset(elmo, preset, private=False):
    """Writes a model where `load` finds it again.

    Args:
        elmo: an `Elmo`.
        preset: path of a folder, which is replaced if it is there; or `hf://user/model`.
        private: bool, whether a new repository on the Hugging Face Hub is private.

    Raises:
        ElmoError: if the hub refuses.

    Example:
        >>> save_to_preset(keras_elmo.load(), "my_elmo")
    """
    if os.fspath(preset).startswith(huggingface.PREFIX):
        huggingface.push(elmo, preset, private)
    else:
        folder.save(elmo, preset)


@contextlib.contextmanager
def located(source=None):
    """Finds a model and tells its kind.

    Args:
        source: as for `load`.

    Yields:
        A key of `detect.LOADERS`, and what that loader takes.
    """
    if isinstance(source, (tuple, list)):
        yield "files", [_local(part) for part in source]
    elif source in PUBLISHED and len(PUBLISHED[source].urls) > 1:
        yield "files", [fetch(url) for url in PUBLISHED[source].urls]
    else:
        path = fetch(PUBLISHED[source].urls[0]) if source in PUBLISHED else _local(source)
        with opened(path) as place:
            yield detect.kind_of(place), place


def _local(source):
    """The path of a bundled preset, of a file or folder, or of what lies behind a URL."""
    name = BUNDLED if source is None else os.fspath(source)
    if name.startswith(huggingface.PREFIX):
        return huggingface.fetch(name)
    if "://" in name:
        return fetch(name)
    bundled = {path.name: path for path in PRESETS_FOLDER.glob("*/")}
    path = bundled.get(name) or Path(name).expanduser()
    if not path.exists():
        known = [key for key in PUBLISHED if not key.startswith(MANY_LANGS)]
        names = ", ".join(sorted([*bundled, *known, f"{MANY_LANGS}ar to {MANY_LANGS}zh"]))
        raise ElmoError(f"{name}: no such file or folder, and no such model (known: {names})")
    return path
