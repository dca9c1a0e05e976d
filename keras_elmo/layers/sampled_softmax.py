"""Softmax over a large vocabulary, estimated from a sample of its words."""

from keras import ops


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
