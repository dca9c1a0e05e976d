"""The one error class of the package, and a check that many need."""


class ElmoError(ValueError):
    """A file, an option or an input that cannot be used.

    The message is one line that says what happened, where (file, line, tensor) and what to do.
    The command line prints it and exits with status 2.

    Example:
        >>> raise keras_elmo.errors.ElmoError("weights.hdf5: tensor CNN_proj/W_proj is missing")
    """

    # Keras leaves it as it is, where it would add the arguments of `call` on further lines.
    _keras_call_info_injected = True


def check_counts(**counts):
    """Refuses numbers that count something and are below 1.

    Args:
        **counts: ints, by their names.

    Raises:
        ElmoError: names the first one that is too small.

    Example:
        >>> check_counts(epochs=10, batch_size=32)
    """
    for name, count in counts.items():
        if count < 1:
            raise ElmoError(f"{name} must be at least 1, not {count}")
