"""Writing files and folders so that a half-written one never has the final name."""

import contextlib
import gzip
import os
import shutil
import tempfile
import zlib
from pathlib import Path

from keras_elmo.errors import ElmoError

# What reading a .gz file raises that is cut, changed, or none at all.
GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)


@contextlib.contextmanager
def replaced(path):
    """Gives a temporary path beside `path`, which takes its place when the block ends well.

    Args:
        path: the file or folder to write. An old file is replaced; an old folder too.

    Yields:
        The temporary path, inside the same folder, so that the renaming is atomic. Nothing is
        there yet: make a file or a folder of it.

    Example:
        >>> with replaced("report.txt") as temporary:
        ...     temporary.write_text("all of it")
    """
    path = Path(path).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    workplace = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    temporary = workplace / path.name
    try:
        yield temporary
        if path.is_dir() and temporary.is_dir():
            path.rename(workplace / "old")
        os.replace(temporary, path)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def check_space(path, needed, advice="make room and start again"):
    """Refuses to begin a file that the disk has no room for.

    HDF5 can crash the process where a disk runs full, so it must not come to that.

    Args:
        path: the file or folder to write.
        needed: int, bytes.
        advice: what to do, for the message.

    Raises:
        ElmoError: if there are fewer bytes free.

    Example:
        >>> check_space("weights.h5", needed=1_000_000)
    """
    if shutil.disk_usage(Path(path).parent).free < needed:
        raise ElmoError(
            f"{path}: no space left on the device, {needed:,} bytes are needed; {advice}"
        )
