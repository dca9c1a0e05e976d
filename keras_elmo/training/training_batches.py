"""What one training step needs, made ready beside the steps before it."""

import contextlib
import queue
import threading

import numpy as np

from keras_elmo.layers.bilm import DIRECTIONS
from keras_elmo.training.parts import take_part
from keras_elmo.training.sampler import LogUniformSampler
from keras_elmo.training.windows import round_up

ROWS_STEP = 1024  # rows of the softmax a step touches are padded to a multiple of it
QUEUE_SIZE = 8


class TrainingBatches:
    """Windows with the sampled words of the softmax, prepared in a thread of its own.

    Each direction of each batch has its own sample. `softmax_rows` names the rows of the softmax
    that the targets and samples of the batch need, each once; targets and samples are places in
    it. It is filled up with rows that get no gradient, to a size that recurs.

    Args:
        windows: `Windows`.
        vocabulary_size: int, V.
        num_samples: int, sampled words a direction; the vocabulary's size or more: all of them,
            which is the full softmax.
        seed: int.
        first_step: int, number of the first batch; its sample depends on the seed and this.
        reset_share: float, share of the rows whose LSTM state is set back to zero before a window.
            A state that is always carried on may drift to where no sentence read from a state of
            zero ever comes; with some resets the model serves both.
        parts: list of int, which parts of each batch this process reads.
        num_parts: int, equal parts into which the rows of a batch are divided.

    Yields:
        For each part a tuple of one dict, as `fit` takes it: what `Windows` gives but for the
        targets; `softmax_rows` (rows,); and for each direction `_target_rows`,
        `_target_log_counts` (batch, unroll), `_candidate_rows`, `_candidate_log_counts` (samples,).

    Example:
        >>> batches = TrainingBatches(windows, num_samples=8192, seed=1)
        >>> model.fit(iter(batches), steps_per_epoch=1000)
        >>> batches.position(1000)  # where step 1000 would have begun
    """

    def __init__(
        self,
        windows,
        vocabulary_size,
        num_samples,
        seed=0,
        first_step=0,
        reset_share=0.0,
        parts=(0,),
        num_parts=1,
    ):
        self._windows, self._seed, self._step = windows, seed, first_step
        self._reset_share = reset_share
        self._parts, self._num_parts = parts, num_parts
        self._sampler = LogUniformSampler(vocabulary_size, num_samples)
        self._positions = {first_step: windows.position}
        self._queue = queue.Queue(QUEUE_SIZE)
        self._closed = False
        self.error = None  # that ended the thread

    def position(self, step):
        """Position of the windows at which a step begins; earlier ones are then forgotten."""
        for earlier in [number for number in list(self._positions) if number < step]:
            del self._positions[earlier]
        return self._positions[step]

    def __iter__(self):
        thread = threading.Thread(target=self._produce, daemon=True)
        thread.start()
        while (item := self._queue.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield (item,)

    def close(self):
        """Ends the thread, and whatever still waits for a batch."""
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        self._queue.put(None)

    def _produce(self):
        try:
            for window in self._windows:
                batch = self.prepare(window, self._step)
                self._step += 1
                self._positions[self._step] = self._windows.position
                for part in self._parts:
                    self._queue.put(take_part(batch, part, self._num_parts))
                    if self._closed:
                        return
            self._queue.put(None)
        except Exception as error:  # raised where the batches are read
            self.error = error
            self._queue.put(error)

    def prepare(self, window, step):
        """Draws the samples of a batch.

        Args:
            window: dict of `Windows`.
            step: int, its number.

        Returns:
            The dict that is trained on.
        """
        rng = np.random.default_rng([self._seed, step])
        batch = {key: value for key, value in window.items() if not key.endswith("targets")}
        parts = []
        for direction in DIRECTIONS:
            targets = window[f"{direction}_targets"]
            candidates, draws = self._sampler.sample(rng)
            log_counts = self._sampler.log_expected_count
            batch[f"{direction}_target_log_counts"] = log_counts(targets, draws)
            batch[f"{direction}_candidate_log_counts"] = log_counts(candidates, draws)
            parts += [targets.ravel(), candidates]
        rows, places = np.unique(np.concatenate(parts), return_inverse=True)
        ends = np.cumsum([len(part) for part in parts])[:-1]
        places = np.split(places.astype(np.int32), ends)
        for number, direction in enumerate(DIRECTIONS):
            targets, candidates = places[2 * number : 2 * number + 2]
            batch[f"{direction}_target_rows"] = targets.reshape(window[direction].shape)
            batch[f"{direction}_candidate_rows"] = candidates
        batch["softmax_rows"] = self._padded(rows)
        if self._reset_share:
            kept = rng.random(len(window["forward"])) >= self._reset_share
            batch["state_kept"] = kept.astype(np.float32)
        return batch

    def _padded(self, rows):
        vocabulary_size = self._sampler.vocabulary_size
        size = min(round_up(len(rows), ROWS_STEP), vocabulary_size)
        # Among the `size` rarest words, enough are free to fill the gap.
        rarest = np.arange(vocabulary_size - size, vocabulary_size, dtype=np.int32)
        free = np.setdiff1d(rarest, rows, assume_unique=True)
        return np.concatenate([rows, free[: size - len(rows)]]).astype(np.int32)
