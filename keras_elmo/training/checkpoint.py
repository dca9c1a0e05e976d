"""Everything a training run needs to go on, in one file."""

import json
import math

import h5py
import numpy as np

from keras_elmo.errors import ElmoError
from keras_elmo.files import check_space
from keras_elmo.files import replaced

OVERHEAD = 1 << 20  # bytes of a file besides the numbers


def save(path, model, progress):
    """Writes the variables of a model and its optimizer, random and LSTM states among them.

    The file replaces the last one only when it is whole.

    Args:
        path: path of the HDF5 file.
        model: a compiled `LanguageModel`.
        progress: what JSON holds: the step, the position in the data.

    Raises:
        ElmoError: if a weight is not finite, or there is no room on the disk.
    """
    check_space(path, size(_variables(model)))
    with replaced(path) as temporary, h5py.File(temporary, "w") as file:
        for number, variable in enumerate(_variables(model)):
            array = model.devices.whole(variable)
            if not np.isfinite(array).all():
                raise ElmoError(
                    f"{variable.path} is no longer finite; an earlier {path}, if there is one, "
                    "stays as it was. Start again with a lower learning rate."
                )
            dataset = file.create_dataset(f"{number:04}", data=array)
            dataset.attrs["path"] = variable.path
        file["progress"] = json.dumps(progress)


def size(variables):
    """About how many bytes variables take in a file."""
    return OVERHEAD + 4 * sum(math.prod(variable.shape) for variable in variables)


def load(path, model):
    """Sets the variables to those of a checkpoint.

    Args:
        path: path of the HDF5 file.
        model: a compiled `LanguageModel`, built as the one that was saved.

    Returns:
        The `progress` that was saved.

    Raises:
        ElmoError: if the file is broken or of another model.
    """
    variables = _variables(model)
    try:
        with h5py.File(path, "r") as file:
            if len(file) != len(variables) + 1:
                raise ElmoError(
                    f"{path}: of another model, it holds {len(file) - 1} tensors, "
                    f"not {len(variables)}."
                )
            for number, variable in enumerate(variables):
                dataset = file[f"{number:04}"]
                if dataset.shape != tuple(variable.shape):
                    raise ElmoError(
                        f"{path}: of another model, {dataset.attrs['path']} has the shape "
                        f"{dataset.shape}, not {tuple(variable.shape)}."
                    )
                variable.assign(dataset[()])
            return json.loads(file["progress"][()])
    except (OSError, KeyError) as error:
        raise ElmoError(f"{path}: cannot be read ({error}); delete it to start anew.") from None


def _variables(model):
    # The learning rate is a setting, which may change when a run is started again.
    settings = {id(getattr(model.optimizer, "_learning_rate", None))}
    return [v for v in (*model.variables, *model.optimizer.variables) if id(v) not in settings]
