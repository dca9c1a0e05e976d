"""Which arrays of a batch of training hold something for each of its rows."""

# Names, or their ends.
BY_ROW = (
    "forward",
    "backward",
    "mask",
    "targets",
    "target_rows",
    "target_log_counts",
    "state_kept",
)


def is_divided(name):
    """Whether devices divide the array of that name among them: what is by row, and the words."""
    return name.endswith(BY_ROW) or name.startswith("char_ids")


def some_rows(batch, rows):
    """A batch with some of its rows; what all rows share stays whole.

    Args:
        batch: dict as `TrainingBatches.prepare` gives it.
        rows: slice.

    Returns:
        A dict of the same kind.

    Example:
        >>> some_rows(batch, slice(0, 32))["forward"].shape
        (32, 20)
    """
    return {name: x[rows] if name.endswith(BY_ROW) else x for name, x in batch.items()}
