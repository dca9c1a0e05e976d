import functools

import numpy as np
import pytest

from tests import fixtures
from tests import reference

pytestmark = pytest.mark.minimal

close = functools.partial(np.testing.assert_allclose, rtol=0)


def test_ids_of_the_design():
    the = [259, 85, 105, 102, 260] + [261] * 45
    begin, end = ([259, code, 260] + [261] * 47 for code in (257, 258))
    ids = reference.batch_to_ids([["The"], []])
    assert reference.add_boundaries(ids).tolist() == [[begin, the, end], [begin, end, [0] * 50]]


def test_the_forget_gate_adds_one():
    zeros = reference.LSTM(np.zeros((2, 4)), np.zeros(4), None, None, None)
    _, c = reference.lstm_step(np.zeros(1), np.zeros(1), np.ones(1), zeros)
    close(c, 1 / (1 + np.exp(-1)), atol=1e-15)


@pytest.mark.parametrize("padding", ["left", "holed"])
def test_masked_positions_are_skipped(reference_model, padding):
    model = reference_model("clips_bite")
    masks = fixtures.make_masks()
    x = fixtures.make_vectors(masks[padding])
    layers, state = reference.bilm(x, masks[padding], model)
    moved = fixtures.compact(x, masks[padding], x.shape[1])
    expected, expected_state = reference.bilm(moved, masks["right"], model)
    swapped = layers.swapaxes(1, 2)
    np.testing.assert_array_equal(
        fixtures.compact(swapped, masks[padding], x.shape[1]), expected.swapaxes(1, 2)
    )
    np.testing.assert_array_equal(state[0], expected_state[0])
    np.testing.assert_array_equal(state[1], expected_state[1])
    assert not swapped[~masks[padding]].any()


def test_an_empty_position_inside_a_sentence_changes_no_word(reference_model):
    model = reference_model("plain")
    ids = fixtures.make_char_ids([6])
    holed = np.insert(ids, [0, 0, 3], 0, axis=1)
    result, expected = reference.elmo(holed, model), reference.elmo(ids, model)
    np.testing.assert_array_equal(result["layers"][:, :, result["mask"][0]], expected["layers"])


def test_the_state_carries_the_forward_half(reference_model):
    model = reference_model("three_layers")
    mask = np.ones((2, 6), bool)
    x = fixtures.make_vectors(mask)
    whole, (h, _) = reference.bilm(x, mask, model)
    first, state = reference.bilm(x[:, :2], mask[:, :2], model)
    second, (later, _) = reference.bilm(x[:, 2:], mask[:, 2:], model, state)
    chunked = np.concatenate([first, second], axis=2)
    np.testing.assert_array_equal(chunked[..., :8], whole[..., :8])
    np.testing.assert_array_equal(later[..., :8], h[..., :8])


def test_a_word_needs_no_more_padding_than_the_widest_filter(reference_model):
    cnn = reference_model("tanh").char_cnn
    ids = reference.batch_to_ids([["a", "word", "or", "two"]])[0]
    trimmed = ids[:, : 6 + 5]
    np.testing.assert_array_equal(reference.char_cnn(trimmed, cnn), reference.char_cnn(ids, cnn))


@pytest.mark.parametrize("norm", ["allennlp", "bilm"])
def test_an_empty_batch_mixes_to_zero(norm):
    layers = np.full((2, 3, 4, 8), np.nan)
    mixed = reference.scalar_mix(layers, np.zeros((2, 4), bool), np.zeros(3), norm=norm)
    np.testing.assert_array_equal(mixed, np.zeros((2, 4, 8)))


def test_a_fresh_mix_is_the_mean(reference_model):
    result = reference.elmo(fixtures.make_char_ids(), reference_model("plain"))
    close(result["elmo"], result["layers"].mean(axis=1), atol=1e-15)
