"""Batches of sentences of about the same length, padded to one of a few shapes."""

import keras
import numpy as np

STEP = 16  # lengths are rounded up to it: each shape is compiled once
POOL = 32  # batches that sentences are sorted within


class Batches(keras.utils.PyDataset):
    """The batches of an epoch; every sentence once, in another order each epoch.

    A batch that is not full is filled up by empty sentences of weight 0, so that all batches of a
    length have one shape.

    Args:
        model: the task model, which encodes sentences and targets.
        texts: list of dicts, the tokens of an example by the name of the text.
        targets: list of encoded targets, or `None`.
        batch_size: int.
        layers: dict, for each name the biLM's layers of all examples; `None`: not kept.
        seed: int; `None`: sorted by length, longest last, always the same.
    """

    def __init__(self, model, texts, targets=None, batch_size=32, layers=None, seed=None):
        super().__init__()
        self.model, self.texts, self.targets = model, texts, targets
        self.batch_size, self.layers = batch_size, layers
        lengths = [sum(len(example[name]) for name in model.texts) for example in texts]
        self._lengths = np.array(lengths, dtype=np.int64)
        self._rng = None if seed is None else np.random.default_rng(seed)
        self.on_epoch_begin()

    def __len__(self):
        return len(self._chosen)

    def on_epoch_begin(self):
        if self._rng is None:
            order = np.argsort(self._lengths, kind="stable")
            self._chosen = _cut(order, self.batch_size)
            return
        order = self._rng.permutation(len(self.texts))
        pools = _cut(order, POOL * self.batch_size)
        pools = [pool[np.argsort(self._lengths[pool], kind="stable")] for pool in pools]
        batches = [batch for pool in pools for batch in _cut(pool, self.batch_size)]
        self._chosen = [batches[k] for k in self._rng.permutation(len(batches))]

    def rows(self, index):
        """The numbers of the examples of a batch."""
        return self._chosen[index]

    def __getitem__(self, index):
        rows = self._chosen[index]
        # TensorFlow takes what is the same in the first two batches to be so in all of them.
        more = int(index == 0 and self.targets is not None)
        encode = self.model.features.encode
        inputs = {
            name: self._padded(encode(sentences, layers, self.model.compares), more)
            for name, sentences, layers in self._texts(rows)
        }
        if self.targets is None:
            return (inputs,)
        targets = self.model.stack_targets([self.targets[row] for row in rows])
        weights = np.zeros(self.batch_size, dtype=np.float32)
        weights[: len(rows)] = 1.0
        return inputs, self._padded(targets, more), weights

    def _texts(self, rows):
        for name in self.model.texts:
            sentences = [self.texts[row][name] for row in rows]
            layers = self.layers and [self.layers[name][row] for row in rows]
            yield name, sentences, layers

    def _padded(self, arrays, more):
        """Fills up the batch, and the time, which is axis 1, of `layers` axis 2."""
        return {
            name: pad(array, self.batch_size, 2 if name == "layers" else 1, more)
            for name, array in arrays.items()
        }


def pad(array, batch_size, axis=1, more=0):
    """Zeros behind the first axis to `batch_size`, behind `axis` to a multiple of 16, and more."""
    widths = [(0, 0)] * array.ndim
    widths[0] = (0, batch_size - len(array))
    if array.ndim > axis:
        time = array.shape[axis]
        widths[axis] = (0, max(STEP, -(-time // STEP) * STEP) + more - time)
    return np.pad(array, widths)


def _cut(array, size):
    return [array[start : start + size] for start in range(0, len(array), size)]
