"""Labels of whole examples: classes or numbers."""

import math
import warnings

import numpy as np

from keras_elmo.errors import ElmoError


def distinct_labels(labels):
    """The distinct labels, sorted; of a list of labels or of a list of lists.

    A list without repetition keeps its order.

    Raises:
        ElmoError: if there is none.

    Example:
        >>> distinct_labels([["O", "B-PER"], ["O"]])
        ['B-PER', 'O']
    """
    labels = list(labels)
    flat = [x for part in labels for x in ([part] if isinstance(part, str) else part)]
    found = dict.fromkeys(flat)
    if not found:
        raise ElmoError("`labels` is empty: give all labels, or the targets of the training data")
    return flat if len(found) == len(flat) else sorted(found)


def encode_class(ids, label, number):
    """The id of a label."""
    if label not in ids:
        raise ElmoError(
            f"example {number}: the label {label!r} is not among the labels ({', '.join(ids)}); "
            "give all labels as `labels`"
        )
    return np.int32(ids[label])


def as_number(label):
    """A label, or the text of one, as a finite float; `None`: it is none."""
    try:
        number = float(label)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def encode_number(label, number):
    """A number to be learned or scored."""
    found = as_number(label)
    if found is None:
        raise ElmoError(f"example {number}: the target {label!r} is not a finite number")
    return np.float32(found)


def check_every_class(ids, targets):
    """Refuses training targets that leave out a class."""
    missing = [label for label in ids if label not in set(targets)]
    if missing:
        raise ElmoError(
            f"no training example of the label {missing[0]!r}; leave it out of `labels`, or "
            "fit with strict=False"
        )


def warn_of_unknown(ids, targets):
    """Warns of labels to be scored that can't be answered, since training had none of them."""
    unknown = sorted(set(targets) - set(ids))
    if unknown:
        names = ", ".join(map(repr, unknown[:5]))
        warnings.warn(
            f"{len(unknown)} labels to be scored are unknown from training, so no answer can be "
            f"right there: {names}",
            stacklevel=4,
        )
