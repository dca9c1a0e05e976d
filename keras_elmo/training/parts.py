"""A batch of training divided by its rows."""

import numpy as np

from keras_elmo.layers.bilm import DIRECTIONS
from keras_elmo.models.batch_rows import some_rows


def take_part(batch, number, parts):
    """One of the equal parts of a batch, with only those distinct words that its rows hold.

    The rows of the softmax and its samples stay whole: all parts share them.

    Args:
        batch: dict as `TrainingBatches.prepare` gives it.
        number: int, which part.
        parts: int, how many there are.

    Returns:
        A dict of the same kind.

    Example:
        >>> [len(take_part(batch, k, 2)["forward"]) for k in range(2)]
        [64, 64]
    """
    if parts == 1:
        return batch
    size = len(batch["forward"]) // parts
    part = some_rows(batch, slice(number * size, (number + 1) * size))
    words = sorted(name for name in batch if name.startswith("char_ids"))
    *starts, _ = ends = np.cumsum([0, *(len(batch[name]) for name in words)])
    # With the first of each array, for not every backend takes one that is empty.
    used = np.unique(np.concatenate([starts, *(part[name].ravel() for name in DIRECTIONS)]))
    for name, start, end in zip(words, starts, ends[1:], strict=True):
        part[name] = batch[name][used[(start <= used) & (used < end)] - start]
    for name in DIRECTIONS:
        part[name] = np.searchsorted(used, part[name]).astype(np.int32)
    return part
