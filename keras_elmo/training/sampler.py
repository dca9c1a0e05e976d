"""Words drawn for a softmax over a large vocabulary."""

import numpy as np


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
