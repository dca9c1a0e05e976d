"""Writing files and folders so that a half-written one never has the final name."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path


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
