import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo.layers.crf import CRF
from tests.contract import jit_compile

MASK = np.array([[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]], bool)
ALLOWED = [[True, True, False], [True, True, True], [True, False, True]]
STARTS = [True, True, False]


def make(**arguments):
    crf = CRF(3, **arguments)
    crf.build((None, None, 3))
    rng = np.random.default_rng(1)
    for weight in crf.trainable_variables:
        weight.assign(rng.normal(size=weight.shape))
    return crf


def emissions():
    return np.random.default_rng(2).normal(size=(*MASK.shape, 3)).astype("float32")


def brute_force(crf, x):
    """All sequences of tags of one sentence with their scores, in float64."""
    transitions, starts, ends = (np.float64(ops.convert_to_numpy(w)) for w in crf._scores())
    for tags in itertools.product(range(3), repeat=len(x)):
        pairs = sum(transitions[a, b] for a, b in itertools.pairwise(tags))
        own = sum(row[tag] for row, tag in zip(np.float64(x), tags, strict=True))
        yield tags, starts[tags[0]] + own + pairs + ends[tags[-1]]


@pytest.mark.parametrize("constraints", [{}, {"allowed_transitions": ALLOWED}])
@pytest.mark.parametrize("starts", [{}, {"allowed_starts": STARTS}])
def test_agrees_with_all_sequences(constraints, starts):
    crf, x = make(**constraints, **starts), emissions()
    tags, scores = map(ops.convert_to_numpy, crf.decode(x, MASK))
    found = ops.convert_to_numpy(crf.log_likelihood(x, tags, MASK))
    for row, mask in enumerate(MASK):
        np.testing.assert_array_equal(tags[row][~mask], 0)
        if not mask.any():
            assert scores[row] == found[row] == 0
            continue
        sequences = dict(brute_force(crf, x[row][mask]))
        best = max(sequences, key=sequences.get)
        assert tuple(tags[row][mask]) == best
        np.testing.assert_allclose(scores[row], sequences[best], atol=1e-5)
        total = np.logaddexp.reduce(list(sequences.values()))
        np.testing.assert_allclose(found[row], sequences[best] - total, atol=1e-5)


def test_probabilities_sum_to_one():
    crf, x = make(allowed_transitions=ALLOWED), emissions()[:1, :3]
    tags = np.array(list(itertools.product(range(3), repeat=3)))
    logs = ops.convert_to_numpy(crf.log_likelihood(np.repeat(x, len(tags), axis=0), tags))
    np.testing.assert_allclose(np.exp(logs).sum(), 1.0, atol=1e-5)


def test_forbidden_transitions_are_never_chosen():
    crf = make(allowed_transitions=ALLOWED, allowed_starts=STARTS)
    x = np.zeros((1, 50, 3), "float32")
    x[..., 2] = 5.0  # would like tag 2 everywhere
    tags = ops.convert_to_numpy(crf(x))[0]
    assert tags[0] != 2
    assert all(ALLOWED[a][b] for a, b in itertools.pairwise(tags))


@keras.saving.register_keras_serializable(package="tests")
class Likelihood(keras.layers.Layer):
    def __init__(self, crf):
        super().__init__()
        self.crf = crf

    def call(self, x):
        emissions, tags, mask = x
        return -self.crf.log_likelihood(emissions, tags, mask)


@pytest.mark.parametrize("jit", [False, True])
def test_gradient_is_the_difference_of_expected_counts(jit):
    """d log p / d starts[k] = [y_1 = k] - p(y_1 = k), compiled and not."""
    crf, x = make(), emissions()[:1]
    tags = np.array([[2, 0, 1, 1]])
    sequences = dict(brute_force(crf, x[0]))
    total = np.logaddexp.reduce(list(sequences.values()))
    expected = np.eye(3)[2]
    for sequence, score in sequences.items():
        expected[sequence[0]] -= np.exp(score - total)
    before = ops.convert_to_numpy(crf.starts).copy()
    model = keras.Sequential([Likelihood(crf)])
    model.compile(
        keras.optimizers.SGD(1.0), lambda _, loss: loss, jit_compile=jit and jit_compile()
    )
    model.train_on_batch((x, tags, np.ones((1, 4), bool)), np.zeros((1,)))
    np.testing.assert_allclose(ops.convert_to_numpy(crf.starts) - before, expected, atol=1e-5)


def test_symbolic_and_saved():
    crf = make(allowed_transitions=ALLOWED)
    x = keras.Input((None, 3))
    mask = keras.Input((None,), dtype="bool")
    model = keras.Model([x, mask], crf(x, mask=mask))
    found = model.predict_on_batch([emissions(), MASK])
    again = keras.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(found, again.predict_on_batch([emissions(), MASK]))
    np.testing.assert_array_equal(found, ops.convert_to_numpy(crf(emissions(), MASK)))
