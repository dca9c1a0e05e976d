import gc

import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import backend
from keras_elmo import recurrence

BATCH, INPUT_DIM, UNITS = 2, 3, 6
CLIPS = (0.4, 0.2)
MASK = np.array([[False, True, True, False, False], [True, True, False, True, True]])


def tensors(time, projection_dim, seed=1):
    """Inputs, state and weights, as float32 arrays."""
    rng = np.random.default_rng(seed)
    hidden = projection_dim or UNITS
    shapes = [(BATCH, time, INPUT_DIM), (BATCH, hidden), (BATCH, UNITS)]
    shapes += [(INPUT_DIM, 4 * UNITS), (hidden, 4 * UNITS), (4 * UNITS,)]
    shapes += [(UNITS, projection_dim)] if projection_dim else []
    return [rng.normal(0, 0.5, shape).astype("float32") for shape in shapes]


def run(arrays, training, clips, backwards=False, mask=None):
    """A number that depends on all outputs, and its gradient with respect to every tensor."""

    def loss(x, h, c, *weights):
        weights = [*weights, None][:4]
        outputs, state = recurrence.lstm(
            x, mask, [h, c], weights, clips, backwards, training=training
        )
        numbers = [ops.sum(ops.sin(3.0 * part + 0.1)) for part in (outputs, *state)]
        return numbers[0] + 2.0 * numbers[1] + 3.0 * numbers[2], outputs

    model = keras.Sequential()  # without a weight
    given = [ops.convert_to_tensor(array) for array in arrays]
    (value, outputs), _, found = backend.gradients(loss, model, [], given)
    return [ops.convert_to_numpy(x) for x in (value, outputs, *found)]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("clips", [CLIPS, (None, None)])
@pytest.mark.parametrize("projection_dim", [4, None])
@pytest.mark.parametrize(("time", "mask"), [(1, None), (5, None), (5, MASK), (5, ~MASK)])
def test_equals_automatic_differentiation(time, mask, projection_dim, clips, backwards):
    arrays = tensors(time, projection_dim)
    by_hand = run(arrays, True, clips, backwards, mask)
    automatic = run(arrays, False, clips, backwards, mask)
    for found, expected in zip(by_hand, automatic, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_is_the_slope_of_the_loss():
    arrays = tensors(4, 4)
    _, _, *gradients = run(arrays, True, CLIPS)
    for k, gradient in enumerate(gradients):
        step = 1e-2 * np.random.default_rng(k).choice([-1.0, 1.0], gradient.shape).astype("float32")
        ends = []
        for sign in (-1, 1):
            moved = [a + sign * step if n == k else a for n, a in enumerate(arrays)]
            ends.append(run(moved, True, (None, None))[0])
        slopes = run(arrays, True, (None, None))[2 + k]
        assert (ends[1] - ends[0]) / 2 == pytest.approx((slopes * step).sum(), rel=0.02, abs=1e-3)


def test_nothing_passes_where_clips_bite():
    """So small clips that every output and cell lies on them."""
    _, outputs, *gradients = run(tensors(3, 4), True, (1e-6, 1e-7))
    assert np.isclose(np.abs(outputs), 1e-7).any()
    assert all(np.abs(gradient).max() < 1e-3 for gradient in gradients)


@pytest.mark.torch
def test_frees_what_it_kept_at_once():
    import torch

    def kept():
        return sum(torch.is_tensor(x) and x.shape == (3, BATCH, UNITS) for x in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        given = [torch.tensor(array, requires_grad=True) for array in tensors(3, 4)]
        results = recurrence.lstm(given[0], None, given[1:3], given[3:], CLIPS, training=True)
        assert kept() >= 5  # the cells and the four gates
        del results
        assert kept() == 0
    finally:
        gc.enable()
