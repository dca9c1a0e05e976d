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
):
    """Negative log-likelihood of the targets against a sample of the other words.

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

    Returns:
        (tokens,), the loss of each token.
    """
    true_logits = ops.sum(ops.multiply(inputs, ops.take(kernel, targets, axis=0)), axis=-1)
    true_logits = true_logits + ops.take(bias, targets) - target_log_counts  # (tokens,)
    total = _log_sum_exp(
        inputs,
        ops.take(kernel, candidates, axis=0),
        ops.take(bias, candidates) - candidate_log_counts,
    )
    # Where the target is among the candidates its logit is in the total already, as s_k = t.
    ones = ops.ones_like(candidates)
    counted = ops.take(ops.segment_sum(ones, candidates, ops.shape(bias)[0]), targets) > 0
    return ops.where(counted, total, ops.logaddexp(true_logits, total)) - true_logits


def _log_sum_exp(inputs, kernel, offsets):
    """The logarithm of sum_k exp(x w_k + offset_k), over all candidates.

    The logits of a few tokens at a time are computed, and once more for the gradient: those of
    all are more than a cache holds, and slower to write and read than to compute.

    Args:
        inputs: (tokens, dim).
        kernel: (samples, dim).
        offsets: (samples,).

    Returns:
        (tokens,).
    """

    def run(inputs, kernel, offsets):
        logits = products.affine([ops.transpose(kernel)], offsets)

        def forward(state, slices):
            return state, (products.log_sum_exp(logits(*slices)),)

        parts = _in_parts(inputs)
        zeros = ops.zeros_like(parts[0, :, 0])
        _, (sums,) = loops.scan(forward, (parts,), (zeros,))

        def pull_back(gradient):
            slices = parts, sums, _in_parts(gradient)
            d_inputs, d_kernel, d_offsets = _pull_back(logits, kernel, offsets, slices)
            return _whole(d_inputs, inputs), d_kernel, d_offsets

        return (_whole(sums, inputs),), pull_back

    return with_gradient(run, inputs, kernel, offsets)[0]


def _pull_back(logits, kernel, offsets, slices):
    """The gradients of inputs, kernel and offsets."""
    product = products.affine([kernel])

    def step(state, slices):
        x, log_sum, gradient = slices
        shares = products.shares(logits(x), log_sum, gradient)  # (TOKENS, samples)
        d_kernel = products.add_product_over_rows(state[0], x, shares)
        return (d_kernel, state[1] + ops.sum(shares, axis=0)), (product(shares),)

    start = ops.zeros_like(ops.transpose(kernel)), ops.zeros_like(offsets)
    (d_kernel, d_offsets), (d_inputs,) = loops.scan(step, slices, start, like=(slices[0][0],))
    return d_inputs, ops.transpose(d_kernel), d_offsets


def _in_parts(x):
    """(tokens, ...) as (parts, TOKENS, ...), zeros at the end."""
    missing = -ops.shape(x)[0] % TOKENS
    x = ops.concatenate([x, ops.zeros((missing, *x.shape[1:]), dtype=x.dtype)], axis=0)
    return ops.reshape(x, (-1, TOKENS, *x.shape[1:]))


def _whole(parts, inputs):
    """(parts, TOKENS, ...) as (tokens, ...), as many as there are inputs."""
    return ops.reshape(parts, (-1, *parts.shape[2:]))[: ops.shape(inputs)[0]]
