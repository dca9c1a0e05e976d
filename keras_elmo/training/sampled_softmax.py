"""Softmax over a large vocabulary, estimated from a sample of its words."""

import numpy as np
from keras import ops


class LogUniformSampler:
    """Draws distinct word ids, frequent ones more often.

        P(k) = log((k + 2) / (k + 1)) / log(V + 1)

    Ids are drawn one by one until `num_samples` different ones are there, as TensorFlow's
    candidate sampler does; the expected count of a word follows from the number of draws. Where
    the sample is the whole vocabulary, every word counts once and the loss is the full softmax.

    Args:
        vocabulary_size: int, V. Word ids are ordered by falling frequency.
        num_samples: int, ids a sample.

    Example:
        >>> sampler = LogUniformSampler(vocabulary_size=30000, num_samples=4096)
        >>> ids, num_draws = sampler.sample(np.random.default_rng(1))
        >>> log_expected = sampler.log_expected_count(ids, num_draws)

    Reference:
        - [Jean et al., 2015](https://arxiv.org/abs/1412.2007)
    """

    def __init__(self, vocabulary_size, num_samples):
        self.vocabulary_size = vocabulary_size
        self.num_samples = min(num_samples, vocabulary_size)

    def sample(self, rng):
        """Draws a sample.

        Args:
            rng: `numpy.random.Generator`.

        Returns:
            int32 array `(num_samples,)` of distinct ids, and the number of draws it took; `None`
            where the sample is the whole vocabulary.
        """
        if self.num_samples == self.vocabulary_size:
            return np.arange(self.vocabulary_size, dtype=np.int32), None
        draws = self._draw(rng, 2 * self.num_samples)
        while True:
            unique, first = np.unique(draws, return_index=True)
            if len(unique) >= self.num_samples:
                break
            draws = np.concatenate([draws, self._draw(rng, len(draws))])
        earliest = np.argsort(first)[: self.num_samples]
        return unique[earliest], int(first[earliest[-1]]) + 1

    def log_expected_count(self, ids, num_draws):
        """Logarithm of how often a sample of `num_draws` draws holds each id: `log(1 - (1-P)^n)`.

        Args:
            ids: int array of any shape.
            num_draws: int, or `None` as `sample` returned it.

        Returns:
            float32 array of the shape of `ids`.
        """
        if num_draws is None:
            return np.zeros(np.shape(ids), np.float32)
        ids = np.asarray(ids, np.float64)
        probability = np.log1p(1 / (ids + 1)) / np.log(self.vocabulary_size + 1)
        count = -np.expm1(num_draws * np.log1p(-probability))
        return np.log(count).astype(np.float32)

    def _draw(self, rng, size):
        # 1 + k is exp of a uniform number up to log(V + 1), cut to an integer.
        ids = np.exp(rng.random(size) * np.log(self.vocabulary_size + 1)).astype(np.int32) - 1
        return np.minimum(ids, self.vocabulary_size - 1)


def sampled_softmax_loss(
    inputs,
    targets,
    candidates,
    target_log_counts,
    candidate_log_counts,
    kernel,
    bias,
):
    """Negative log-likelihood of the targets against a sample of the other words.

    Every logit has the logarithm of its expected count in the sample taken off, and a candidate
    that is the target itself does not compete with it:
    `loss = log(exp(t) + sum_k exp(s_k)) - t`.

    Args:
        inputs: (tokens, dim), outputs of the model.
        targets: (tokens,) int, rows of the true words.
        candidates: (samples,) int, rows of the sampled words.
        target_log_counts: (tokens,), see `LogUniformSampler.log_expected_count`.
        candidate_log_counts: (samples,).
        kernel: (rows, dim), the softmax matrix or those of its rows that are used here.
        bias: (rows,).

    Returns:
        (tokens,), the loss of each token.
    """
    true_logits = ops.sum(ops.multiply(inputs, ops.take(kernel, targets, axis=0)), axis=-1)
    true_logits = true_logits + ops.take(bias, targets) - target_log_counts  # (tokens,)
    offsets = ops.take(bias, candidates) - candidate_log_counts
    logits = ops.matmul(inputs, ops.transpose(ops.take(kernel, candidates, axis=0))) + offsets
    hits = ops.equal(ops.expand_dims(targets, 1), ops.expand_dims(candidates, 0))
    logits = ops.where(hits, -1e30, logits)  # (tokens, samples)
    return ops.logaddexp(true_logits, ops.logsumexp(logits, axis=-1)) - true_logits
