"""The bidirectional language model that ELMo is pretrained as."""

import functools

import keras
from keras import ops

from keras_elmo import backend
from keras_elmo.backend import devices
from keras_elmo.backend.branches import at_once
from keras_elmo.layers.bilm import DIRECTIONS
from keras_elmo.layers.sampled_softmax import sampled_softmax_loss
from keras_elmo.layers.vocabulary_softmax import VocabularySoftmax
from keras_elmo.models.batch_rows import is_divided
from keras_elmo.models.batch_rows import some_rows
from keras_elmo.models.perplexity import Perplexity
from keras_elmo.optimizers.clipping import clip_by_global_norm
from keras_elmo.optimizers.row_adagrad import RowAdagrad
from keras_elmo.text.character_encoder import CharacterEncoder


@keras.saving.register_keras_serializable(package="keras_elmo")
class LanguageModel(keras.Model):
    """Predicts the next word left to right and the previous one right to left, by one softmax.

        loss = (mean NLL forward + mean NLL backward) / 2

    It trains on the batches of `TrainingBatches` with `compile` and `fit`: each direction reads
    its own stream, the LSTM state is carried from window to window, the gradient is that of the
    loss times the length of the window, clipped by its global norm. Only the rows of the softmax
    that a batch needs are read, differentiated and updated. `evaluate` takes the full softmax and
    keeps a state of its own.

    Args:
        embedding: `CharCNNEmbedding`, or any layer that maps the ids of distinct words to vectors.
        bilm: `BiLM`.
        vocabulary_size: int, words that are predicted.
        batch_size: int, rows of a batch of training.
        clip_norm: float, largest global norm of the gradient, or `None`.
        encoder: turns words into the ids that `embedding` reads; `None`: a `CharacterEncoder`.
        accumulation: int, parts into which the rows of a batch are divided, one after the other,
            before the weights change; the same step in less memory.
        remat: bool, whether the largest intermediate values, the characters' convolutions, are
            computed anew for the gradient instead of kept.
        **kwargs: `name`, `dtype` of every Keras model.

    Example:
        >>> model = LanguageModel(embedding, bilm, vocabulary_size=30000, batch_size=128)
        >>> model.compile()
        >>> model.fit(batches, steps_per_epoch=1000)

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 3.1.
    """

    def __init__(
        self,
        embedding,
        bilm,
        vocabulary_size,
        batch_size=1,
        clip_norm=10.0,
        encoder=None,
        accumulation=1,
        remat=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.bilm = bilm
        self.softmax = VocabularySoftmax(vocabulary_size)
        self.output_dropout = keras.layers.Dropout(bilm.dropout, dtype=bilm.dtype_policy)
        self.vocabulary_size, self.batch_size = vocabulary_size, batch_size
        self.clip_norm, self.accumulation, self.remat = clip_norm, accumulation, remat
        self.devices = devices.current()
        self.encoder = encoder or CharacterEncoder(embedding.max_word_length)
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.perplexities = [Perplexity(name=f"{name}_perplexity") for name in DIRECTIONS]
        self.build()

    def build(self, input_shape=None):
        shapes = [(None, self.encoder.max_word_length)] + [(None, None, self.bilm.output_dim)] * 3
        layers = [self.embedding, self.bilm, self.softmax, self.output_dropout]
        for layer, shape in zip(layers, shapes, strict=True):
            if not layer.built:
                layer.build(shape)
        self.train_state = self._add_state("train")
        self.test_state = self._add_state("test")
        self.built = True

    def _add_state(self, phase):
        return [
            self.add_weight(
                name=f"{phase}_{part}", shape=zeros.shape, initializer="zeros", trainable=False
            )
            for part, zeros in zip("hc", self.bilm.get_initial_state(self.batch_size), strict=True)
        ]

    def compile(self, optimizer=None, **kwargs):
        super().compile(optimizer=optimizer or RowAdagrad(), **kwargs)
        self.optimizer.build(self.trainable_variables)

    @property
    def metrics(self):
        return [self.loss_tracker, *self.perplexities]

    def call(self, inputs, state=None, training=None):
        """Runs both directions over their streams.

        Args:
            inputs: dict with the distinct words, one or more arrays `char_ids...` (words,
                characters), and `forward`, `backward` (batch, time) int, places in them, taken
                together in the order of their names; optional `mask` (batch, time).
            state: `[h, c]` as `BiLM` takes it; `None`: zeros.
            training: bool, whether dropout is on.

        Returns:
            The top layer of each direction, two tensors (batch, time, P), and the new state.
        """
        words, halves = self._words(inputs, training), self._halves(inputs, state)
        own = zip(DIRECTIONS, halves, self._noise(inputs, training), strict=True)
        found = [self._read(*arguments, words, inputs, training) for arguments in own]
        tops, states = zip(*found, strict=True)
        return list(tops), _side_by_side(states)

    def _words(self, inputs, training):
        """The vectors of the distinct words."""
        embed = functools.partial(self.embedding, training=training)
        if self.remat and training:
            embed = keras.remat(embed)
        words = [embed(inputs[name]) for name in sorted(inputs) if name.startswith("char_ids")]
        words = ops.concatenate(words, axis=0)
        # The gradient of a reshape is dense; the remat of TensorFlow takes no other.
        return ops.reshape(words, (-1, words.shape[-1]))

    def _halves(self, inputs, state):
        """The states that the two directions begin with."""
        if state is None:
            state = self.bilm.get_initial_state(ops.shape(inputs["forward"])[0])
        state = [ops.cast(part, self.bilm.compute_dtype) for part in state]
        return zip(*(ops.split(part, 2, axis=-1) for part in state), strict=True)

    def _read(self, direction, state, noise, words, inputs, training):
        """The top layer of one direction, and its new state."""
        x = ops.take(words, inputs[direction], axis=0)
        outputs, state = self.bilm.run_direction(
            direction, x, state, inputs.get("mask"), training=training, noise=noise
        )
        return outputs[-1] if noise is None else outputs[-1] * noise[-1], state

    def _noise(self, inputs, training):
        """What dropout multiplies the inputs of the layers and the top by, in each direction."""
        if not training or not self.bilm.dropout:
            return [None] * len(DIRECTIONS)
        dropouts = [self.bilm.dropout_layer] * self.bilm.num_layers + [self.output_dropout]
        shape = (*ops.shape(inputs["forward"]), self.bilm.output_dim)
        ones = ops.ones(shape, dtype=self.bilm.compute_dtype)
        return [[dropout(ones, training=True) for dropout in dropouts] for _ in DIRECTIONS]

    def evaluate(self, *arguments, **kwargs):
        for variable in self.test_state:
            variable.assign(ops.zeros(variable.shape))
        return super().evaluate(*arguments, **kwargs)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        pass  # It is built; Keras would use up a batch for it under a strategy of TensorFlow.

    def train_step(self, *arguments):
        return backend.model_step(self, self._train, *arguments)

    def test_step(self, *arguments):
        return backend.model_step(self, self._test, *arguments)

    def _train(self, data):
        batch, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        batch = self._placed(batch)
        tables = [self.softmax.kernel, self.softmax.bias]
        keys = {id(table) for table in tables}
        variables = [v for v in self.trainable_variables if id(v) not in keys]
        rows = [ops.take(table, batch["softmax_rows"], axis=0) for table in tables]
        losses, gradients, row_gradients = self._gradients(batch, variables, rows)
        clipped = clip_by_global_norm([*gradients, *row_gradients], self.clip_norm)
        gradients, row_gradients = clipped[: len(gradients)], clipped[len(gradients) :]
        for table, values, gradient in zip(tables, rows, row_gradients, strict=True):
            self.optimizer.apply_rows(table, batch["softmax_rows"], values, gradient)
        self.devices.apply(self.optimizer, gradients, variables)
        self._update_metrics(losses)
        # Of this batch; at the end of an epoch Keras takes the means of the metrics.
        values = (sum(losses) / 2, *(ops.exp(loss) for loss in losses))
        return self._logs(values)

    def _placed(self, batch):
        """The arrays of a batch as tensors on the devices; `train_on_batch` gives plain arrays."""
        tensors = {name: ops.convert_to_tensor(x) for name, x in batch.items()}
        put = self.devices.divided
        return {name: put(x) if is_divided(name) else x for name, x in tensors.items()}

    def _gradients(self, batch, variables, rows):
        unroll = batch["forward"].shape[1]
        size = self.batch_size // (self.devices.num_parts * self.accumulation)
        carried = [self.devices.own_rows(ops.convert_to_tensor(x)) for x in self.train_state]

        def part_gradients(number):
            part = slice(number * size, (number + 1) * size)
            inputs = some_rows(batch, part)
            start = [x[part] for x in carried]
            if "state_kept" in inputs:
                start = [x * inputs["state_kept"][:, None, None] for x in start]

            def scaled_loss(*rows):
                losses, state = self._sampled_losses(inputs, start, *rows)
                return sum(losses) / 2 * unroll / self.accumulation, (losses, state)

            (_, rest), *found = self.devices.gradients(scaled_loss, self, variables, rows)
            return *rest, *found

        losses, states, *found = zip(*map(part_gradients, range(self.accumulation)), strict=True)
        for variable, parts in zip(self.train_state, zip(*states, strict=True), strict=True):
            variable.assign(self.devices.all_rows(ops.concatenate(parts)))
        losses = [sum(parts) / self.accumulation for parts in zip(*losses, strict=True)]
        found = ([sum(parts) for parts in zip(*half, strict=True)] for half in found)
        return self.devices.mean(losses), *found

    def _test(self, data):
        batch, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        batch = self._placed(batch)
        losses, state = self.losses(batch, self.test_state)
        for variable, value in zip(self.test_state, state, strict=True):
            variable.assign(value)
        self._update_metrics(losses, batch.get("mask"))
        return self._logs([metric.result() for metric in self.metrics])

    def _logs(self, values):
        named = zip(self.metrics, values, strict=True)
        return {metric.name: self.devices.logged(value) for metric, value in named}

    def losses(self, batch, state=None):
        """Negative log-likelihood of every word by the full softmax.

        Args:
            batch: dict as for `call`, with `forward_targets`, `backward_targets` (batch, time) int.
            state: as for `call`.

        Returns:
            Two tensors (batch, time) float32, forward and backward, and the new state.
        """
        outputs, state = self(batch, state=state, training=False)
        pairs = zip(DIRECTIONS, outputs, strict=True)
        return [-self.softmax(x, batch[f"{name}_targets"]) for name, x in pairs], state

    def _sampled_losses(self, batch, state, kernel, bias):
        words, halves = self._words(batch, training=True), self._halves(batch, state)

        def loss_of(direction, half, noise, words, kernel, bias):
            x, new = self._read(direction, half, noise, words, batch, training=True)
            loss = sampled_softmax_loss(
                ops.reshape(ops.cast(x, "float32"), (-1, kernel.shape[1])),
                ops.reshape(batch[f"{direction}_target_rows"], (-1,)),
                batch[f"{direction}_candidate_rows"],
                ops.reshape(batch[f"{direction}_target_log_counts"], (-1,)),
                batch[f"{direction}_candidate_log_counts"],
                kernel,
                bias,
            )
            return loss, *new

        own = zip(DIRECTIONS, halves, self._noise(batch, True), strict=True)
        functions = [functools.partial(loss_of, *arguments) for arguments in own]
        found = at_once(functions, self.bilm.trainable_variables, words, kernel, bias)
        losses = [loss for loss, *_ in found]
        return losses, _side_by_side([state for _, *state in found])

    def _update_metrics(self, losses, mask=None):
        self.loss_tracker.update_state(sum(losses) / 2, mask)
        for metric, loss in zip(self.perplexities, losses, strict=True):
            metric.update_state(loss, mask)

    def get_config(self):
        return {
            **super().get_config(),
            "embedding": keras.saving.serialize_keras_object(self.embedding),
            "bilm": keras.saving.serialize_keras_object(self.bilm),
            "vocabulary_size": self.vocabulary_size,
            "batch_size": self.batch_size,
            "clip_norm": self.clip_norm,
            "accumulation": self.accumulation,
            "remat": self.remat,
            "encoder": keras.saving.serialize_keras_object(self.encoder),
        }

    @classmethod
    def from_config(cls, config):
        names = ("embedding", "bilm", "encoder")
        layers = {n: keras.saving.deserialize_keras_object(config.pop(n)) for n in names}
        return cls(**layers, **config)


def _side_by_side(states):
    """The state of both directions, from that of each."""
    return [ops.concatenate(part, axis=-1) for part in zip(*states, strict=True)]
