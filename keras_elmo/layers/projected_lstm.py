"""One direction of one LSTM layer, with a projection of its output."""

import keras
from keras import ops

from keras_elmo.layers import quantization
from keras_elmo.recurrence import gates_hoisted
from keras_elmo.recurrence import lstm
from keras_elmo.recurrence import lstm_step
from keras_elmo.recurrence import projection

WEIGHTS = ("kernel", "recurrent_kernel", "bias", "projection_kernel")


@keras.saving.register_keras_serializable(package="keras_elmo")
class ProjectedLSTM(keras.layers.Layer):
    """An LSTM whose output is projected and clipped before it is fed back.

        i, j, f, o = x W + h R + b
        c' = clip(sigmoid(f + 1) c + sigmoid(i) tanh(j), cell_clip)
        h' = clip((sigmoid(o) tanh(c')) Wp, projection_clip)

    The whole sentence is multiplied by W in one product, then one compiled loop runs over time.
    Masked positions are skipped: they leave the state as it is and give exactly 0.

    Args:
        units: int, size of the cell.
        projection_dim: int, size of the output; `None`: no projection, the output has `units`.
        cell_clip: float, largest absolute value of the cell; `None`: no limit.
        projection_clip: float, largest absolute value of a projected output; `None`: no limit.
        kernel_initializer: initializer of W, (input_dim, 4 * units).
        recurrent_initializer: initializer of R, (projection_dim, 4 * units).
        bias_initializer: initializer of b, (4 * units,). The forget gate adds 1 by itself.
        projection_initializer: initializer of Wp, (units, projection_dim).
        kernel_regularizer: regularizer of W.
        recurrent_regularizer: regularizer of R.
        bias_regularizer: regularizer of b.
        projection_regularizer: regularizer of Wp.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        inputs: (batch, time, input_dim) float.
        mask: (batch, time) bool, or `None`.
        initial_state: `[h, c]` of shapes (batch, projection_dim) and (batch, units); zeros if
            `None`.
        go_backwards: bool, read from the last position to the first; outputs keep their places.
        starts: (batch, time) bool, where a new sentence of the row starts from the initial state.
        places: (batch, time) int: `inputs` are then distinct ones, (words, input_dim), and this
            tells which stands where.
        hoisted: bool, whether the product with W is made before the loop. In the loop it is
            faster where no gradient is wanted.

    Returns:
        `outputs, [h, c]`: (batch, time, projection_dim), and the state after the last position.

    Example:
        >>> layer = ProjectedLSTM(units=8, projection_dim=4)
        >>> outputs, state = layer(keras.random.normal((2, 5, 3)))
        >>> outputs.shape, state[1].shape
        ((2, 5, 4), (2, 8))

    Reference:
        Sak, Senior and Beaufays (2014), Long short-term memory based recurrent neural network
        architectures for large vocabulary speech recognition, section 2; Peters et al. (2018),
        Deep contextualized word representations, section 3.4.
    """

    def __init__(
        self,
        units,
        projection_dim=None,
        cell_clip=3.0,
        projection_clip=3.0,
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
        self.units = units
        self.projection_dim = projection_dim
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(recurrent_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.projection_initializer = keras.initializers.get(projection_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = keras.regularizers.get(recurrent_regularizer)
        self.bias_regularizer = keras.regularizers.get(bias_regularizer)
        self.projection_regularizer = keras.regularizers.get(projection_regularizer)
        self.output_dim = projection_dim or units

    def build(self, input_shape):
        gates = 4 * self.units
        shapes = {
            "kernel": (input_shape[-1], gates),
            "recurrent_kernel": (self.output_dim, gates),
            "bias": (gates,),
            "projection_kernel": (self.units, self.projection_dim),
        }
        for name, shape in shapes.items():
            if None in shape:
                setattr(self, name, None)
            elif name != "bias" and self.quantization_mode is not None:
                quantization.add_matrix(self, name, shape)
            else:
                setattr(self, name, self._add_float(name, shape))

    def _add_float(self, name, shape):
        part = name.removesuffix("_kernel")
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=getattr(self, f"{part}_initializer"),
            regularizer=getattr(self, f"{part}_regularizer"),
        )

    def quantize(self, mode, type_check=True, config=None):
        if mode != "int8":
            raise NotImplementedError(f"{type(self).__name__} is quantized to int8, not to {mode}")
        names = [name for name in WEIGHTS if name != "bias" and getattr(self, name) is not None]
        quantization.quantize(self, names)

    def get_initial_state(self, batch_size):
        """Zeros: `[h, c]` of shapes (batch_size, projection_dim) and (batch_size, units)."""
        sizes = (self.output_dim, self.units)
        return [ops.zeros((batch_size, size), dtype=self.compute_dtype) for size in sizes]

    def call(
        self,
        inputs,
        mask=None,
        initial_state=None,
        go_backwards=False,
        starts=None,
        places=None,
        hoisted=True,
        training=None,
    ):
        if initial_state is None:
            positions = inputs if places is None else places
            initial_state = self.get_initial_state(ops.shape(positions)[0])
        clips = (self.cell_clip, self.projection_clip)
        outputs, state = lstm(
            inputs,
            mask,
            initial_state,
            self._weights(),
            clips,
            go_backwards,
            starts,
            places,
            hoisted,
            training=training is True and self.trainable,  # frozen it gives the same to the bit
        )
        return outputs, list(state)

    def step(self, inputs, state):
        """One step for decoders: (batch, input_dim) and `[h, c]` to `h` and the new `[h, c]`."""
        *gate_weights, projection_kernel = self._weights()
        x, gates = gates_hoisted(inputs, *gate_weights)
        clips = self.cell_clip, self.projection_clip
        h, c = lstm_step(gates(x, state[0]), state[1], projection(projection_kernel), *clips)
        return h, [h, c]

    def _int8_call(self, *arguments, **options):
        return self.call(*arguments, **options)

    def _weights(self):
        return [quantization.matrix(self, name) for name in WEIGHTS]

    def compute_output_spec(self, inputs, places=None, **options):
        batch, time = (inputs if places is None else places).shape[:2]
        shapes = (batch, time, self.output_dim), (batch, self.output_dim), (batch, self.units)
        outputs, h, c = (keras.KerasTensor(shape, self.compute_dtype) for shape in shapes)
        return outputs, [h, c]

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask, [None, None]

    def get_config(self):
        config = {
            **super().get_config(),
            "units": self.units,
            "projection_dim": self.projection_dim,
            "cell_clip": self.cell_clip,
            "projection_clip": self.projection_clip,
        }
        for part in ("kernel", "recurrent", "bias", "projection"):
            for kind, module in (
                ("initializer", keras.initializers),
                ("regularizer", keras.regularizers),
            ):
                name = f"{part}_{kind}"
                config[name] = module.serialize(getattr(self, name))
        return config
