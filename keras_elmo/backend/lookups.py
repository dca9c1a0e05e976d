"""Sums of rows of tables over windows of numbers, which say the rows."""

import functools

from keras import ops

from keras_elmo import backend
from keras_elmo.backend import loops
from keras_elmo.backend.custom_gradient import with_gradient


def largest_sum(tables, numbers):
    """The largest of all windows' sums of rows: max_p sum_k tables[k, numbers[:, p + k]].

    Of equal sums the first gets the gradient.

    Args:
        tables: (width, rows, count) float32, one for each place of a window.
        numbers: (words, length) int32, rows, in range; at least as long as a window.

    Returns:
        (words, count).
    """
    find = _torch_largest if backend.BACKEND == "torch" else _largest
    add = _torch_add_elements if backend.BACKEND == "torch" else _add_elements

    def run(tables, marks):
        numbers = ops.cast(marks, "int32")
        largest, first = find(tables, numbers)

        def pull_back(gradient):
            return add(gradient, numbers, first(), tables.shape), ops.zeros_like(marks)

        return (largest,), pull_back

    # As floats, which alone can be handed on: the remat of JAX takes no values from around.
    return with_gradient(run, tables, ops.cast(numbers, "float32"))[0]


def _largest(tables, numbers):
    """The largest sums (words, count), and a function that gives the first position of each."""
    width, _, count = tables.shape
    positions = numbers.shape[1] - width + 1
    windows = [ops.swapaxes(numbers[:, k : k + positions], 0, 1) for k in range(width)]
    shape = (ops.shape(numbers)[0], count)

    def over_positions(update, start):
        """Each loop uses the sums once: a compiler then makes them where they are used."""

        def step(state, slices):
            position, *window = slices
            sums = [_rows(tables[k], row) for k, row in enumerate(window)]
            return (update(state[0], sum(sums[1:], start=sums[0]), position),), ()

        slices = (ops.arange(positions, dtype="int32"), *windows)
        return loops.scan(step, slices, (start,), like=())[0][0]

    start = ops.full(shape, -float("inf"), dtype=tables.dtype)
    largest = over_positions(lambda largest, sums, _: ops.maximum(largest, sums), start)

    def update_first(first, sums, position):
        return ops.where(sums == largest, ops.minimum(first, position), first)

    last = ops.full(shape, positions - 1, dtype="int32")
    return largest, functools.partial(over_positions, update_first, last)


def _add_elements(gradient, numbers, first, shape):
    """The gradient of the tables, from that of the largest sums."""
    width, rows, count = shape
    words, length = ops.shape(numbers)[0], numbers.shape[1]
    flat, columns = ops.reshape(numbers, (-1,)), ops.arange(count, dtype="int32")
    places = first + length * ops.arange(words, dtype="int32")[:, None]  # (words, count)
    elements = [_rows(flat, places + k) * count + columns for k in range(width)]
    parts = [_sums_by_number(gradient, part, rows * count) for part in elements]
    return ops.reshape(ops.stack(parts), shape)


def _rows(table, numbers):
    if backend.BACKEND == "jax":  # a check of the range would be made for every number
        return table.at[numbers].get(mode="promise_in_bounds")
    return ops.take(table, numbers, axis=0)


def _sums_by_number(values, numbers, size):
    if backend.BACKEND == "jax":
        import jax.numpy as jnp

        return jnp.zeros(size, values.dtype).at[numbers].add(values, mode="promise_in_bounds")
    return ops.segment_sum(ops.reshape(values, (-1,)), ops.reshape(numbers, (-1,)), size)


def _torch_largest(tables, numbers):
    import torch

    width, rows, count = tables.shape
    positions = numbers.shape[1] - width + 1
    windows = [numbers[:, k : k + positions].t() + k * rows for k in range(width)]
    windows = torch.stack(windows, dim=-1).reshape(-1, width)
    sums = torch.nn.functional.embedding_bag(windows, tables.reshape(-1, count), mode="sum")
    sums = sums.reshape(positions, -1, count)
    largest = sums.amax(dim=0)

    def first():  # seven times as fast as the maximum that gives its position
        left = torch.arange(positions, 0, -1, dtype=torch.int16)[:, None, None]
        left = (sums == largest).to(torch.int16).mul_(left).amax(dim=0)
        return (positions - left).clamp_(max=positions - 1)  # of a NaN too

    return largest, first


def _torch_add_elements(gradient, numbers, first, shape):
    import torch

    found = torch.zeros(shape, dtype=gradient.dtype)
    numbers, first = numbers.long(), first.long()
    for k, part in enumerate(found):
        part.scatter_add_(0, numbers.gather(1, first + k), gradient)
    return found
