"""Softmax over a large vocabulary, estimated from a sample of its words."""

from keras import ops

from keras_elmo.backend import loops
from keras_elmo.backend import products
from keras_elmo.backend.custom_gradient import with_gradient

TOKENS = 256  # whose logits are computed at once


def sampled_softmax_loss(
    inputs,
    targets,
    candidates,
    target_log_counts,
    candidate_log_counts,
    kernel,
    bias,
    weights=None,
):
    """Mean negative log-likelihood of the targets against a sample of the other words.

    Every logit has the logarithm of its expected count in the sample taken off, and a candidate
    that is the target itself does not compete with it:
    `loss = log(exp(t) + sum_k exp(s_k)) - t`, over the candidates k that are not the target.

    Args:
        inputs: (tokens, dim), outputs of the model.
        targets: (tokens,) int, rows of the true words.
        candidates: (samples,) int, rows of the sampled words, all different.
        target_log_counts: (tokens,), see `LogUniformSampler.log_expected_count`.
        candidate_log_counts: (samples,), likewise; a target among them has the same there.
        kernel: (rows, dim), the softmax matrix or those of its rows that are used here.
        bias: (rows,).
        weights: (tokens,), what each token counts in the sum of losses; `None`: their mean.

    Returns:
        A scalar. Its gradient is computed along with it.
    """
    if weights is None:
        ones = ops.ones_like(inputs[:, 0])
        weights = ones / ops.sum(ones)
    true_logits = ops.sum(ops.multiply(inputs, ops.take(kernel, targets, axis=0)), axis=-1)
    true_logits = true_logits + ops.take(bias, targets) - target_log_counts  # (tokens,)
    ones = ops.ones_like(candidates)
    sampled = ops.segment_sum(ones, candidates, ops.shape(bias)[0])  # (rows,)
    total = _log_sum_exp(
        inputs,
        ops.take(kernel, candidates, axis=0),
        ops.take(bias, candidates) - candidate_log_counts,
        true_logits,
        ops.take(sampled, targets),
        weights,
    )
    return total - ops.sum(weights * true_logits)


def _log_sum_exp(inputs, kernel, offsets, true_logits, sampled, weights):
    """The weighted sum of log(exp(t) + sum_k exp(x w_k + offset_k)), and its gradient.

    Where the target is among the candidates its logit is in the inner sum already, as t = s_k.

    The logits of a few tokens at a time are computed, and at once all that the gradient needs of
    them: those of all are more than a cache holds, and slow to write and read.

    Args:
        inputs: (tokens, dim).
        kernel: (samples, dim).
        offsets: (samples,).
        true_logits: (tokens,).
        sampled: (tokens,) int, 1 where the target is among the candidates, 0 elsewhere.
        weights: (tokens,).

    Returns:
        A scalar.
    """

    def run(inputs, kernel, offsets, true_logits):
        logits = products.affine([ops.transpose(kernel)], offsets)
        product = products.affine([kernel])

        def step(state, slices):
            total, d_kernel, d_offsets = state
            x, true, sampled, weight = slices
            highest, powers, sums = products.exponentials(logits(x))  # (TOKENS, samples)
            others = highest + ops.log(sums)
            log_sum = ops.where(sampled > 0, others, ops.logaddexp(true, others))
            share = ops.exp(others - log_sum) * weight
            shares = products.scale_rows(powers, share / sums)
            total = total + ops.sum(log_sum * weight)
            d_kernel = products.add_product_over_rows(d_kernel, x, shares)
            d_offsets = d_offsets + ops.sum(shares, axis=0)
            return (total, d_kernel, d_offsets), (product(shares), weight - share)

        slices = tuple(map(_in_parts, (inputs, true_logits, sampled, weights)))
        start = (
            ops.zeros_like(offsets[0]),
            ops.zeros_like(ops.transpose(kernel)),
            ops.zeros_like(offsets),
        )
        like = slices[0][0], slices[3][0]
        (total, d_kernel, d_offsets), parts = loops.scan(step, slices, start, like=like)
        d_inputs, d_true = (_whole(part, inputs) for part in parts)

        def pull_back(gradient):
            found = d_inputs, ops.transpose(d_kernel), d_offsets, d_true
            return tuple(gradient * one for one in found)

        return (total,), pull_back

    return with_gradient(run, inputs, kernel, offsets, true_logits)[0]


def _in_parts(x):
    """(tokens, ...) as (parts, TOKENS, ...), zeros at the end."""
    missing = -ops.shape(x)[0] % TOKENS
    x = ops.concatenate([x, ops.zeros((missing, *x.shape[1:]), dtype=x.dtype)], axis=0)
    return ops.reshape(x, (-1, TOKENS, *x.shape[1:]))


def _whole(parts, inputs):
    """(parts, TOKENS, ...) as (tokens, ...), as many as there are inputs."""
    return ops.reshape(parts, (-1, *parts.shape[2:]))[: ops.shape(inputs)[0]]
