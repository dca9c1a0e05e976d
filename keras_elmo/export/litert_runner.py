"""Words to vectors with a .tflite file, on NumPy and ai-edge-litert alone.

This file imports nothing else of the package, so that it can be copied to a device.
"""

import numpy as np

BOUNDARIES = {"<S>": [257], "</S>": [258]}


class LiteRTRunner:
    """Runs a .tflite file that `keras_elmo.export.litert.save` wrote.

    One runner answers one call at a time; make one for each thread.

    Args:
        path: path of the file.
        num_threads: int, threads of the interpreter.

    Call arguments:
        words: list of str, one sentence.

    Returns:
        A dict of arrays, such as `elmo` (words, 2P) and `layers` (L + 1, words, 2P), a tagger's
        `tags` (words,) or a classifier's `probabilities` (classes,).

    Raises:
        TypeError: if the words are one string.
        ValueError: if the sentence is longer than every length that the file was made for.

    Example:
        >>> runner = LiteRTRunner("elmo.tflite")
        >>> runner(["The", "cat", "sat"])["elmo"].shape
        (3, 256)

    Reference:
        https://ai.google.dev/edge/litert
    """

    def __init__(self, path, num_threads=1):
        from ai_edge_litert.interpreter import Interpreter

        self.interpreter = Interpreter(str(path), num_threads=num_threads)
        names = self.interpreter.get_signature_list()
        runners = {name: self.interpreter.get_signature_runner(name) for name in names}
        self.lengths = {_fixed_length(runner): runner for runner in runners.values()}

    def __call__(self, words):
        if isinstance(words, str):
            raise TypeError(f"expected a list of words, not the string {words[:40]!r}; split it")
        length = self._length(len(words))
        runner = self.lengths[length]
        characters = runner.get_input_details()["char_ids"]["shape"][-1]
        ids = char_ids(words, characters)
        if length is not None:
            ids = np.pad(ids, [(0, 0), (0, length - len(words)), (0, 0)])
        outputs = runner(char_ids=ids)
        return {name: _without_padding(x[0], len(words)) for name, x in outputs.items()}

    def _length(self, count):
        if None in self.lengths:
            return None
        fitting = [length for length in self.lengths if length >= count]
        if not fitting:
            raise ValueError(f"{count} words, but the file is for at most {max(self.lengths)}")
        return min(fitting)


def char_ids(words, characters=50):
    """Character ids of one sentence, equal to those of `keras_elmo.batch_to_ids`.

    Args:
        words: list of str.
        characters: int, ids a word.

    Returns:
        int32 array (1, words, characters).

    Example:
        >>> char_ids(["The"])[0, 0, :6]
        array([259,  85, 105, 102, 260, 261], dtype=int32)
    """
    ids = np.full((1, len(words), characters), 261, np.int32)
    for row, word in zip(ids[0], words, strict=True):
        letters = [byte + 1 for byte in word.encode("utf-8", "ignore")[: characters - 2]]
        letters = BOUNDARIES.get(word, letters)
        row[: len(letters) + 2] = [259, *letters, 260]
    return ids


def _without_padding(x, count):
    """The first `count` words of an output: (..., time, size) floats, or (time,) integers."""
    if x.ndim == 1:
        return x if np.issubdtype(x.dtype, np.floating) else x[:count]
    return x[..., :count, :]


def _fixed_length(runner):
    length = int(runner.get_input_details()["char_ids"]["shape_signature"][1])
    return None if length < 0 else length
