"""The most probable sequences, by following the best few at a time."""

import numpy as np
from keras import ops

LENGTH_PENALTY = 0.6


def beam_search(step, memory, mask, state, beam, longest, begin, end, never=()):
    """Writes the best sequence for each row of a memory.

    A sequence of n words is ranked by its log-probability over ((5 + n) / 6) ** 0.6.

    Args:
        step: function `(ids (n,), memory, mask, *state) -> (log-probabilities (n, V), state)`.
        memory: (rows, positions, D) array.
        mask: (rows, positions) bool array.
        state: list of arrays (rows, ...).
        beam: int, sequences of a row that are followed.
        longest: int, steps at most.
        begin: id that sequences begin with.
        end: id that ends one.
        never: ids that are not written.

    Returns:
        A list with a list of ids for each row, without `begin` and `end`.

    Reference:
        Wu et al. (2016), Google's neural machine translation system, section 7.
    """
    rows = len(memory)
    memory, mask, *state = (np.repeat(x, beam, axis=0) for x in (memory, mask, *state))
    ids = np.full((rows, beam, 1), begin, dtype=np.int32)
    scores = np.full((rows, beam), -np.inf)
    scores[:, 0] = 0.0  # the copies of the beginning count once
    lengths = np.zeros((rows, beam))
    done = np.zeros((rows, beam), dtype=bool)
    for _ in range(longest):
        logs, state = step(ids[:, :, -1].reshape(-1), memory, mask, *state)
        logs = np.array(ops.convert_to_numpy(logs), dtype=np.float64).reshape(rows, beam, -1)
        logs[:, :, list(never)] = -np.inf
        logs[done] = -np.inf
        logs[done, end] = 0.0
        total = (scores[:, :, None] + logs).reshape(rows, -1)
        chosen = _largest(total, beam)
        parents, words = np.divmod(chosen, logs.shape[-1])
        here = np.arange(rows)[:, None]
        ids = np.concatenate([ids[here, parents], words[..., None].astype(np.int32)], axis=-1)
        scores = np.take_along_axis(total, chosen, axis=1)
        lengths = lengths[here, parents] + ~done[here, parents]
        done = done[here, parents] | (words == end)
        places = (here * beam + parents).reshape(-1)
        state = [ops.convert_to_numpy(part)[places] for part in state]
        if _settled(scores, lengths, done, longest):
            break
    best = ids[np.arange(rows), ranks(scores, lengths).argmax(axis=1), 1:]
    return [[k for k in sequence.tolist() if k != end] for sequence in best]


def _largest(total, count):
    """The places of the largest numbers of each row, the largest first."""
    found = np.sort(np.argpartition(-total, count - 1, axis=1)[:, :count], axis=1)
    order = np.argsort(-np.take_along_axis(total, found, axis=1), axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)


def ranks(scores, lengths):
    """What sequences are ranked by; of arrays or of tensors."""
    return scores / ((5.0 + lengths) / 6.0) ** LENGTH_PENALTY


def _settled(scores, lengths, done, longest):
    """Whether in every row the best that ended is above all that any other can still become."""
    ended = np.where(done, ranks(scores, lengths), -np.inf).max(axis=1)
    hoped = np.where(done, -np.inf, ranks(scores, longest)).max(axis=1)
    return (ended >= hoped).all()
