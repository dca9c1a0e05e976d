"""What is watched while a task model is trained."""

import keras
from keras import ops

from keras_elmo.tasks.batches import Batches


class TrainingLog(keras.callbacks.Callback):
    """Scores held-out examples after each epoch, and keeps the best weights and the mixes.

    It lives through all parts of a training, each of which is a `fit` of its own.

    Args:
        task: the task model.
        validation_data: `(examples, targets)`, or `None`.
        patience: int, epochs without a better score after which training ends.
        cache: bool, whether the layers of a frozen biLM are kept.
        whole: bool, whether the weights of the biLM may change too.

    Attributes:
        history: a Keras `History` of all epochs, with `mixes`.
        finished: bool, whether patience ran out.
    """

    def __init__(self, task, validation_data, patience, cache, whole):
        super().__init__()
        self.finished = False
        self.history = keras.callbacks.History()
        self.history.set_model(task)
        self.history.epoch = []
        self.history.mixes = {place: [] for place in task.features.mixes}
        self._task, self._patience, self._cache, self._whole = task, patience, cache, whole
        self._best, self._best_weights, self._waited = None, [], 0
        self._examples, self._targets = validation_data or (None, None)
        self._texts, self._kept = None, None
        if validation_data:
            self._texts = task.read(self._examples)
            task.check_truths(self._examples, self._texts, self._targets)

    def on_epoch_end(self, epoch, logs=None):
        """Adds the scores to the logs."""
        for place, mix in self._task.features.mixes.items():
            shares = ops.convert_to_numpy(mix.normalized_weights).tolist()
            self.history.mixes[place].append(shares)
        if self._examples is not None:
            scores = self._scores()
            logs.update({f"val_{name}": value for name, value in scores.items()})
            self._compare(next(iter(scores.values())))
        self.history.on_epoch_end(epoch, dict(logs))

    def close(self):
        """Puts the best weights back, and gives the history."""
        for variable, value in self._best_weights:
            variable.assign(value)
        return self.history

    def _scores(self):
        task = self._task
        if not (self._cache and task.features.cacheable):
            self._kept = None
        elif self._kept is None:
            self._kept = task.embed(self._texts)
        answers = task.answers(Batches(task, self._texts, layers=self._kept))
        return task.score(self._targets, task.merge(self._examples, self._texts, answers))

    def _compare(self, score):
        self._waited += 1
        if self._best is None or score > self._best:
            self._best, self._waited = score, 0
            self._best_weights = [
                (variable, ops.convert_to_numpy(variable).copy())
                for variable in self._task.variables
                if self._whole or variable.trainable
            ]
        if self._waited >= self._patience:
            self.finished = self.model.stop_training = True
