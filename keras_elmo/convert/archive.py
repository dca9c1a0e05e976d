"""Folders and archives as one thing: a path whose files can be read."""

import contextlib
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path
from pathlib import PurePosixPath

from keras_elmo.errors import ElmoError

INFLATION = 200  # how much larger than the archive its contents may be
SMALL = 1 << 24  # bytes that any archive may hold


@contextlib.contextmanager
def opened(path):
    """Gives the folder of a model: a folder itself, or what an archive holds.

    A zip is read in place. A tar is unpacked into a temporary folder for the time being. Where
    all files lie in one folder inside the archive, that one is given.

    Args:
        path: of a folder, a .zip, a .tar or a .tar.gz.

    Yields:
        A `Path` or a `zipfile.Path`.

    Raises:
        ElmoError: if the archive is broken, its names lead out of it, or it is a bomb.

    Example:
        >>> with opened("209.zip") as folder:
        ...     options = (folder / "options.json").read_text()
    """
    path = Path(path)
    if path.is_dir():
        yield path
    elif zipfile.is_zipfile(path):
        with _zip(path) as archive:
            yield _innermost(zipfile.Path(archive))
    elif path.name.endswith((".tar", ".tar.gz", ".tgz")):
        with tempfile.TemporaryDirectory() as folder:
            _unpack(path, folder)
            yield _innermost(Path(folder))
    else:
        raise ElmoError(
            f"{path}: neither a folder nor a whole .zip or .tar.gz of a model; of a pair of files, "
            "give both: (options, weights)"
        )


def _zip(path):
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ElmoError(f"{path}: not a readable zip ({error}); get the file again") from None
    _check(path, [(info.filename, info.file_size) for info in archive.infolist()])
    return archive


def _unpack(path, folder):
    try:
        with tarfile.open(path) as archive:
            _check(path, [(member.name, member.size) for member in archive])
            archive.extractall(folder, filter="data")
    except ElmoError:
        raise
    except (tarfile.TarError, OSError, EOFError, ValueError, ArithmeticError) as error:
        raise ElmoError(f"{path}: not a readable tar ({error}); get the file again") from None
    except zlib.error as error:
        raise ElmoError(f"{path}: broken compression ({error}); get the file again") from None


def _check(path, members):
    limit = SMALL + INFLATION * path.stat().st_size
    total = 0
    for name, size in members:
        total += size
        posix = PurePosixPath(name.replace("\\", "/"))
        if posix.is_absolute() or ".." in posix.parts:
            raise ElmoError(f"{path}: the name {name!r:.80} leads out of the archive; refused")
        if total > limit:
            raise ElmoError(f"{path}: its files claim to be {total} bytes; refused as a bomb")


def _innermost(folder):
    inside = list(folder.iterdir())
    while len(inside) == 1 and inside[0].is_dir():
        folder = inside[0]
        inside = list(folder.iterdir())
    return folder
