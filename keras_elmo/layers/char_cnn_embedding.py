"""Words to vectors through their characters."""

import keras
from keras import ops

from keras_elmo import backend
from keras_elmo.backend.lookups import largest_sum
from keras_elmo.backend.products import matmul_rows
from keras_elmo.errors import ElmoError
from keras_elmo.layers import quantization
from keras_elmo.layers.dense import Dense
from keras_elmo.layers.highway import Highway


@keras.saving.register_keras_serializable(package="keras_elmo")
class CharCNNEmbedding(keras.layers.Layer):
    """Embeds words by a convolution over their characters.

        e = table[char_ids]                                   (characters, char_embedding_dim)
        y = concat_k activation(max_position(conv_k(e)) + b_k)       (sum of the filters,)
        y = highway(y), `num_highways` times
        y = y Wp + bp                                                (projection_dim,)

    The maximum is taken before bias and activation, which changes nothing, as both are monotone.
    Windows that hold only padding all give the same value, so ids may be cut to the longest word
    plus the widest filter: the result is the same, and short words are several times cheaper.

    There are few characters, so that what each adds at each place of a window can be known before
    (`window_tables`): on a processor the sums of these are several times as fast as the product,
    and, under JAX and PyTorch, their gradient too. It is what happens in training there.

    Args:
        filters: list of `[width, count]`, the convolutions in order.
        projection_dim: int, size of a word vector; `None`: no projection, the size is the sum of
            the filters.
        num_highways: int, number of highway layers.
        char_embedding_dim: int, size of a character vector.
        num_chars: int, rows of the character table; row 0 is "no token here".
        activation: `"relu"` or `"tanh"`.
        max_word_length: int, characters of a word with its marks, for whoever makes the ids; the
            layer itself takes any number.
        embeddings_initializer: initializer of the table, (num_chars, char_embedding_dim).
        kernel_initializer: initializer of the convolutions and projections.
        bias_initializer: initializer of their biases.
        kernel_regularizer: regularizer of the convolutions and projections.
        dropout: float in [0, 1), share of the vector's elements dropped in training.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        char_ids: (..., characters) int, with ids in [0, num_chars); all 0: no token.
        tables: what `window_tables` gives, to have the convolutions from these; or `None`.

    Returns:
        (..., projection_dim). `compute_mask` gives (...) bool, true where there is a token.

    Raises:
        ElmoError: if the ids are not integers, too few for the widest filter, or out of range
            (out of range is seen where the values are: outside compiled code).

    Example:
        >>> layer = CharCNNEmbedding(filters=[[1, 4], [2, 8]], projection_dim=6)
        >>> layer(keras_elmo.batch_to_ids([["A", "word"]])).shape
        (1, 2, 6)

    Reference:
        Kim et al. (2016), Character-aware neural language models, section 2; Peters et al. (2018),
        Deep contextualized word representations, section 3.4.
    """

    def __init__(
        self,
        filters,
        projection_dim=None,
        num_highways=2,
        char_embedding_dim=16,
        num_chars=262,
        activation="relu",
        max_word_length=50,
        embeddings_initializer="uniform",
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        dropout=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if activation not in ("relu", "tanh"):
            raise ElmoError(f'activation must be "relu" or "tanh", not {activation!r}')
        self.supports_masking = True
        self.filters = [[int(width), int(count)] for width, count in filters]
        self.projection_dim = projection_dim
        self.num_highways = num_highways
        self.char_embedding_dim = char_embedding_dim
        self.num_chars = num_chars
        self.max_word_length = max_word_length
        self.activation = keras.activations.get(activation)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.max_width = max(width for width, _ in self.filters)
        self.num_filters = sum(count for _, count in self.filters)
        self.output_dim = projection_dim or self.num_filters

    def build(self, input_shape):
        self.char_embeddings = self.add_weight(
            name="char_embeddings",
            shape=(self.num_chars, self.char_embedding_dim),
            initializer=self.embeddings_initializer,
        )
        for k, (width, count) in enumerate(self.filters):
            kernel = self.add_weight(
                name=f"conv_kernel_{k}",
                shape=(width, self.char_embedding_dim, count),
                initializer=self.kernel_initializer.clone(),
                regularizer=self.kernel_regularizer,
            )
            bias = self.add_weight(
                name=f"conv_bias_{k}", shape=(count,), initializer=self.bias_initializer
            )
            setattr(self, f"conv_kernel_{k}", kernel)
            setattr(self, f"conv_bias_{k}", bias)
        shared = {
            "kernel_initializer": self.kernel_initializer.clone(),
            "kernel_regularizer": self.kernel_regularizer,
            "trainable": self.trainable,
        }
        for k in range(self.num_highways):
            highway = Highway(name=f"highway_{k}", dtype=self.dtype_policy, **shared)
            highway.build((None, self.num_filters))
            setattr(self, f"highway_{k}", highway)
        if self.projection_dim is not None:
            self.projection = Dense(
                self.projection_dim,
                bias_initializer=self.bias_initializer,
                name="projection",
                dtype=quantization.policy(self, "projection"),
                **shared,
            )
            self.projection.build((None, self.num_filters))

    def window_tables(self):
        """What each character adds at each place of a window: table @ kernel[place].

        A convolution is linear, so its value at a position is the sum over k of row
        `char_ids[position + k]` of the k-th part of its table.

        Returns:
            A list of one tensor (width, num_chars, count) float32 for each filter.

        Example:
            >>> layer = CharCNNEmbedding(filters=[[1, 32], [3, 64]], projection_dim=128)
            >>> char_ids = batch_to_ids([["The", "end", "."]])
            >>> vectors = layer(char_ids)
            >>> vectors = layer(char_ids, tables=layer.window_tables())  # the same, looked up
        """
        table = ops.cast(self.char_embeddings, "float32")
        kernels = [getattr(self, f"conv_kernel_{k}") for k in range(len(self.filters))]
        return [ops.matmul(table, ops.cast(kernel, "float32")) for kernel in kernels]

    def call(self, char_ids, training=None, tables=None):
        self._check(char_ids)
        leading = ops.shape(char_ids)[:-1]
        if 0 in char_ids.shape:  # no words, and not every backend takes a maximum of nothing
            return ops.zeros((*leading, self.output_dim), dtype=self.compute_dtype)
        ids = ops.reshape(char_ids, (-1, char_ids.shape[-1]))  # (words, characters)
        ids = ops.cast(ids, "int32")
        learns = training is True and self.trainable
        if tables is None and learns and backend.looks_up_in_training(ids):
            tables = self.window_tables()
        x = ops.concatenate(self._convolved(ids, tables), axis=-1)
        for k in range(self.num_highways):
            x = getattr(self, f"highway_{k}")(x)
        if self.projection_dim is not None:
            x = self.projection(x)
        x = self.dropout_layer(x, training=training)
        return ops.reshape(x, (*leading, self.output_dim))

    def _convolved(self, ids, tables):
        """What each filter gives, (words, count)."""
        if tables is None:
            x = ops.take(self.char_embeddings, ids, axis=0)
            largest = [self._largest(k, x) for k in range(len(self.filters))]
        else:
            largest = [ops.cast(largest_sum(t, ids), self.compute_dtype) for t in tables]
        biases = [getattr(self, f"conv_bias_{k}") for k in range(len(self.filters))]
        return [
            self.activation(y + ops.cast(bias, y.dtype))
            for y, bias in zip(largest, biases, strict=True)
        ]

    def _largest(self, k, x):
        width, _ = self.filters[k]
        positions = x.shape[1] - width + 1
        windows = [x[:, offset : offset + positions] for offset in range(width)]
        windows = ops.concatenate(windows, axis=-1)  # (words, positions, width * dim)
        kernel = ops.cast(getattr(self, f"conv_kernel_{k}"), self.compute_dtype)
        y = matmul_rows(windows, ops.reshape(kernel, (-1, kernel.shape[-1])))
        return ops.max(y, axis=1)

    def _check(self, char_ids):
        dtype = keras.backend.standardize_dtype(char_ids.dtype)
        if "int" not in dtype:
            raise ElmoError(
                f"char_ids must be integers, not {dtype}; make them by batch_to_ids, and begin a "
                'Sequential model with keras.Input((None, 50), dtype="int32")'
            )
        if len(char_ids.shape) < 2 or char_ids.shape[-1] is None:
            raise ElmoError(
                f"char_ids must have the shape (..., characters) with a fixed number of "
                f"characters, not {tuple(char_ids.shape)}"
            )
        if char_ids.shape[-1] < self.max_width:
            raise ElmoError(
                f"char_ids hold {char_ids.shape[-1]} characters a word, fewer than the widest "
                f"filter ({self.max_width}); pad the words with the padding character"
            )
        ids = backend.concrete(char_ids)
        if ids is not None and ids.size and not 0 <= ids.min() <= ids.max() < self.num_chars:
            raise ElmoError(
                f"char_ids must lie in 0..{self.num_chars - 1}, found {ids.min()}..{ids.max()}; "
                "make them by batch_to_ids"
            )

    def compute_mask(self, char_ids, mask=None):
        return ops.any(ops.greater(char_ids, 0), axis=-1)

    def compute_output_spec(self, char_ids, training=None, tables=None):
        self._check(char_ids)
        return keras.KerasTensor((*char_ids.shape[:-1], self.output_dim), self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            **quantization.policies(self),
            "filters": self.filters,
            "projection_dim": self.projection_dim,
            "num_highways": self.num_highways,
            "char_embedding_dim": self.char_embedding_dim,
            "num_chars": self.num_chars,
            "activation": keras.activations.serialize(self.activation),
            "max_word_length": self.max_word_length,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "dropout": self.dropout,
        }
