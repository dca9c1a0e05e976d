import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.embedding.packing import DISTINCT
from keras_elmo.embedding.packing import FEW_ROWS
from keras_elmo.embedding.packing import LONGEST
from keras_elmo.embedding.packing import USUAL_WIDTH
from keras_elmo.embedding.packing import WIDTHS
from keras_elmo.embedding.packing import pack

any_lengths = st.lists(st.one_of(st.integers(0, 70), st.integers(0, LONGEST)), max_size=60)


@given(any_lengths, st.sampled_from([64, 512, 4096]))
def test_every_token_has_a_place_of_its_own(lengths, batch_tokens):
    found = []
    for batch in pack(lengths, batch_tokens):
        taken = np.zeros(batch.shape, int)
        for number, row, positions in batch.spans():
            assert positions.stop - positions.start == lengths[number]
            assert 0 <= positions.start < positions.stop <= batch.shape[1]
            taken[row, positions] += 1
            found.append(number)
        assert taken.max() == 1
    assert sorted(found) == [k for k, n in enumerate(lengths) if n]


@given(any_lengths, st.sampled_from([64, 512, 4096]))
def test_few_shapes(lengths, batch_tokens):
    for batch in pack(lengths, batch_tokens):
        rows, width = batch.shape
        full = max(1, batch_tokens // max(USUAL_WIDTH, width // 2))
        assert width in WIDTHS
        assert rows == full or (rows in FEW_ROWS and rows < full)


def test_marks():
    lengths = [3, 2, 4]
    (batch,) = pack(lengths, batch_tokens=64)
    firsts, lasts = batch.firsts(), batch.lasts()
    assert firsts.sum() == lasts.sum() == 3
    for number, row, positions in batch.spans():
        assert firsts[row, positions].tolist() == [True] + [False] * (lengths[number] - 1)
        assert lasts[row, positions].tolist() == [False] * (lengths[number] - 1) + [True]


@given(any_lengths.filter(any), st.integers(1, 400), st.sampled_from([64, 512]))
def test_distinct_vectors_in_their_places(lengths, types, batch_tokens):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(types, 2)).astype(np.float32)
    sentences = [rng.integers(0, types, n) for n in lengths]
    for batch in pack(lengths, batch_tokens):
        table, places = batch.distinct(sentences, vectors)
        size = places.size
        assert len(table) in (int(DISTINCT * size), size)
        assert places.min() >= 0
        assert places.max() < len(table)
        for number, row, positions in batch.spans():
            np.testing.assert_array_equal(table[places[row, positions]], vectors[sentences[number]])


@pytest.mark.parametrize("batch_tokens", [512, 4096])
def test_little_is_wasted(batch_tokens):
    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.gamma(2.5, 8.0, 4000).astype(int) + 1, 200).tolist()
    window = 0
    while sum(lengths[: window + 1]) <= 0.98 * 4 * batch_tokens:
        window += 1
    padded = sum(
        rows * width for rows, width in (b.shape for b in pack(lengths[:window], batch_tokens))
    )
    assert padded / sum(lengths[:window]) < 1.1


def test_one_long_sentence_among_short_ones():
    lengths = [1] * 63 + [500]
    padded = sum(np.prod(batch.shape) for batch in pack(lengths, 4096))
    assert padded / sum(lengths) <= 2
