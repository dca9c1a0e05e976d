"""Begin and end of sentence, put on and taken off again."""

import keras
import numpy as np
from keras import ops

from keras_elmo.text.characters import boundary_ids


@keras.saving.register_keras_serializable(package="keras_elmo")
class AddBoundaries(keras.layers.Layer):
    """Puts the begin and end of sentence around every sentence of character ids.

    The begin stands right before the first word, the end right after the last one; padding and
    holes stay where they are. An empty sentence becomes begin and end.

    Args:
        boundary_ids: two lists of int, the rows of begin and end of sentence; `None`: those of the
            published models.
        **kwargs: `name` of every Keras layer.

    Call arguments:
        char_ids: (batch, time, characters) int, all 0 where there is no word.

    Returns:
        (batch, time + 2, characters) of the same dtype.

    Example:
        >>> AddBoundaries()(keras_elmo.batch_to_ids([["A", "word"]])).shape
        (1, 4, 50)

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 3.4.
    """

    def __init__(self, boundary_ids=None, **kwargs):
        super().__init__(**kwargs)
        self.boundary_ids = boundary_ids

    def call(self, char_ids):
        rows = self.boundary_ids or boundary_ids(char_ids.shape[-1])
        dtype = keras.backend.standardize_dtype(char_ids.dtype)
        begin, end = np.asarray(rows, dtype=dtype)
        words = ops.any(ops.greater(char_ids, 0), axis=-1)  # (batch, time)
        time = ops.shape(char_ids)[1]
        words = ops.cast(words, "int32")
        # Sums, for a maximum over no words is an error.
        from_first = ops.cumsum(words, axis=1) > 0
        to_last = ops.cumsum(ops.flip(words, axis=1), axis=1) > 0
        last = ops.sum(ops.cast(to_last, "int32"), axis=1)  # (batch,)
        first = time + 1 - ops.sum(ops.cast(from_first, "int32"), axis=1)
        first = ops.minimum(first, last + 1)  # an empty sentence begins in the first place
        padded = ops.pad(char_ids, [[0, 0], [1, 1], [0, 0]])
        places = ops.arange(time + 2, dtype="int32")[None, :, None]
        padded = ops.where(places == first[:, None, None] - 1, begin, padded)
        return ops.where(places == last[:, None, None] + 1, end, padded)

    def compute_output_shape(self, input_shape):
        batch, time, characters = input_shape
        return batch, None if time is None else time + 2, characters

    def compute_output_spec(self, char_ids):
        return keras.KerasTensor(self.compute_output_shape(char_ids.shape), char_ids.dtype)

    def get_config(self):
        return {**super().get_config(), "boundary_ids": self.boundary_ids}


@keras.saving.register_keras_serializable(package="keras_elmo")
class RemoveBoundaries(keras.layers.Layer):
    """Takes the places of the boundaries out again: the inverse of `AddBoundaries`.

    The end of a short sentence lies where a longer one still has words; its place becomes 0 by
    the mask.

    Args:
        **kwargs: `name`, `dtype` of every Keras layer.

    Call arguments:
        inputs: (batch, ..., time + 2, dim) float.
        mask: (batch, time) bool, of the sentences without boundaries.

    Returns:
        (batch, ..., time, dim), exactly 0 where the mask is false.

    Example:
        >>> mask = keras.ops.ones((1, 3), dtype="bool")
        >>> RemoveBoundaries()(keras.random.normal((1, 5, 4)), mask=mask).shape
        (1, 3, 4)

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 3.4.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs, mask):
        inner = inputs[..., 1:-1, :]
        while len(mask.shape) < len(inner.shape):
            mask = mask[..., None] if len(mask.shape) == len(inner.shape) - 1 else mask[:, None]
        return ops.where(mask, inner, ops.zeros_like(inner))

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask if len(inputs.shape) == 3 else None

    def get_config(self):
        return super().get_config()  # said here, for Keras to trust it with a policy object

    def compute_output_spec(self, inputs, mask):
        *leading, time, dim = inputs.shape
        return keras.KerasTensor((*leading, None if time is None else time - 2, dim), inputs.dtype)
