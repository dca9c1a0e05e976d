"""Strings to character ids inside a TensorFlow graph, from core operations only."""

from keras_elmo.errors import ElmoError
from keras_elmo.text.characters import BEGIN_SENTENCE
from keras_elmo.text.characters import BEGIN_WORD
from keras_elmo.text.characters import BOS
from keras_elmo.text.characters import END_SENTENCE
from keras_elmo.text.characters import END_WORD
from keras_elmo.text.characters import EOS
from keras_elmo.text.characters import MAX_WORD_LENGTH
from keras_elmo.text.characters import PAD_CHAR


def tokens_to_char_ids(tokens, max_word_length=MAX_WORD_LENGTH):
    """Character ids of string tokens, as part of a TensorFlow graph.

    Equal to `keras_elmo.batch_to_ids` on UTF-8 tokens, with `""` for "no token here". Only core
    TensorFlow operations, so a SavedModel that holds it runs in TensorFlow Serving.

    Args:
        tokens: string tensor of any shape, `""` after a sentence's end.
        max_word_length: int, ids a token.

    Returns:
        int32 tensor of shape `tokens.shape + (max_word_length,)`.

    Example:
        >>> tokens_to_char_ids(tf.constant([["The", "cat"], ["Hello", ""]])).shape
        TensorShape([2, 2, 50])
    """
    import tensorflow as tf

    tokens = tf.convert_to_tensor(tokens)
    limit = max_word_length - 2
    # (..., limit): the bytes, then zeros
    data = tf.io.decode_raw(tokens, tf.uint8, fixed_length=limit)
    characters = tf.cast(data, tf.int32) + 1
    length = tf.minimum(tf.strings.length(tokens), limit)
    for word, character in ((BOS, BEGIN_SENTENCE), (EOS, END_SENTENCE)):
        boundary = tf.equal(tokens, word)
        characters = tf.where(boundary[..., None], character, characters)
        length = tf.where(boundary, 1, length)

    length = length[..., None]
    position = tf.range(limit + 1)
    ends = tf.where(position == length, END_WORD, PAD_CHAR)
    padded = tf.pad(characters, [[0, 0]] * tokens.shape.rank + [[0, 1]])
    body = tf.where(position < length, padded, ends)  # (..., limit + 1)
    begin = tf.fill(tf.concat([tf.shape(tokens), [1]], 0), BEGIN_WORD)
    ids = tf.concat([begin, body], -1)
    return tf.where(tf.equal(tokens, "")[..., None], 0, ids)


def split_on_spaces(sentences):
    """Sentences to padded tokens, as TF-Hub's elmo modules split them: on spaces alone.

    Args:
        sentences: string tensor of shape `(batch,)`.

    Returns:
        string tensor of shape `(batch, longest sentence)`, `""` after a sentence's end.

    Example:
        >>> split_on_spaces(tf.constant(["The  cat sat"])).shape
        TensorShape([1, 3])
    """
    import tensorflow as tf

    tokens = tf.strings.split(sentences, " ")
    return tf.ragged.boolean_mask(tokens, tokens != "").to_tensor("")


def split_sentences(sentences, tokenizer="whitespace"):
    """Sentences to padded tokens, as part of a TensorFlow graph.

    Args:
        sentences: string tensor of shape `(batch,)`.
        tokenizer: `"whitespace"`; or `"tensorflow-text"`, which also splits punctuation off by
            Unicode script (its operations must be known to whatever runs the graph).

    Returns:
        string tensor of shape `(batch, longest sentence)`, `""` after a sentence's end.

    Example:
        >>> split_sentences(tf.constant(["The cat sat", "Hello"]))[1].numpy().tolist()
        [b'Hello', b'', b'']
    """
    import tensorflow as tf

    if tokenizer == "whitespace":
        return tf.strings.split(sentences).to_tensor("")
    if tokenizer == "tensorflow-text":
        return unicode_script_tokenizer().tokenize(sentences).to_tensor("")
    raise ElmoError(
        f"Unknown in-graph tokenizer {tokenizer!r}: use 'whitespace' or 'tensorflow-text'."
    )


def unicode_script_tokenizer():
    """TensorFlow Text's tokenizer by whitespace and Unicode script.

    Returns:
        A `tensorflow_text.UnicodeScriptTokenizer`.

    Raises:
        ElmoError: if TensorFlow Text is not installed.
    """
    try:
        import tensorflow_text
    except ImportError as error:
        raise ElmoError(
            'This tokenizer needs TensorFlow Text: pip install "keras-elmo[tensorflow]"'
        ) from error
    return tensorflow_text.UnicodeScriptTokenizer()
