"""A SavedModel that answers as TF-Hub's module elmo/3 does, for TensorFlow Serving."""

from keras_elmo.export import graph
from keras_elmo.export import warm_up as warm_up_requests
from keras_elmo.files import replaced
from keras_elmo.text.tokenizer import split_on_spaces
from keras_elmo.text.tokenizer import split_sentences

WEIGHTS = ("float32", "float16")


def save(elmo, folder, weights="float32", tokenizer=None, warm_up=False):
    """Writes a SavedModel with the signatures of TF-Hub's elmo/3, whole or not at all.

    | signature | inputs |
    |---|---|
    | `default`, also `serving_default` | `strings` (batch,), split on spaces |
    | `tokens` | `tokens` (batch, time) strings, `sequence_len` (batch,) int32; `""` is padding |
    | `char_ids` | `char_ids` (batch, time, characters) int32, from `batch_to_ids` |
    | `text`, with a tokenizer | `text` (batch,) strings of raw text |

    All answer `word_emb` (batch, time, P); `lstm_outputs1`, `lstm_outputs2`, ... and `elmo`
    (batch, time, 2P); `default` (batch, 2P), the mean of `elmo` over the words; `sequence_len`
    (batch,). Positions without a word are 0. A model with several mixes answers `elmo_0`,
    `elmo_1`, ... in place of `elmo`, and the mean of the first. `text` also answers `tokens`.

    The folder needs TensorFlow alone: no Keras, nor this package. It has no state, so it may be
    called from many threads, and equal requests get equal bits.

    Args:
        elmo: an `Elmo`, on the TensorFlow backend.
        folder: path, which must be free. TensorFlow Serving expects `name/version`, such as
            `models/elmo/1`.
        weights: `"float32"`; or `"float16"`, which halves the folder and is cast in every call.
        tokenizer: `None`; or `"tensorflow-text"`, which adds the signature `text`. Then the
            folder needs TensorFlow Text too, which TensorFlow Serving has.
        warm_up: bool, whether to add requests that TensorFlow Serving answers before it says that
            it is ready.

    Raises:
        ElmoError: if the path is taken, the model keeps state or boundaries or reads no
            characters, or a package is missing.

    Example:
        >>> saved_model.save(keras_elmo.load(), "models/elmo/1")
        >>> default = tf.saved_model.load("models/elmo/1").signatures["default"]
        >>> default(tf.constant(["The cat sat"]))["elmo"].shape[:2]
        TensorShape([1, 3])

    Reference:
        The signatures of https://tfhub.dev/google/elmo/3.
    """
    tf = graph.tensorflow()
    from keras_elmo.text.graph_encoder import GraphEncoder

    folder = graph.check_target(folder)
    graph.check_choice("weights", weights, WEIGHTS)
    module, answer = graph.function(elmo, weights)
    module.encoder = GraphEncoder(elmo.encoder)  # here, for the folder to hold its vocabularies
    signatures = _signatures(tf, _outputs(answer), module.encoder)
    if tokenizer is not None:
        signatures["text"] = _text_signature(tf, signatures["tokens"], tokenizer)
    signatures["serving_default"] = signatures["default"]
    with replaced(folder) as temporary:
        tf.saved_model.save(module, str(temporary), signatures=signatures)
        if warm_up:
            warm_up_requests.write(temporary, folder.parent.name)


def _outputs(answer):
    def outputs(char_ids):
        import tensorflow as tf

        found = answer(char_ids)
        layers, mixes = found["layers"], graph.mixes(found)
        mask = tf.cast(found["mask"], layers.dtype)[..., None]  # (batch, time, 1)
        count = tf.reduce_sum(mask, axis=1)  # (batch, 1)
        total = tf.reduce_sum(next(iter(mixes.values())) * mask, axis=1)
        return {
            "word_emb": layers[:, 0, :, : layers.shape[-1] // 2],
            **{f"lstm_outputs{k}": layers[:, k] for k in range(1, layers.shape[1])},
            **mixes,
            "default": tf.math.divide_no_nan(total, count),
            "sequence_len": tf.cast(count[:, 0], tf.int32),
        }

    return outputs


def _signatures(tf, outputs, encode):
    answer = graph.signature(outputs, char_ids=((None, None, encode.max_word_length), tf.int32))

    def tokens(tokens, sequence_len):
        time = tf.shape(tokens)[1]
        tf.debugging.assert_less_equal(sequence_len, time, "sequence_len is beyond the tokens")
        tf.debugging.assert_non_negative(sequence_len, "sequence_len is below 0")
        tokens = tf.where(tf.sequence_mask(sequence_len, time), tokens, "")
        return answer(encode(tokens))

    def default(strings):
        return answer(encode(split_on_spaces(strings)))

    many = (None,)
    return {
        "default": graph.signature(default, strings=(many, tf.string)),
        "tokens": graph.signature(
            tokens, tokens=((None, None), tf.string), sequence_len=(many, tf.int32)
        ),
        "char_ids": answer,
    }


def _text_signature(tf, tokens_signature, tokenizer):
    def text(text):
        tokens = split_sentences(text, tokenizer)
        length = tf.fill(tf.shape(tokens)[:1], tf.shape(tokens)[1])
        return {"tokens": tokens, **tokens_signature(tokens, length)}

    return graph.signature(text, text=((None,), tf.string))
