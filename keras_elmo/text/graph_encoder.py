"""What an encoder does, inside a TensorFlow graph."""

import tensorflow as tf

from keras_elmo.text.character_encoder import CharacterEncoder
from keras_elmo.text.tokenizer import tokens_to_char_ids
from keras_elmo.text.vocabulary_encoder import BEGIN_WORD
from keras_elmo.text.vocabulary_encoder import END_WORD


class GraphEncoder(tf.Module):
    """String tokens to rows of ids, as `encoder.encode_batch` makes them.

    Only core TensorFlow operations, so a SavedModel that holds it runs in TensorFlow Serving.

    Args:
        encoder: `CharacterEncoder` or `VocabularyEncoder`.

    Call arguments:
        tokens: string tensor (batch, time), `""` after a sentence's end.

    Returns:
        int32 tensor (batch, time, ids a word), 0 where there is no token.

    Example:
        >>> GraphEncoder(CharacterEncoder())(tf.constant([["The", "cat"]])).shape
        TensorShape([1, 2, 50])
    """

    def __init__(self, encoder):
        super().__init__()
        self.max_word_length = encoder.max_word_length
        self.reads_bytes = isinstance(encoder, CharacterEncoder)
        if not self.reads_bytes:
            self._begin, self._end, unknown = encoder.markers
            self._limit = encoder.max_characters and encoder.max_characters - 2
            self._words = _table(encoder.words, unknown)
            self._characters = _table(encoder.characters, unknown)
            self._pad_id = encoder.pad_id

    def __call__(self, tokens):
        if self.reads_bytes:
            return tokens_to_char_ids(tokens, self.max_word_length)
        words = tokens
        if self._limit is not None:
            words = tf.strings.substr(tokens, 0, self._limit, unit="UTF8_CHAR")
        columns = []
        if self._words is not None:
            columns.append(self._words.lookup(words)[..., None])
        if self._characters is not None:
            columns.append(self._spelled(words))
        return tf.where(tf.equal(tokens, "")[..., None], 0, tf.concat(columns, axis=-1))

    def _spelled(self, words):
        shape = tf.shape(words)
        words = tf.reshape(words, (-1,))
        letters = tf.strings.unicode_split(words, "UTF-8")
        boundary = tf.equal(words, self._begin) | tf.equal(words, self._end)
        whole = tf.RaggedTensor.from_tensor(words[:, None])
        letters = tf.ragged.stack([letters, whole], axis=1)  # (words, 2, None)
        letters = tf.gather(letters, tf.cast(boundary, tf.int32), axis=1, batch_dims=1)
        count = tf.shape(words)[:1]
        marks = [tf.fill(count, mark)[:, None] for mark in (BEGIN_WORD, END_WORD)]
        entries = tf.concat([marks[0], letters, marks[1]], axis=1)
        ids = entries.with_values(self._characters.lookup(entries.values))
        width = self.max_word_length - (self._words is not None)
        ids = ids.to_tensor(self._pad_id, shape=(None, width))
        return tf.reshape(ids, tf.concat([shape, [width]], axis=0))


def _table(entries, unknown):
    """A look-up of entries to their ids + 1, or to that of the unknown one."""
    if entries is None:
        return None
    ids = tf.range(1, len(entries) + 1, dtype=tf.int32)
    initializer = tf.lookup.KeyValueTensorInitializer(tf.constant(entries), ids)
    return tf.lookup.StaticHashTable(initializer, entries.index(unknown) + 1)
