"""What the models share that give a class, or a number, to a whole example."""

import keras
import numpy as np
from keras import ops

from keras_elmo.errors import ElmoError
from keras_elmo.tasks import metrics
from keras_elmo.tasks.labels import check_every_class
from keras_elmo.tasks.labels import distinct_labels
from keras_elmo.tasks.labels import encode_class
from keras_elmo.tasks.labels import encode_number
from keras_elmo.tasks.labels import warn_of_unknown
from keras_elmo.tasks.task_model import TaskModel


class Classifier(TaskModel):
    """A task model whose output `logits` are those of a class, or one number.

    Args:
        features: `TokenFeatures`, or an `Elmo`.
        labels: list of str, or `None` for numbers.
        tokenizer: for sentences given as str, a name for `get_tokenizer`.
        metrics: the names of the scores, see `keras_elmo.tasks.metrics.classes`; `None`: the
            accuracy, or for numbers both correlations.
        **kwargs: `name` of every Keras model.
    """

    def __init__(self, features, labels, tokenizer="whitespace", metrics=None, **kwargs):
        super().__init__(features, tokenizer, **kwargs)
        self.labels = None if labels is None else distinct_labels(labels)
        self.metric_names = metrics or (
            ["accuracy"] if self.labels else ["pearson_spearman", "pearson", "spearman"]
        )
        self.num_outputs = len(self.labels) if self.labels else 1
        self._ids = {label: k for k, label in enumerate(self.labels or [])}

    def losses_of(self, targets, outputs):
        """Negative log-likelihood of the class, or squared error of the number, (batch,)."""
        logits, wanted = outputs["logits"], targets["label"]
        if self.labels is None:
            return ops.square(logits[:, 0] - wanted)
        return keras.losses.sparse_categorical_crossentropy(wanted, logits, from_logits=True)

    def check_targets(self, targets):
        if self.labels is not None:
            check_every_class(self._ids, targets)

    def check_truths(self, examples, texts, targets):
        super().check_truths(examples, texts, targets)
        if self.labels is None:
            if len(targets) == 1:
                raise ElmoError("one example can't be scored: a correlation needs two or more")
            for number, target in enumerate(targets):
                encode_number(target, number)
        else:
            warn_of_unknown(self._ids, targets)

    def encode_target(self, text, target, number):
        """The id of one label."""
        if self.labels is None:
            return encode_number(target, number)
        return encode_class(self._ids, target, number)

    def stack_targets(self, targets):
        """A batch of ids or numbers."""
        return {"label": np.array(targets)}

    def decode(self, output, text):
        """The label of one example, or its number."""
        if self.labels is None:
            return float(output["logits"][0])
        return self.labels[int(output["logits"].argmax())]

    def score(self, truths, predictions):
        """The scores of `metric_names`, in percent."""
        return metrics.classes(truths, predictions, self.metric_names)

    def get_config(self):
        return {
            **super().get_config(),
            "labels": None if self.labels is None else list(self.labels),
            "metrics": list(self.metric_names),
        }
