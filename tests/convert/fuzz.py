"""Broken files: cut off, or with some bytes changed."""

import random

import numpy as np
import pytest

from keras_elmo.errors import ElmoError


def broken(data, seed, head=4096):
    """The bytes of a file, broken in one way; the changes gather in its first `head` bytes."""
    rng = random.Random(seed)
    data = bytearray(data)
    if rng.random() < 0.3:
        return bytes(data[: rng.randrange(len(data))])
    for _ in range(rng.choice([1, 2, 8])):
        limit = len(data) if rng.random() < 0.4 else min(head, len(data))
        data[rng.randrange(limit)] = rng.choice([0, 255, rng.randrange(256)])
    return bytes(data)


def check_reader(read, path, times):
    """Reads broken versions of a file: only ElmoError may come out, and it must come out."""
    data = path.read_bytes()
    messages = []
    for seed in range(times):
        path.write_bytes(broken(data, seed))
        messages.append(refusal(read))
    path.write_bytes(data)
    name = path.name.split(".data-")[0].removesuffix(".index")
    assert sum(message is not None for message in messages) > times / 4
    assert [message for message in messages if message and name not in message] == []


def refusal(what):
    """The message of the ElmoError that came, of one line; `None` if none did."""
    message = None
    try:
        what()
    except ElmoError as error:
        message = str(error)
    assert "\n" not in (message or "")
    return message


def fails(what, *parts):
    """Expects an ElmoError of one line that has all these parts."""
    with pytest.raises(ElmoError) as caught:
        what()
    message = str(caught.value)
    assert "\n" not in message
    assert [part for part in map(str, parts) if part not in message] == []


def filled(read, ending, value):
    """A reader of tensors whose first one with that ending is full of a value."""

    def read_and_fill(source):
        tensors = read(source)
        name = next(name for name in tensors if name.endswith(ending))
        return {**tensors, name: np.full_like(tensors[name], value)}

    return read_and_fill
