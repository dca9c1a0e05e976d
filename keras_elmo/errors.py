"""The one error class of the package."""


class ElmoError(ValueError):
    """A file, an option or an input that cannot be used.

    The message is one line that says what happened, where (file, line, tensor) and what to do.
    The command line prints it and exits with status 2.

    Example:
        >>> raise keras_elmo.errors.ElmoError("weights.hdf5: tensor CNN_proj/W_proj is missing")
    """

    # Keras leaves it as it is, where it would add the arguments of `call` on further lines.
    _keras_call_info_injected = True
