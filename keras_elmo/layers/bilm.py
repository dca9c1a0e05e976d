"""The bidirectional language model: LSTM layers in both directions."""

import keras
from keras import ops

from keras_elmo.errors import ElmoError
from keras_elmo.layers import quantization
from keras_elmo.layers.projected_lstm import ProjectedLSTM

DIRECTIONS = ("forward", "backward")


@keras.saving.register_keras_serializable(package="keras_elmo")
class BiLM(keras.layers.Layer):
    """Reads word vectors left to right and right to left through layers of projected LSTMs.

        forward_0 = backward_0 = x
        forward_k = lstm(forward_(k-1)) [+ forward_(k-1) from the second layer on]
        layer k = [forward_k ; backward_k]

    Each direction sees only its own lower layer. The backward direction reads every sentence from
    its own end; a masked position is skipped and is exactly 0 in every layer, wherever it lies.
    Equal input gives equal output: no state is kept unless asked for.

    Args:
        num_layers: int, L, LSTM layers a direction.
        units: int, U, size of the cells.
        projection_dim: int, P, size of the outputs; `None`: no projection, P = U.
        cell_clip: float, largest absolute value of a cell; `None`: no limit.
        projection_clip: float, largest absolute value of a projected output; `None`: no limit.
        skip_connections: bool, whether layers from the second on add their input to their output.
            The state carried on is the one before this sum.
        dropout: float in [0, 1), share of each LSTM layer's input dropped in training.
        stateful: bool, whether the final state of a call is the initial state of the next, as in
            the original implementations. Needs a fixed batch size; `reset_state()` clears it.
        return_state: bool, whether the final state is returned too.
        kernel_initializer: initializer of the input kernels.
        recurrent_initializer: initializer of the recurrent kernels.
        bias_initializer: initializer of the biases.
        projection_initializer: initializer of the projections.
        kernel_regularizer: regularizer of the input kernels.
        recurrent_regularizer: regularizer of the recurrent kernels.
        bias_regularizer: regularizer of the biases.
        projection_regularizer: regularizer of the projections.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        inputs: (batch, time, P) float, the word vectors with their boundaries.
        mask: (batch, time) bool, true where there is a word; `None`: everywhere.
        initial_state: `[h, c]` of shapes (batch, L, 2P) and (batch, L, 2U), forward then backward
            half; `None`: zeros.
        training: bool, whether dropout is on.

    Returns:
        A list of L + 1 tensors (batch, time, 2P), layer 0 (the doubled input) first. With
        `return_state=True`, that list and the final `[h, c]`.

    Raises:
        ElmoError: if the input is not (batch, time, P), or `stateful` without a batch size.

    Example:
        >>> bilm = BiLM(num_layers=2, units=8, projection_dim=4)
        >>> layers = bilm(keras.random.normal((1, 5, 4)))
        >>> len(layers), layers[2].shape
        (3, (1, 5, 8))

    Reference:
        Peters et al. (2018), Deep contextualized word representations, sections 3.1 and 3.4.
    """

    def __init__(
        self,
        num_layers=2,
        units=4096,
        projection_dim=512,
        cell_clip=3.0,
        projection_clip=3.0,
        skip_connections=True,
        dropout=0.0,
        stateful=False,
        return_state=False,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="glorot_uniform",
        bias_initializer="zeros",
        projection_initializer="glorot_uniform",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        projection_regularizer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_layers = num_layers
        self.skip_connections = skip_connections
        self.dropout = dropout
        self.stateful = stateful
        self.return_state = return_state
        self.units = units
        self.output_dim = projection_dim or units
        lstm = ProjectedLSTM(
            units,
            projection_dim,
            cell_clip,
            projection_clip,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            projection_initializer,
            kernel_regularizer,
            recurrent_regularizer,
            bias_regularizer,
            projection_regularizer,
        )
        base = super().get_config().keys()
        self._lstm_config = {k: v for k, v in lstm.get_config().items() if k not in base}
        for direction in DIRECTIONS:
            for k in range(num_layers):
                name = f"{direction}_{k}"
                layer = ProjectedLSTM(
                    **self._lstm_config,
                    name=name,
                    dtype=self.dtype_policy,
                    trainable=self.trainable,
                )
                setattr(self, name, layer)
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, input_shape):
        if len(input_shape) != 3 or input_shape[-1] != self.output_dim:
            raise ElmoError(
                f"BiLM {self.name}: the input must be (batch, time, {self.output_dim}), "
                f"not {tuple(input_shape)}"
            )
        for direction in DIRECTIONS:
            for k in range(self.num_layers):
                getattr(self, f"{direction}_{k}").build(input_shape)
        if self.stateful:
            if input_shape[0] is None:
                raise ElmoError(
                    f"BiLM {self.name}: stateful=True needs a fixed batch size; give it with "
                    "keras.Input(batch_size=...), or pass initial_state= yourself"
                )
            self.state_h, self.state_c = (
                self.add_weight(name=name, shape=shape, initializer="zeros", trainable=False)
                for name, shape in zip(
                    ("state_h", "state_c"), self._state_shapes(input_shape[0]), strict=True
                )
            )

    def call(self, inputs, mask=None, initial_state=None, training=None):
        x = inputs
        if mask is not None:
            mask = ops.cast(mask, "bool")
            x = ops.where(mask[..., None], x, ops.zeros_like(x))  # even NaN goes
        h, c = self._initial_state(x, initial_state)
        halves = []
        for number, direction in enumerate(DIRECTIONS):
            half = ops.split(h, 2, axis=-1)[number], ops.split(c, 2, axis=-1)[number]
            backwards = direction == "backward"
            halves.append(self.run_direction(direction, x, half, mask, backwards, training))
        outputs, states = zip(*halves, strict=True)
        layers = [ops.concatenate(pair, axis=-1) for pair in zip(*outputs, strict=True)]
        state = [ops.concatenate(pair, axis=-1) for pair in zip(*states, strict=True)]
        if self.stateful:
            self.state_h.assign(ops.cast(state[0], self.state_h.dtype))
            self.state_c.assign(ops.cast(state[1], self.state_c.dtype))
        return (layers, state) if self.return_state else layers

    def run_direction(
        self,
        direction,
        inputs,
        state,
        mask=None,
        go_backwards=False,
        training=None,
        starts=None,
        places=None,
        noise=None,
    ):
        """Runs the layers of one direction, in whichever order is asked.

        A language model in training feeds each direction its own stream and reads both from left
        to right; `call` feeds both the same sentence and lets the backward one go backwards.

        Args:
            direction: `"forward"` or `"backward"`.
            inputs: (batch, time, P).
            state: `[h, c]` of shapes (batch, L, P) and (batch, L, U).
            mask: (batch, time) bool, or `None`.
            go_backwards: bool.
            training: bool, whether dropout is on.
            starts: (batch, time) bool, where a new sentence of the row starts from `state`.
            places: (batch, time) int: `inputs` are then distinct ones, (words, P), and this tells
                which stands where. Each goes through the first product once, and the products of
                the further layers are made in the loop. Not in training.
            noise: list of L tensors that the inputs of the layers are multiplied by, in place of
                dropout; `None`: dropout.

        Returns:
            A list of L + 1 tensors (batch, time, P), the input first, and the final `[h, c]`.
        """
        outputs = [inputs if places is None else ops.take(inputs, places, axis=0)]
        states = []
        for k in range(self.num_layers):
            distinct = places if k == 0 else None
            x = inputs if k == 0 else outputs[-1]
            x = self.dropout_layer(x, training=training) if noise is None else x * noise[k]
            y, final = getattr(self, f"{direction}_{k}")(
                x,
                mask=mask,
                initial_state=[state[0][:, k], state[1][:, k]],
                go_backwards=go_backwards,
                starts=starts,
                places=distinct,
                hoisted=places is None,
                training=training,
            )
            outputs.append(y + x if self.skip_connections and k > 0 else y)
            states.append(final)
        return outputs, [ops.stack(part, axis=1) for part in zip(*states, strict=True)]

    def forward_step(self, inputs, state):
        """One word further with the forward half alone, for decoders.

        Args:
            inputs: (batch, P), the vector of one word.
            state: `[h, c]` of shapes (batch, L, P) and (batch, L, U), from the step before, or
                from `get_forward_state(batch_size)`.

        Returns:
            A list of L + 1 tensors (batch, P), equal to the forward halves that `call` gives for
            this word, and the new state.
        """
        outputs, states = [ops.cast(inputs, self.compute_dtype)], []
        for k in range(self.num_layers):
            y, new = getattr(self, f"forward_{k}").step(
                outputs[-1], [state[0][:, k], state[1][:, k]]
            )
            outputs.append(y + outputs[-1] if self.skip_connections and k > 0 else y)
            states.append(new)
        return outputs, [ops.stack(part, axis=1) for part in zip(*states, strict=True)]

    def get_initial_state(self, batch_size):
        """Zeros for `initial_state`: (batch_size, L, 2P) and (batch_size, L, 2U)."""
        return [ops.zeros(s, dtype=self.compute_dtype) for s in self._state_shapes(batch_size)]

    def get_forward_state(self, batch_size):
        """Zeros for `forward_step`: (batch_size, L, P) and (batch_size, L, U)."""
        return [ops.split(s, 2, axis=-1)[0] for s in self.get_initial_state(batch_size)]

    def reset_state(self):
        """Sets the state of a stateful layer back to zeros."""
        for variable in (self.state_h, self.state_c) if self.stateful and self.built else ():
            variable.assign(ops.zeros(variable.shape, dtype=variable.dtype))

    def _state_shapes(self, batch_size):
        sizes = (2 * self.output_dim, 2 * self.units)
        return [(batch_size, self.num_layers, size) for size in sizes]

    def _initial_state(self, x, initial_state):
        if initial_state is None and self.stateful:
            initial_state = [self.state_h, self.state_c]
        if initial_state is None:
            return self.get_initial_state(ops.shape(x)[0])
        return [ops.cast(part, self.compute_dtype) for part in initial_state]

    def compute_output_spec(self, inputs, mask=None, initial_state=None, training=None):
        shape = (*inputs.shape[:2], 2 * self.output_dim)
        layers = [keras.KerasTensor(shape, self.compute_dtype) for _ in range(self.num_layers + 1)]
        if not self.return_state:
            return layers
        shapes = self._state_shapes(inputs.shape[0])
        return layers, [keras.KerasTensor(shape, self.compute_dtype) for shape in shapes]

    def save_own_variables(self, store):
        pass  # the sub-layers hold the weights; the state of a stateful layer is not saved

    def load_own_variables(self, store):
        pass

    def compute_mask(self, inputs, previous_mask=None):
        masks = [previous_mask] * (self.num_layers + 1)
        return (masks, [None, None]) if self.return_state else masks

    def get_config(self):
        return {
            **super().get_config(),
            **quantization.policies(self),
            "num_layers": self.num_layers,
            **self._lstm_config,
            "skip_connections": self.skip_connections,
            "dropout": self.dropout,
            "stateful": self.stateful,
            "return_state": self.return_state,
        }
