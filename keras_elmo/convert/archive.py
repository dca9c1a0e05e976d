"""Folders and archives as one thing: a path whose files can be read."""

import contextlib
import lzma
import shutil
import struct
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
        path: of a folder, a zip, or a tar, compressed or not; its name does not matter.

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
        with _zip(path) as archive, _readable(path):
            yield _innermost(zipfile.Path(archive))
    elif _is_tar(path):
        with tempfile.TemporaryDirectory() as folder:
            _unpack(path, folder)
            yield _innermost(Path(folder))
    else:
        raise ElmoError(
            f"{path}: neither a folder nor a whole .zip or .tar.gz of a model; of a pair of files, "
            "give both: (options, weights)"
        )


def _is_tar(path):
    with _readable(path):
        return tarfile.is_tarfile(path)


@contextlib.contextmanager
def _readable(path):
    """Turns what zip and tar raise on broken archives into one line."""
    try:
        yield
    except ElmoError:
        raise
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        lzma.LZMAError,
        OSError,
        EOFError,
        NotImplementedError,
        ArithmeticError,
        struct.error,
        ValueError,
    ) as error:
        line = " ".join(str(error).split()) or type(error).__name__
        raise ElmoError(f"{path}: cannot be read ({line:.120}); get the file again") from None


def _zip(path):
    with _readable(path):
        archive = zipfile.ZipFile(path)
        _check(path, [(info.filename, info.file_size) for info in archive.infolist()])
    if any(info.flag_bits & 1 for info in archive.infolist()):
        raise ElmoError(f"{path}: is encrypted; unpack it first")
    return archive


def _unpack(path, folder):
    with _readable(path), tarfile.open(path) as archive:
        members = archive.getmembers()
        _check(path, [(member.name, member.size) for member in members])
        # `extractall` refuses links and keeps owners out only from Python 3.11.4 on.
        for member in members:
            if member.isdir():
                continue
            if not member.isfile():
                raise ElmoError(f"{path}: {member.name!r:.80} is a link or a device; refused")
            target = Path(folder, member.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.extractfile(member) as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file)


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
    while len(inside := _contents(folder)) == 1 and inside[0].is_dir():
        folder = inside[0]
    return folder


def _contents(folder):
    """What lies in a folder, without what macOS and other file managers add to archives."""
    return [item for item in folder.iterdir() if not item.name.startswith((".", "__MACOSX"))]
