"""A linear-chain conditional random field over the tags of a sentence."""

import keras
from keras import ops

from keras_elmo import backend
from keras_elmo.backend import loops

FORBIDDEN = -10000.0  # finite, so that gradients stay finite


@keras.saving.register_keras_serializable(package="keras_elmo")
class CRF(keras.layers.Layer):
    """Finds the best tags of a sentence as a whole, and the probability of given ones.

        score(y) = start[y_1] + sum_t x_t[y_t] + sum_t transitions[y_t-1, y_t] + end[y_n]
        p(y) = exp(score(y)) / sum_y' exp(score(y'))

    Both are exact (Viterbi, forward algorithm) and computed in float32. A masked position is
    skipped, wherever it lies. A transition that is not allowed scores -10000.

    Args:
        num_tags: int, K.
        allowed_transitions: (K, K) nested list of bool, whether the second tag may follow the
            first; `None`: all may.
        allowed_starts: list of K bool, whether a sentence may begin with the tag; `None`: all may.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        emissions: (batch, time, K) float, a score for each tag at each position.
        mask: (batch, time) bool, or `None`.

    Returns:
        (batch, time) int32, the tags of the best sequence; 0 where the mask is false.

    Example:
        >>> crf = CRF(num_tags=3)
        >>> tags = crf(keras.random.normal((2, 5, 3)))
        >>> crf.log_likelihood(keras.random.normal((2, 5, 3)), tags).shape
        (2,)

    Reference:
        Lafferty, McCallum and Pereira (2001), Conditional random fields.
    """

    def __init__(self, num_tags, allowed_transitions=None, allowed_starts=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_tags = num_tags
        self.allowed_transitions = allowed_transitions
        self.allowed_starts = allowed_starts

    def build(self, emissions_shape):
        size = self.num_tags
        for name, shape in (("transitions", (size, size)), ("starts", (size,)), ("ends", (size,))):
            weight = self.add_weight(
                name=name, shape=shape, initializer="zeros", dtype="float32", autocast=False
            )
            setattr(self, name, weight)

    def call(self, emissions, mask=None):
        return self.decode(emissions, mask)[0]

    def decode(self, emissions, mask=None):
        """The best tags, and their score (batch,)."""
        return _decode(*_time_major(emissions, mask), self._scores())

    def log_likelihood(self, emissions, tags, mask=None):
        """Log-probability of tags (batch, time) int, of shape (batch,); 0 for no tokens."""
        tags = ops.swapaxes(ops.cast(tags, "int32"), 0, 1)
        return _log_likelihood(*_time_major(emissions, mask), tags, self._scores())

    def _scores(self):
        transitions, starts = (
            weight + _penalty(allowed)
            for weight, allowed in (
                (self.transitions, self.allowed_transitions),
                (self.starts, self.allowed_starts),
            )
        )
        return transitions, starts, ops.convert_to_tensor(self.ends)

    def compute_output_spec(self, emissions, mask=None):
        return keras.KerasTensor(emissions.shape[:2], "int32")

    def compute_mask(self, emissions, previous_mask=None):
        return previous_mask

    def get_config(self):
        return {
            **super().get_config(),
            "num_tags": self.num_tags,
            "allowed_transitions": self.allowed_transitions,
            "allowed_starts": self.allowed_starts,
        }


def argmax(scores):
    """The first place of the largest score, (..., K) to (...) int32.

    On TensorFlow, Keras' own has an operation that no phone knows.
    """
    size = scores.shape[-1]
    places = ops.arange(size, dtype="int32")
    best = ops.greater_equal(scores, ops.max(scores, axis=-1, keepdims=True))
    return ops.min(ops.where(best, places, ops.full_like(places, size - 1)), axis=-1)


def _penalty(allowed):
    if allowed is None:
        return 0.0
    return (1.0 - ops.cast(ops.convert_to_tensor(allowed), "float32")) * FORBIDDEN


def _time_major(emissions, mask):
    emissions = ops.swapaxes(ops.cast(emissions, "float32"), 0, 1)  # (time, batch, K)
    if mask is None:
        return emissions, ops.ones_like(emissions[..., :1], dtype="bool")
    return emissions, ops.swapaxes(ops.cast(mask, "bool"), 0, 1)[..., None]  # (time, batch, 1)


def _start(emissions):
    """Scores of no tag yet, and that no token was seen."""
    alpha = ops.zeros_like(ops.sum(emissions, axis=0))  # also where there is no position at all
    return alpha, ops.cast(alpha[:, :1], "bool")


def _forward(emissions, mask, scores, reduce):
    """Scores of all ways to every tag: final (batch, K), at each position (time, batch, K)."""
    transitions, starts, _ = scores

    def step(state, slices):
        alpha, seen = state
        x, real = slices
        onward = reduce(alpha[:, :, None] + transitions, axis=1)
        alpha = ops.where(real, x + ops.where(seen, onward, starts), alpha)
        return (alpha, ops.logical_or(seen, real)), (alpha,)

    (alpha, seen), (alphas,) = loops.scan(step, (emissions, mask), _start(emissions))
    return alpha, seen, alphas


@backend.compiled_once()
def _decode(emissions, mask, scores):
    transitions, _, ends = scores
    alpha, seen, alphas = _forward(emissions, mask, scores, ops.max)
    best = ops.where(seen[:, 0], ops.max(alpha + ends, axis=-1), 0.0)

    def step(state, slices):
        following, later = state  # the tag of the next token, and whether there is one
        alpha, real = slices
        real = real[:, 0]
        onward = ops.take(ops.transpose(transitions), following, axis=0)  # (batch, K)
        onward = ops.where(later[:, None], onward, ends)
        tag = argmax(alpha + onward)
        held = ops.where(real, tag, following)
        tag = ops.where(real, tag, ops.zeros_like(tag))
        return (held, ops.logical_or(later, real)), (tag,)

    none = ops.zeros_like(seen[:, 0])
    state = (ops.cast(none, "int32"), none)
    _, (tags,) = loops.scan(step, (alphas, mask), state, reverse=True)
    return ops.swapaxes(tags, 0, 1), best


@backend.compiled_once()
def _log_likelihood(emissions, mask, tags, scores):
    transitions, starts, ends = scores
    alpha, seen, _ = _forward(emissions, mask, scores, ops.logsumexp)
    total = ops.logsumexp(alpha + ends, axis=-1)
    size = ends.shape[0]
    pairs = ops.reshape(transitions, (-1,))

    def step(state, slices):
        score, tag, seen = state
        x, real, new = slices
        real = real[:, 0]
        onward = ops.where(seen, ops.take(pairs, tag * size + new), ops.take(starts, new))
        here = ops.sum(x * ops.one_hot(new, size), axis=-1) + onward
        score = score + ops.where(real, here, ops.zeros_like(here))
        return (score, ops.where(real, new, tag), ops.logical_or(seen, real)), (score,)

    first, unseen = _start(emissions)
    state = (first[:, 0], ops.cast(first[:, 0], "int32"), unseen[:, 0])
    (score, last, _), _ = loops.scan(step, (emissions, mask, tags), state)
    found = score + ops.take(ends, last) - total
    return ops.where(seen[:, 0], found, ops.zeros_like(found))
