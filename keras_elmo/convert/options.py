"""JSON files of options, whose entries are checked as they are read."""

import json

from keras_elmo.errors import ElmoError

LONGEST_WORD = 10_000  # characters, beyond what any model was trained on


def read_json(path):
    """The object in a JSON file.

    Args:
        path: `Path` or `zipfile.Path`.

    Returns:
        A dict.

    Raises:
        ElmoError: if the file is missing or holds anything else.
    """
    try:
        contents = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (FileNotFoundError, KeyError):
        raise ElmoError(f"{path}: no such file; the model is not complete") from None
    except OSError as error:
        raise ElmoError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ElmoError(f"{path}: not a JSON file ({error})") from None
    if not isinstance(contents, dict):
        raise ElmoError(f"{path}: must hold a JSON object, not a {type(contents).__name__}")
    return contents


class Options:
    """The options of a model.

    Args:
        path: where they come from, for messages.
        contents: dict of dicts.
        largest: int, the largest dimension of a tensor of the model, which no size may exceed, so
            that a broken file cannot ask for more memory than there is.

    Raises:
        ElmoError: from each method, if an entry is missing or of another type.

    Example:
        >>> Options("options.json", {"lstm": {"dim": 64}}).size("lstm", "dim")
        64
    """

    def __init__(self, path, contents, largest=None):
        self.path = path
        self.contents = contents
        self.largest = largest

    def get(self, *keys, kinds, default=None):
        """The entry under nested keys, of one of the `kinds`; `default` for null and missing."""
        value = self.contents
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is None and default is not None:
            return default
        if not isinstance(value, kinds) or isinstance(value, bool) and bool not in kinds:
            wanted = " or ".join(kind.__name__ for kind in kinds)
            self._fail(keys, value, f"of type {wanted}")
        return value

    def size(self, *keys, least=1, default=None, most=None):
        """A whole number from `least` to `most`; without `most` it must fit the weights."""
        value = self.get(*keys, kinds=(int,), default=default)
        if value < least:
            self._fail(keys, value, f"at least {least}")
        if most is not None:
            if value > most:
                self._fail(keys, value, f"at most {most}")
        elif self.largest is not None and value > self.largest:
            raise ElmoError(
                f"{self.path}: option {'.'.join(keys)} is {value}, but no tensor is larger than "
                f"{self.largest}; options and weights must belong to the same model"
            )
        return value

    def clip(self, *keys):
        """A limit. Missing, null and 0 all mean that nothing is clipped, as in AllenNLP."""
        value = self.get(*keys, kinds=(int, float), default=0)
        if not 0 <= value < float("inf"):
            self._fail(keys, value, "a limit, or null")
        return float(value) or None

    def filters(self, *keys):
        """A list of `[width, count]`."""
        pairs = self.get(*keys, kinds=(list,))
        for pair in pairs or [None]:
            if not isinstance(pair, list) or len(pair) != 2 or not all(map(self._is_size, pair)):
                self._fail(keys, pairs, "a list of [width, count] that fits the weights")
        return pairs

    def _is_size(self, value):
        return type(value) is int and 1 <= value <= (self.largest or value)

    def _fail(self, keys, value, wanted):
        raise ElmoError(
            f"{self.path}: option {'.'.join(keys)} is {value!r:.60}, but must be {wanted}"
        )
