"""The compiled part: word vectors through the biLM to the vectors that are wanted."""

from functools import partial

from keras import ops

from keras_elmo import backend
from keras_elmo.errors import ElmoError

DIRECTIONS = ("forward", "backward")


class Program:
    """Runs the biLM of a model, compiled once for each shape.

    The state after a boundary (begin of sentence for the forward direction, end of sentence for
    the backward one) is computed once, and every sentence starts from it. So no position is spent
    on boundaries, and no number changes.

    Args:
        model: an `Elmo`.
        layers: `"all"`, `"top"`, `"average"`, `"mix"` or the number of a layer.
        boundaries: (2, P) float32, the word vectors of begin and end of sentence.

    Attributes:
        begin: the two states after a boundary, `[h, c]` of shapes (1, L, P) and (1, L, U).
    """

    def __init__(self, model, layers, boundaries):
        self._bilm = model.bilm
        self._select = _selection(model, layers)
        # One step, made once: to compile it would take longer.
        self.begin = [
            [ops.convert_to_numpy(part) for part in state]
            for state in self._after_boundary(boundaries)
        ]
        self._sentences = backend.jit(self._run_sentences, model, frozen=True)
        self._stretch = [backend.jit(partial(self._half, k), model, frozen=True) for k in range(2)]

    def sentences(self, x, places, firsts, lasts):
        """Runs packed sentences.

        Args:
            x: (words, P) float32, distinct word vectors.
            places: (batch, time) int32, which of them stands where.
            firsts: (batch, time) bool, where sentences begin.
            lasts: (batch, time) bool, where they end.

        Returns:
            A list of arrays (batch, time, 2P) float32: the LSTM layers 1 to L for `"all"`, else
            the one that is wanted.
        """
        outputs = self._sentences(x, places, firsts, lasts, *self.begin)
        return [ops.convert_to_numpy(output) for output in outputs]

    def stretch(self, direction, x, starts, state):
        """Runs one direction over a stretch of a text.

        Args:
            direction: 0: forward, 1: backward.
            x: (1, time, P) float32.
            starts: (1, time) bool, where it starts from `state`, besides its first position.
            state: `[h, c]`, one of `begin` or what the stretch before returned.

        Returns:
            A list of tensors (1, time, P) float32, halves of those of `sentences`; the new state.
        """
        return self._stretch[direction](x, starts, state)

    def _after_boundary(self, boundaries):
        vectors = ops.cast(boundaries, self._bilm.compute_dtype)[:, None, None]
        zeros = self._bilm.get_forward_state(1)
        return [
            self._bilm.run_direction(name, vectors[k], zeros)[1]
            for k, name in enumerate(DIRECTIONS)
        ]

    def _run_sentences(self, x, places, firsts, lasts, forward, backward):
        halves = (
            self._half(0, x, firsts, forward, places)[0],
            self._half(1, x, lasts, backward, places)[0],
        )
        return [ops.concatenate(pair, axis=-1) for pair in zip(*halves, strict=True)]

    def _half(self, direction, x, starts, state, places=None):
        state = [ops.repeat(part, starts.shape[0], axis=0) for part in state]
        layers, state = self._bilm.run_direction(
            DIRECTIONS[direction],
            ops.cast(x, self._bilm.compute_dtype),
            state,
            go_backwards=direction == 1,
            starts=starts,
            places=places,
        )
        return [ops.cast(layer, "float32") for layer in self._select(layers)], state


def _selection(model, layers):
    """A function from the list of layers 0 to L to the list of those wanted."""
    if layers == "all":
        return lambda found: found[1:]
    if layers == "top":
        return lambda found: found[-1:]
    if layers == "average":
        return lambda found: [sum(found) / len(found)]
    if layers == "mix":
        mix = _only_mix(model)
        return lambda found: [mix(found)]
    if type(layers) is int and 0 <= layers <= model.bilm.num_layers:
        return lambda found: [found[layers]]
    raise ElmoError(
        f"layers={layers!r}: use 'all', 'top', 'average', 'mix' or the number of a layer, "
        f"0 to {model.bilm.num_layers}"
    )


def _only_mix(model):
    """The one mix of the model, or an error if what it gives depends on the batch."""
    if model.num_representations != 1:
        raise ElmoError(
            f"layers='mix': the model has {model.num_representations} mixes; use layers='all' and "
            "mix them yourself"
        )
    if model.layer_norm is not None:
        raise ElmoError(
            "layers='mix': the model normalizes its layers over the batch, so the vectors would "
            "depend on it; load it with layer_norm=None, or call the model itself"
        )
    return model.scalar_mix
