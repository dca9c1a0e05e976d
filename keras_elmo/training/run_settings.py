"""What a training run began with; it is taken up only with the same."""

import dataclasses
import json
import os
from itertools import zip_longest

from keras_elmo.errors import ElmoError

MAY_CHANGE = {
    "epochs",
    "max_steps",
    "learning_rate",
    "decay",
    "patience",
    "remat",
    "reset_share",
}  # between two starts


def run_settings(recipe, init_from, corpus, validation=None):
    """The settings and the data of a run, as JSON holds them.

    Args:
        recipe: `Recipe`.
        init_from: the model to go on from, or `None`.
        corpus: `Corpus`.
        validation: `Corpus` held out, or `None`.

    Returns:
        A dict.

    Example:
        >>> run_settings(Recipe(units=512), None, Corpus("text/*.txt"))["units"]
        512
    """
    return {
        **json.loads(json.dumps(dataclasses.asdict(recipe))),
        "init_from": None if init_from is None else str(init_from),
        "files": _contents(corpus),
        "validation": validation and _contents(validation),
    }


def taken_up(settings, old, place):
    """The settings of a run that is taken up, which knows its held-out text even without it.

    Args:
        settings: dict, from `run_settings`.
        old: dict, with which the run began.
        place: its folder, for the message.

    Raises:
        ElmoError: if one is another that may not change. Held-out text may be left out or added,
            but a best measured by one is none by another.
    """
    held_out = old.get("validation")
    settings = {**settings, "validation": settings["validation"] or held_out}
    old = {**old, "validation": held_out or settings["validation"]}
    for key in sorted(settings.keys() - MAY_CHANGE):
        if settings[key] != old.get(key):
            raise ElmoError(
                f"{place} holds a run with {_difference(key, old.get(key), settings[key])}; give "
                "the same settings, or another --output."
            )
    return settings


def _contents(corpus):
    """The names and sizes by which a text is known again."""
    files = zip(corpus.paths, corpus.counts(), strict=True)
    return [[os.path.basename(path), *counts] for path, counts in files]


def _difference(key, old, new):
    """What a setting was and is; of files only the first that is another."""
    if key not in ("files", "validation"):
        return f"{key} = {old}, not {new}"
    before, now = next(pair for pair in zip_longest(old, new) if pair[0] != pair[1])
    text = "other held-out text" if key == "validation" else "other text"
    if now is None:
        return f"{text}, {_file(before)} too"
    if before is None:
        return f"{text}, without {_file(now)}"
    return f"{text}, {_file(before)}, not {_file(now)}"


def _file(entry):
    name, sentences, words = entry
    return f"{name} with {sentences:,} sentences of {words:,} words"
