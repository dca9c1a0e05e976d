"""The search of `beam_search` as a loop of a TensorFlow graph, for a served translator."""

from functools import partial

import tensorflow as tf

from keras_elmo.tasks.beam_search import ranks


def graph_beam_search(step, memory, mask, state, beam, longest, begin, end, never=()):
    """Writes the best sequence for each row of a memory, as `beam_search` does.

    Its arguments are those of `beam_search`, tensors in place of arrays.

    Returns:
        (rows, longest) int32, without `begin`, `end` from the end of a sequence on.

    Reference:
        Wu et al. (2016), Google's neural machine translation system, section 7.
    """
    rows = tf.shape(memory)[0]
    memory, mask, *state = (tf.repeat(x, beam, axis=0) for x in (memory, mask, *state))
    row_starts = beam * tf.range(rows)[:, None]
    ids = tf.fill((rows, beam, longest), end)
    scores = tf.where(tf.range(beam) == 0, 0.0, -float("inf")) + tf.zeros((rows, 1))
    lengths, done = tf.zeros((rows, beam)), tf.zeros((rows, beam), dtype="bool")

    def unsettled(t, ids, scores, lengths, done, *state):
        return ~_settled(scores, lengths, done, longest)

    def follow(t, ids, scores, lengths, done, *state):
        last = tf.where(t == 0, begin, ids[:, :, tf.maximum(t - 1, 0)])
        logs, state = step(tf.reshape(last, (-1,)), memory, mask, *state)
        size = logs.shape[-1]
        logs = tf.reshape(logs, (rows, beam, size))
        words = tf.range(size)
        refused = tf.reduce_any([words == k for k in never], axis=0) if never else words < 0
        after_end = tf.where(words == end, 0.0, -float("inf"))
        logs = tf.where(done[..., None], after_end, tf.where(refused, -float("inf"), logs))
        total = tf.reshape(scores[..., None] + logs, (rows, -1))
        scores, chosen = tf.math.top_k(total, beam)
        parents, words = chosen // size, chosen % size
        kept = partial(tf.gather, indices=parents, batch_dims=1)
        ids = tf.where(tf.range(longest) == t, words[..., None], kept(ids))
        lengths = kept(lengths) + tf.cast(~kept(done), "float32")
        places = tf.reshape(row_starts + parents, (-1,))
        state = [tf.gather(part, places) for part in state]
        return (t + 1, ids, scores, lengths, kept(done) | (words == end), *state)

    variables = (tf.constant(0), ids, scores, lengths, done, *state)
    _, ids, scores, lengths, *_ = tf.while_loop(
        unsettled,
        follow,
        variables,
        shape_invariants=tuple(tf.TensorShape(_any_rows(x)) for x in variables),
        maximum_iterations=longest,
    )
    best = tf.argmax(ranks(scores, lengths), axis=1)
    return tf.gather(ids, best, batch_dims=1)


def _any_rows(tensor):
    return [None, *tensor.shape[1:]] if tensor.shape.rank else []


def _settled(scores, lengths, done, longest):
    """Whether in every row the best that ended is above all that any other can still become."""
    never = -float("inf")
    ended = tf.reduce_max(tf.where(done, ranks(scores, lengths), never), axis=1)
    hoped = tf.reduce_max(tf.where(done, never, ranks(scores, longest)), axis=1)
    return tf.reduce_all(ended >= hoped)


def text_in_graph(words):
    """As `seq2seq.text_of`, of the words of a ragged tensor (batch, any): (batch,) string."""
    text = tf.strings.reduce_join(words, axis=1, separator=" ")
    text = tf.strings.regex_replace(text, r" ([.,!?;:%)\]}»…]+)", r"\1")
    text = tf.strings.regex_replace(text, r"([(\[{«]) ", r"\1")
    letter = r"([\pL\pN_])"  # \w of RE2 is ASCII alone
    return tf.strings.regex_replace(text, rf"{letter} ([-'’]) {letter}", r"\1\2\3")
