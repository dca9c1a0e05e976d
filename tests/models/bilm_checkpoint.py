"""The language model of a bilm-tf checkpoint, for the goldens of the original trainer."""

import keras
import numpy as np

from keras_elmo.convert import published
from keras_elmo.convert import tf_checkpoint
from keras_elmo.models.language_model import LanguageModel


def language_model(folder, batch_size, **arguments):
    """The model in `folder / "checkpoint"`, all of it trainable."""
    elmo = tf_checkpoint.load(folder / "checkpoint", trainable_bilm=True)
    weights, biases, words = tf_checkpoint.load_softmax(folder / "checkpoint")
    model = LanguageModel(elmo.embedding, elmo.bilm, len(words), batch_size, **arguments)
    model.softmax.set_weights([weights, biases])
    return model


def places(model):
    """Pairs of a published name and the variables that are stacked under it."""
    yield from published.places(model.embedding, model.bilm)
    yield "softmax/W", [model.softmax.kernel]
    yield "softmax/b", [model.softmax.bias]


def load_slots(model, folder):
    """Sets the state of the optimizer to that of the checkpoint."""
    prefix = tf_checkpoint.newest(folder / "checkpoint")
    variables = tf_checkpoint.read_variables(prefix, slots=True)
    slots = {
        name.removesuffix(tf_checkpoint.SLOT): array
        for name, array in variables.items()
        if name.endswith(tf_checkpoint.SLOT)
    }
    tensors, optimizer = tf_checkpoint.published_tensors(slots), model.optimizer
    for name, stacked in places(model):
        array = as_ours(name, tensors[name], first_row=1.0)
        for variable in stacked:
            slot = optimizer._accumulators[optimizer._get_variable_index(variable)]
            slot.assign(array[: slot.shape[0]])
            array = array[slot.shape[0] :]


def assert_variables(model, arrays):
    """Compares all variables with those of a graph, by their names there."""
    tensors = tf_checkpoint.published_tensors(arrays)
    for name, stacked in places(model):
        found = np.concatenate([numpy(variable) for variable in stacked])
        expected = as_ours(name, tensors[name])
        np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=name)


def as_ours(name, array, first_row=0.0):
    """A published tensor in the shape of our variables; ours have a row for "no token here"."""
    if name == "char_embed":
        return np.pad(array, ((1, 0), (0, 0)), constant_values=first_row)
    return array[0] if name.startswith(published.IMAGES) else array


def numpy(variable):
    return keras.ops.convert_to_numpy(variable)
