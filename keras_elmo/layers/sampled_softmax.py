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
    """Mean negative log-likelihood of the targets against a sample of the other words.

    Every logit has the logarithm of its expected count in the sample taken off, and a candidate
    that is the target itself does not compete with it:
    `loss = mean(log(exp(t) + sum_k exp(s_k)) - t)`, over the candidates k that are not the target.

    The logits of a few tokens at a time are computed, and at once what they add to the gradient:
    those of all are more than a cache holds, and slower to write and read than to compute.

    Args:
        inputs: (tokens, dim), outputs of the model.
        targets: (tokens,) int, rows of the true words.
        candidates: (samples,) int, rows of the sampled words, all different.
        target_log_counts: (tokens,), see `LogUniformSampler.log_expected_count`.
        candidate_log_counts: (samples,), likewise; a target among them has the same there.
        kernel: (rows, dim), the softmax matrix or those of its rows that are used here.
        bias: (rows,).

    Returns:
        A number, the mean loss of all tokens.
    """
    true_logits = ops.sum(ops.multiply(inputs, ops.take(kernel, targets, axis=0)), axis=-1)
    true_logits = true_logits + ops.take(bias, targets) - target_log_counts  # (tokens,)
    # Where the target is among the candidates, its logit is one of theirs already.
    ones = ops.ones_like(candidates)
    missing = ops.take(ops.segment_sum(ones, candidates, ops.shape(bias)[0]), targets) == 0

    def run(inputs, true_logits, kernel, offsets):
        tokens = ops.shape(inputs)[0]
        weights = ops.ones_like(true_logits) / ops.cast(tokens, true_logits.dtype)
        parts = [_in_parts(x) for x in (inputs, true_logits, missing, weights)]
        loss, *gradients = _loss_and_gradients(*parts, kernel, offsets)
        gradients = [_whole(x, tokens) for x in gradients[:2]] + gradients[2:]
        return (loss,), lambda scale: tuple(scale * x for x in gradients)

    kernel, offsets = ops.take(kernel, candidates, axis=0), ops.take(bias, candidates)
    offsets = offsets - candidate_log_counts
    return with_gradient(run, inputs, true_logits, kernel, offsets)[0]


def _loss_and_gradients(parts, true_logits, missing, weights, kernel, offsets):
    """The weighted sum of the losses, and its gradients.

    Args:
        parts: (parts, TOKENS, dim), inputs.
        true_logits: (parts, TOKENS).
        missing: (parts, TOKENS) bool, whether the target is not among the candidates.
        weights: (parts, TOKENS), 0 for what only fills the last part.
        kernel: (samples, dim).
        offsets: (samples,).

    Returns:
        The sum, and its gradients of the inputs and the true logits, in parts, of the kernel and
        of the offsets.
    """
    logits = products.affine([ops.transpose(kernel)], offsets)
    product = products.affine([kernel])

    def step(state, slices):
        loss, d_kernel, d_offsets = state
        x, true, missing, weights = slices
        powers, highest = products.powers(logits(x))  # (TOKENS, samples), (TOKENS,)
        total = ops.log(ops.sum(powers, axis=-1)) + highest
        total = ops.where(missing, ops.logaddexp(true, total), total)
        shares = products.scaled_rows(powers, ops.exp(highest - total) * weights)
        d_true = (ops.where(missing, ops.exp(true - total), 0.0) - 1.0) * weights
        d_kernel = products.add_product_over_rows(d_kernel, x, shares)
        loss, d_offsets = loss + ops.sum((total - true) * weights), d_offsets + ops.sum(shares, 0)
        return (loss, d_kernel, d_offsets), (product(shares), d_true)

    slices, like = (parts, true_logits, missing, weights), (parts[0], true_logits[0])
    start = [ops.zeros_like(x) for x in (true_logits[0, 0], ops.transpose(kernel), offsets)]
    (loss, d_kernel, d_offsets), outputs = loops.scan(step, slices, tuple(start), like=like)
    return loss, *outputs, ops.transpose(d_kernel), d_offsets


def _in_parts(x):
    """(tokens, ...) as (parts, TOKENS, ...), zeros at the end."""
    missing = -ops.shape(x)[0] % TOKENS
    x = ops.concatenate([x, ops.zeros((missing, *x.shape[1:]), dtype=x.dtype)], axis=0)
    return ops.reshape(x, (-1, TOKENS, *x.shape[1:]))


def _whole(parts, tokens):
    """(parts, TOKENS, ...) as (tokens, ...)."""
    return ops.reshape(parts, (-1, *parts.shape[2:]))[:tokens]
