"""Words to vectors by a table, beside their characters."""

import keras
from keras import ops

from keras_elmo.layers import quantization


@keras.saving.register_keras_serializable(package="keras_elmo")
class WordEmbedding(keras.layers.Layer):
    """Embeds words by a table, and where it has `characters` by these too.

        y = [table[word] ; characters(char_ids)] Wp + bp

    Args:
        num_words: int, rows of the table; row 0 is "no token here".
        word_dim: int, size of a row.
        characters: a `CharCNNEmbedding` whose vector stands behind the word's; `None`: words only.
        projection_dim: int, size of a vector; `None`: no projection.
        embeddings_initializer: initializer of the table, (num_words, word_dim).
        kernel_initializer: initializer of the projection.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        ids: (..., 1 + characters) int, the word's id, then its characters', from
            `VocabularyEncoder`; all 0: no token.

    Returns:
        (..., projection_dim). `compute_mask` gives (...) bool, true where there is a token.

    Example:
        >>> layer = WordEmbedding(num_words=100, word_dim=8)
        >>> layer(keras.ops.ones((1, 5, 1), dtype="int32")).shape
        (1, 5, 8)

    Reference:
        Che et al. (2018), Towards better UD parsing, section 3 (words and characters).
    """

    def __init__(
        self,
        num_words,
        word_dim,
        characters=None,
        projection_dim=None,
        embeddings_initializer="uniform",
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_words = num_words
        self.word_dim = word_dim
        self.characters = characters
        self.projection_dim = projection_dim
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.max_word_length = 1 + (characters.max_word_length if characters else 0)
        self.max_width = 1 + (characters.max_width if characters else 0)
        self._joined_dim = word_dim + (characters.output_dim if characters else 0)
        self.output_dim = projection_dim or self._joined_dim

    def build(self, input_shape):
        self.table = self.add_weight(
            name="table",
            shape=(self.num_words, self.word_dim),
            initializer=self.embeddings_initializer,
        )
        if self.characters is not None and not self.characters.built:
            self.characters.build((*input_shape[:-1], input_shape[-1] - 1))
        if self.projection_dim is not None:
            self.projection = keras.layers.Dense(
                self.projection_dim,
                kernel_initializer=self.kernel_initializer,
                dtype=quantization.policy(self, "projection"),
                trainable=self.trainable,
                name="projection",
            )
            self.projection.build((None, self._joined_dim))

    def call(self, ids, training=None):
        x = ops.take(ops.cast(self.table, self.compute_dtype), ids[..., 0], axis=0)
        if self.characters is not None:
            characters = self.characters(ids[..., 1:], training=training)
            x = ops.concatenate([x, ops.cast(characters, x.dtype)], axis=-1)
        return x if self.projection_dim is None else self.projection(x)

    def compute_mask(self, ids, mask=None):
        return ops.any(ops.greater(ids, 0), axis=-1)

    def compute_output_spec(self, ids, training=None):
        return keras.KerasTensor((*ids.shape[:-1], self.output_dim), self.compute_dtype)

    def get_config(self):
        characters = keras.saving.serialize_keras_object(self.characters)
        if characters is not None:
            characters.pop("build_config", None)  # `build` does it
        return {
            **super().get_config(),
            **quantization.policies(self),
            "num_words": self.num_words,
            "word_dim": self.word_dim,
            "characters": characters,
            "projection_dim": self.projection_dim,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }

    @classmethod
    def from_config(cls, config):
        characters = keras.saving.deserialize_keras_object(config["characters"])
        return cls(**{**config, "characters": characters})
