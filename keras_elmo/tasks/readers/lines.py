"""Lines of a file, and what to do with those that are wrong."""

import gzip
import warnings

from keras_elmo.errors import ElmoError
from keras_elmo.files import GZIP_ERRORS


class Faults:
    """Raises the first fault of a file, or counts them all.

    Args:
        path: the file.
        strict: bool, whether a fault is an error.

    Example:
        >>> with Faults("train.tsv", strict=False) as faults:
        ...     faults.add(7, "no label", "left out")
    """

    def __init__(self, path, strict=True):
        self.path = str(path)
        self.strict = strict
        self._found = []

    def add(self, number, message, remedy):
        """Reports a fault in a line; `remedy` says what lenient reading does: "left out"."""
        where = f"{self.path}, line {number}: " if number else f"{self.path}: "
        if self.strict:
            raise ElmoError(
                f"{where}{message}; correct it, or be lenient ({remedy}): strict=False in Python, "
                "--lenient in the examples"
            )
        self._found.append(f"{where}{message} ({remedy})")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self._found and kind is None:
            more = f", and {len(self._found) - 1} more" if len(self._found) > 1 else ""
            warnings.warn(self._found[0] + more, stacklevel=4)


def lines(path):
    """Pairs of a line's number and text, of a UTF-8 file that may end in `.gz`.

    Raises:
        ElmoError: if the file is not UTF-8, a damaged `.gz`, or has the line ends of old Macs.
        OSError: if it cannot be opened.
    """
    number = 0
    opener = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if number == 1 and "\r" in text:
                    raise ElmoError(f"{path}: its lines end with CR alone; end them with LF")
                yield number, text
    except UnicodeDecodeError as error:
        raise ElmoError(
            f"{path}, line {number}: not UTF-8 ({error.reason}); save it as UTF-8"
        ) from None
    except GZIP_ERRORS as error:
        raise ElmoError(f"{path}, line {number + 1}: damaged .gz file ({error})") from None
