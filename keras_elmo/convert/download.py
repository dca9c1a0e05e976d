"""Files from the network, fetched once."""

import contextlib
import hashlib
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import keras

from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced

OFFLINE = "KERAS_ELMO_OFFLINE"  # environment variable: set, the network is never touched
TIMEOUT = 60  # seconds without a byte


def fetch(url, sha256=None):
    """Downloads a file into the cache, or finds it there.

    A download that breaks leaves nothing behind; the next one starts anew.

    Args:
        url: http or https.
        sha256: 64 hexadecimal digits that the file must have; `None`: any.

    Returns:
        The `Path` of the file, below the folder `keras_elmo` of Keras' cache (`KERAS_HOME`).

    Raises:
        ElmoError: if the file cannot be had whole, or is not in the cache while
            `KERAS_ELMO_OFFLINE` is set.

    Example:
        >>> options = fetch("https://example.org/options.json")
    """
    name = Path(urlsplit(url).path).name
    if urlsplit(url).scheme not in ("http", "https") or name in ("", ".."):
        raise ElmoError(f"{url}: not the address of a file on the web")
    folder = hashlib.sha256(url.encode()).hexdigest()[:16]
    cache = Path(os.environ.get("KERAS_HOME", "~/.keras")).expanduser()
    path = cache / "keras_elmo" / folder / name
    if path.exists():
        _check(path, sha256)
        return path
    if os.environ.get(OFFLINE):
        raise ElmoError(f"{url}: not in the cache as {path}, and no network is to be used")
    with replaced(path) as temporary, _timeout():
        try:
            keras.utils.get_file(
                name, url, cache_dir=temporary.parent, cache_subdir="", file_hash=sha256
            )
        except Exception as error:  # get_file raises no class of its own
            raise ElmoError(f"{url}: could not be fetched ({_line(error)}); try again") from None
    return path


def _check(path, sha256):
    if sha256 is None:
        return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256.lower():
        raise ElmoError(
            f"{path}: its SHA-256 is {found}, not {sha256}; remove it to fetch it again"
        )


@contextlib.contextmanager
def _timeout():
    # Keras opens the connection and gives no other way to say when to stop waiting.
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _line(error):
    return " ".join(str(error).split()) or type(error).__name__
