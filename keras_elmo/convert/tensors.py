"""Checks on the tensors of a model file, before anything runs."""

import numpy as np

from keras_elmo.errors import ElmoError


def check_tensor(path, name, array, shape, zeros=False):
    """Returns a float array of the wanted shape, or says what is wrong with it.

    Args:
        path: the file, for the message.
        name: the tensor, for the message.
        array: array-like.
        shape: tuple of int; `None` stands for any size.
        zeros: bool, whether a matrix may be all zeros, as what has not learned yet is.

    Returns:
        The values as a NumPy array.

    Raises:
        ElmoError: if the shape differs, a value is not finite, or a matrix is all zeros.

    Example:
        >>> check_tensor("weights.hdf5", "CNN_proj/b_proj", np.ones(3), (3,))
        array([1., 1., 1.])
    """
    array = np.asarray(array)
    if len(array.shape) != len(shape) or any(
        wanted not in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
    ):
        raise ElmoError(
            f"{path}: tensor {name} has the shape {array.shape}, but the options ask for "
            f"{tuple(shape)}; options and weights must belong to the same model"
        )
    if not np.issubdtype(array.dtype, np.floating):
        raise ElmoError(f"{path}: tensor {name} holds {array.dtype}, not floating-point numbers")
    with np.errstate(over="ignore"):
        finite = np.isfinite(array.astype("float32", copy=False)).all()
    if not finite:
        raise ElmoError(f"{path}: tensor {name} holds NaN or infinite values; get the file again")
    if array.ndim > 1 and not zeros and not array.any():
        raise ElmoError(f"{path}: tensor {name} is all zeros; get the file again")
    return array


def named_tensor(path, tensors, name, shape):
    """As `check_tensor`, of the tensor of that name in a dict, which must be there."""
    if name not in tensors:
        raise ElmoError(f"{path}: tensor {name} is missing; the file is not complete")
    return check_tensor(path, name, tensors[name], shape)
