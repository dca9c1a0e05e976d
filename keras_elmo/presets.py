"""Opening a model, wherever it comes from."""

import os
from pathlib import Path

from keras_elmo.convert import bilm_hdf5
from keras_elmo.convert import folder
from keras_elmo.errors import ElmoError

BUNDLED = "elmo_mini_en"
PRESETS_FOLDER = Path(__file__).parent / "preset_data"


def load(source=None, stateful=False, dtype=None, **elmo_arguments):
    """Loads an ELMo.

    Args:
        source: the name of a preset; a folder of ours; a folder that holds options.json and one
            HDF5 file of weights; or such a pair as `(options, weights)`. `None`: the bundled
            English model.
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
    if isinstance(source, (tuple, list)):
        if len(source) != 2:
            raise ElmoError(f"a pair (options, weights) was expected, not {source!r}")
        return bilm_hdf5.load(*source, **arguments)
    path = find(source)
    if (path / folder.CONFIG).exists():
        return folder.load(path, **arguments)
    return bilm_hdf5.load(*_pair(path), **arguments)


def find(source=None):
    """The folder of a model: a bundled one by its name, or the path itself."""
    name = BUNDLED if source is None else os.fspath(source)
    bundled = {path.name: path for path in PRESETS_FOLDER.glob("*/")}
    path = bundled.get(name) or Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise ElmoError(f"{path}: a single file; give its folder, or the pair (options, weights)")
    presets = ", ".join(sorted(bundled)) or "none"
    raise ElmoError(f"{name}: no such folder and no such preset (presets: {presets})")


def _pair(path):
    options = path / "options.json"
    weights = sorted([*path.glob("*.hdf5"), *path.glob("*.h5")])
    if not options.exists():
        raise ElmoError(f"{path}: holds neither {folder.CONFIG} nor options.json; not a model")
    if len(weights) != 1:
        found = ", ".join(p.name for p in weights) or "none"
        raise ElmoError(
            f"{path}: one .hdf5 file of weights was expected beside options.json, found {found}"
        )
    return options, weights[0]
