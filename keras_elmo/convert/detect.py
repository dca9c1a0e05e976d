"""Which kind of model a folder or an archive holds, told by looking."""

from pathlib import Path

from keras_elmo.convert import bilm_hdf5
from keras_elmo.convert import folder
from keras_elmo.convert import many_langs
from keras_elmo.convert import tf_checkpoint
from keras_elmo.convert import tf_hub
from keras_elmo.errors import ElmoError

LOADERS = {
    "keras_elmo": folder.load,
    "many_langs": many_langs.load,
    "tf_hub": tf_hub.load,
    "tf_checkpoint": tf_checkpoint.load,
    "published": bilm_hdf5.load_folder,
    "files": bilm_hdf5.load_files,
}
FROM_ZIP = ("many_langs", "published")


def kind_of(path):
    """The kind of a model, by the names of its files.

    Args:
        path: `Path` or `zipfile.Path` of a folder, from `archive.opened`.

    Returns:
        A key of `LOADERS`.

    Raises:
        ElmoError: if no kind of model is known by these files, or one that no zip can hold.

    Example:
        >>> kind_of(Path("144"))
        'many_langs'
    """
    names = {item.name for item in path.iterdir()}
    weights = any(name.endswith(bilm_hdf5.WEIGHTS) for name in names)
    options = any(name.endswith(bilm_hdf5.OPTIONS) for name in names)
    tests = {
        "keras_elmo": folder.CONFIG in names and names & {folder.WEIGHTS, folder.SAFETENSORS},
        "many_langs": names & {many_langs.EMBEDDER, many_langs.ENCODER},
        "tf_hub": tf_hub.GRAPH in names,
        # Beside the weights of a checkpoint, dumped, that is not needed to make vectors.
        "tf_checkpoint": any(name.endswith(".index") for name in names) and not weights,
        "published": weights or options,
    }
    kinds = [kind for kind, belongs in tests.items() if belongs]
    if not kinds and folder.CONFIG not in names:
        found = ", ".join(sorted(names)[:8]) or "nothing"
        raise ElmoError(f"{path}: no kind of ELMo model is known by these files (found: {found})")
    kind = kinds[0] if kinds else "keras_elmo"
    if kind not in FROM_ZIP and not isinstance(path, Path):
        raise ElmoError(f"{path}: this kind of model is not read from a zip; unpack it first")
    return kind
