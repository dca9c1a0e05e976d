"""The tensors of an HDF5 file, whatever it is."""

import io
import os
from pathlib import Path

import h5py
import numpy as np

from keras_elmo.errors import ElmoError

INFLATION = 1000  # how much larger than the file its tensors may be, against decompression bombs
DEPTH = 20  # groups inside groups


def read_hdf5(path):
    """All tensors of an HDF5 file.

    Args:
        path: of the file, or `zipfile.Path` of one inside an archive.

    Returns:
        A dict from name to array.

    Raises:
        ElmoError: if the file is broken, points to other files, or is a decompression bomb.

    Example:
        >>> read_hdf5("weights.hdf5")["char_embed"].shape
        (261, 16)
    """
    path = Path(path) if isinstance(path, (str, os.PathLike)) else path
    try:
        # HDF5 jumps back and forth, which a compressed member of a zip is too slow for.
        with path.open("rb") if isinstance(path, Path) else io.BytesIO(path.read_bytes()) as file:
            size = file.seek(0, os.SEEK_END)
            with h5py.File(file, "r") as group:
                return dict(_tensors(path, group, [INFLATION * size]))
    except ElmoError:
        raise
    except (FileNotFoundError, IsADirectoryError):
        raise ElmoError(f"{path}: no such weights file") from None
    except (OSError, RuntimeError, LookupError, ValueError, TypeError, MemoryError) as error:
        raise ElmoError(
            f"{path}: truncated, or not an HDF5 file ({error}); get the file again"
        ) from None


def _tensors(path, group, left, depth=0):
    """Pairs of name and array; `left` holds the bytes that may still be read."""
    for key in group:
        link = group.get(key, getlink=True)
        name = f"{group.name}/{key}".lstrip("/")
        if not isinstance(link, h5py.HardLink):
            raise ElmoError(f"{path}: {name} is a link to another place; refused")
        if depth == DEPTH:
            raise ElmoError(f"{path}: {name} lies too deep; these are no weights")
        item = group[key]
        if isinstance(item, h5py.Group):
            yield from _tensors(path, item, left, depth + 1)
        elif isinstance(item, h5py.Dataset):
            if item.external or item.is_virtual:
                raise ElmoError(f"{path}: tensor {name} lies in another file; refused")
            left[0] -= item.nbytes
            if left[0] < 0:
                raise ElmoError(f"{path}: tensor {name} claims {item.nbytes} bytes; refused")
            yield name, np.asarray(item[()])
