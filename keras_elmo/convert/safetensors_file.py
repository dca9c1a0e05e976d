"""Weights as safetensors: what the Hugging Face Hub shows, and other languages read."""

import keras

from keras_elmo.convert.tensors import check_tensor
from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced
from keras_elmo.models.elmo import output_names


def save(elmo, path, dtype=None):
    """Writes the weights of a model.

    Args:
        elmo: an `Elmo`.
        path: the file, such as `model.safetensors`.
        dtype: such as `"float16"`; `None` keeps what they are.

    Raises:
        ElmoError: if safetensors is not installed.

    Example:
        >>> safetensors_file.save(keras_elmo.load(), "model.safetensors")
    """
    tensors = {
        name: keras.ops.convert_to_numpy(variable).astype(dtype or variable.dtype)
        for name, variable in _variables(elmo)
    }
    with replaced(path) as temporary:
        _library(path).save_file(tensors, temporary, metadata={"format": "keras_elmo"})


def load(elmo, path):
    """Sets the weights of a model to those of a file.

    Args:
        elmo: an `Elmo`.
        path: a file that `save` wrote.

    Raises:
        ElmoError: if the file is broken or of another model, or safetensors is not installed.

    Example:
        >>> safetensors_file.load(elmo, "model.safetensors")
    """
    library = _library(path)
    try:
        tensors = library.load_file(path)
    except Exception as error:  # the library raises a class that it does not show
        raise ElmoError(f"{path}: truncated, or no safetensors file ({error})") from None
    for name, variable in _variables(elmo):
        if name not in tensors:
            raise ElmoError(f"{path}: tensor {name} is missing; the file is of another model")
        variable.assign(check_tensor(path, name, tensors[name], tuple(variable.shape)))


def _variables(elmo):
    """Pairs of a name, such as `bilm.forward_0.kernel`, and its variable."""
    mixes = [name.replace("elmo", "scalar_mix") for name in output_names(elmo.num_representations)]
    for part in ("embedding", "bilm", *mixes):
        layer = getattr(elmo, part)
        states = {id(state) for state in layer.non_trainable_variables if "state_" in state.name}
        for variable in layer.variables:
            if id(variable) not in states:
                inner = variable.path.removeprefix(f"{layer.name}/")
                yield f"{part}.{inner.replace('/', '.')}", variable


def _library(path):
    try:
        import safetensors.numpy
    except ImportError:
        raise ElmoError(
            f'{path}: needs safetensors: pip install "keras-elmo[safetensors]"'
        ) from None
    return safetensors.numpy
