"""Which weights of the biLM are trained, when, and how fast."""

import keras

from keras_elmo.errors import ElmoError

STRATEGIES = ("mix", "gradual", "all")


def groups(elmo):
    """The layers of a biLM from the top to the words, each a list of layers.

    Example:
        >>> len(groups(keras_elmo.load()))
        3
    """
    bilm = elmo.bilm
    levels = range(bilm.num_layers - 1, -1, -1)
    return [
        *([getattr(bilm, f"forward_{k}"), getattr(bilm, f"backward_{k}")] for k in levels),
        [elmo.embedding],
    ]


def phases(elmo, strategy, epochs):
    """The parts of a training, each `(first epoch, last epoch, number of groups trained)`.

    - `"mix"`: the mix alone.
    - `"all"`: everything from the beginning.
    - `"gradual"`: the mix alone for an epoch, then one more layer every epoch, from the top.

    Args:
        elmo: an `Elmo`, or `None`.
        strategy: one of the three.
        epochs: int.

    Raises:
        ElmoError: if the strategy is unknown.

    Example:
        >>> phases(keras_elmo.load(), "gradual", 10)
        [(0, 1, 0), (1, 2, 1), (2, 3, 2), (3, 10, 3)]
    """
    if strategy not in STRATEGIES:
        raise ElmoError(f"fine_tune must be one of {', '.join(STRATEGIES)}, not {strategy!r}")
    if elmo is None or strategy == "mix":
        return [(0, epochs, 0)]
    count = len(groups(elmo))
    if strategy == "all":
        return [(0, epochs, count)]
    starts = range(min(count + 1, epochs))
    return [(k, epochs if k == starts[-1] else k + 1, k) for k in starts]


def check_decay(decay):
    """Refuses a `layer_decay` by which the layers would not learn slower, or backwards."""
    if not 0 < decay <= 1:
        raise ElmoError(f"layer_decay must be more than 0 and at most 1, not {decay}")


def unfreeze(elmo, count):
    """Trains the first `count` groups and no other weights of the biLM, if there is one."""
    if elmo is None:
        return
    elmo.embedding.trainable = elmo.bilm.trainable = count > 0
    for number, layers in enumerate(groups(elmo)):
        for layer in layers:
            layer.trainable = number < count


def learning_rates(elmo, decay):
    """How much slower each weight of a biLM learns, by its path: `decay` to the power of the depth.

    The top layer has `decay`, the one below `decay` squared, and so on; the rest of the task
    model, with the mix, has 1.

    Example:
        >>> rates = learning_rates(keras_elmo.load(), 0.5)
    """
    return {
        variable.path: decay ** (1 + depth)
        for depth, layers in enumerate(groups(elmo))
        for layer in layers
        for variable in layer.variables
    }


@keras.saving.register_keras_serializable(package="keras_elmo")
class LayerwiseAdam(keras.optimizers.Adam):
    """Adam with a learning rate of its own for some weights.

    Args:
        rates: dict, what the learning rate is multiplied by, by the path of the weight; 1 for
            those that are not named.
        **kwargs: those of `keras.optimizers.Adam`.

    Example:
        >>> optimizer = LayerwiseAdam({"dense/kernel": 0.1}, learning_rate=1e-3)

    Reference:
        Howard and Ruder (2018), Universal language model fine-tuning, section 3.2.
    """

    def __init__(self, rates=None, **kwargs):
        super().__init__(**kwargs)
        self.rates = rates or {}

    def update_step(self, gradient, variable, learning_rate):
        # TensorFlow hands over its own variable, which has no path.
        path = self._trainable_variables[self._get_variable_index(variable)].path
        rate = self.rates.get(path, 1.0)
        super().update_step(gradient, variable, learning_rate * rate)

    def get_config(self):
        return {**super().get_config(), "rates": self.rates}
