"""Task models for servers and devices: text in, labels out."""

from functools import partial

import keras

from keras_elmo.errors import ElmoError
from keras_elmo.export import formats
from keras_elmo.export import graph
from keras_elmo.export import saved_model
from keras_elmo.export import warm_up as warm_up_requests
from keras_elmo.files import replaced
from keras_elmo.tasks.folder import load
from keras_elmo.tasks.seq2seq import END
from keras_elmo.tasks.seq2seq import Seq2Seq
from keras_elmo.tasks.span_extractor import NEVER
from keras_elmo.tasks.span_extractor import SpanExtractor
from keras_elmo.tasks.token_classifier import TokenClassifier
from keras_elmo.text.tokenizer import split_on_spaces
from keras_elmo.text.tokenizer import split_sentences
from keras_elmo.text.tokenizer import tokens_to_char_ids


def save(model, folder, weights="float32", tokenizer=None, warm_up=False):
    """Writes a SavedModel that needs neither Keras nor this package, whole or not at all.

    | signature | inputs |
    |---|---|
    | `default`, also `serving_default` | `strings` (batch,), tokens with spaces between |
    | `tokens` | `tokens` (batch, time) string, `""` behind the last |
    | `text`, with a tokenizer | `text` (batch,), raw text |

    A `PairClassifier` reads `first` and `second` in each of them, a `SpanExtractor` `context` and
    `question`. A `TokenClassifier` answers
    `tags` (batch, time) string, `""` where there is no token, and in `text` the `tokens` too; a
    `TextClassifier` or `PairClassifier` answers `label` (batch,) string and `probabilities`
    (batch, classes), or `score` (batch,) if it was trained on numbers. A `SpanExtractor` answers
    `answer` (batch,) string, the tokens of the best span with spaces between, `first_token` and
    `last_token` (batch,), their places in the context, its `score` (batch,), and in `text` the
    `tokens` of the context too; it reads a context of any length at once, not in windows. A
    `Seq2Seq` answers `translation` (batch,) string.

    Args:
        model: a task model, on the TensorFlow backend.
        folder: path, which must be free; TensorFlow Serving expects `name/version`.
        weights: `"float32"`; or `"float16"`, which halves the folder and is cast in every call.
        tokenizer: `None`; or `"tensorflow-text"`, which adds the signature `text`. Then the
            folder needs TensorFlow Text too, which TensorFlow Serving has.
        warm_up: bool, whether to add requests that TensorFlow Serving answers before it says that
            it is ready.

    Raises:
        ElmoError: if the path is taken, or a package is missing.

    Example:
        >>> export.save(tagger, "served/tagger/1")
        >>> default = tf.saved_model.load("served/tagger/1").signatures["default"]
        >>> default(tf.constant(["Paris is big"]))["tags"]
    """
    tf = graph.tensorflow()
    folder = graph.check_target(folder)
    graph.check_choice("weights", weights, saved_model.WEIGHTS)
    call = partial(_translate, model) if isinstance(model, Seq2Seq) else None
    module, answer = graph.function(model, weights, call)
    module.encoders, encode = _encoders(tf, model.features)
    respond = _responder(tf, model, encode, answer)
    signatures = _signatures(tf, model.texts, respond, tokenizer)
    with replaced(folder) as temporary:
        tf.saved_model.save(module, str(temporary), signatures=signatures)
        if warm_up:
            inputs = signatures["default"].input_signature
            warm_up_requests.write(temporary, folder.parent.name, [spec.name for spec in inputs])


def export_folder(source, target, form, **options):
    """Exports a task model from its folder: what `keras-elmo export` does.

    Args:
        source: folder of the task model.
        target: path to write.
        form: a name in `keras_elmo.export.formats.SAVERS`; see `save` for `"savedmodel"`, else
            `on_char_ids`.
        **options: of the format.

    Raises:
        ElmoError: if the model has no such form, or the format no such option.

    Example:
        >>> export_folder("my_tagger", "tagger.tflite", "litert", weights="int8")
    """
    options = formats.check(form, options)
    model = load(source)
    if form == "savedmodel":
        save(model, target, **options)
    else:
        formats.export(on_char_ids(model), target, form, **options)


def on_char_ids(model):
    """A task model as a functional Keras model of character ids, for the formats without strings.

    A `TokenClassifier` answers `tags` (batch, time), places in its `labels`, and `logits` (batch,
    time, labels); a `TextClassifier` answers `probabilities` (batch, labels), or `score` (batch,
    1) if it was trained on numbers.

    Args:
        model: one of these two, without word vectors of its own.

    Returns:
        A `keras.Model` that reads `char_ids` (batch, time, characters).

    Raises:
        ElmoError: if the model is of another kind or reads more than that.

    Example:
        >>> litert.save(on_char_ids(tagger), "tagger.tflite")
    """
    if isinstance(model, Seq2Seq):
        raise ElmoError("a Seq2Seq goes only into a savedmodel")
    if len(model.texts) > 1 or model.features.words is not None:
        raise ElmoError(
            f"{model.name} reads more than the characters of one text, so it goes only into a "
            "savedmodel; for other formats train it on one text with ELMo alone: "
            "TokenFeatures(elmo), in the examples --alone"
        )
    size = model.features.elmo.embedding.max_word_length
    char_ids = keras.Input((None, size), dtype="int32", name="char_ids")
    outputs = model({model.texts[0]: {"char_ids": char_ids}})
    if isinstance(model, TokenClassifier):
        outputs = {name: outputs[name] for name in ("tags", "logits")}
    elif model.labels is None:
        outputs = {"score": outputs["logits"]}
    else:
        outputs = {"probabilities": keras.ops.softmax(outputs["logits"])}
    return keras.Model(char_ids, outputs)


def _encoders(tf, features):
    """Layers of words to ids, and a function of strings (batch, time) to the features' inputs."""
    from keras_elmo.text.graph_encoder import GraphEncoder

    encoders = {}
    if features.elmo is not None:
        encoders["char_ids"] = GraphEncoder(features.elmo.encoder)
    if features.words is not None:
        encoders["word_ids"] = GraphEncoder(features.word_encoder)

    def encode(tokens):
        inputs = {name: encoder(tokens) for name, encoder in encoders.items()}
        if "word_ids" in inputs:
            length = features.word_embedding.characters.max_word_length
            parts = inputs["word_ids"], tokens_to_char_ids(tokens, length)
            inputs["word_ids"] = tf.concat(parts, axis=-1)
        return inputs

    return encoders, encode


def _responder(tf, model, encode, answer):
    """A function of the tokens (batch, time) of each text to what the model says of them."""
    kinds = {TokenClassifier: _tags, SpanExtractor: _span, Seq2Seq: _translation}
    finish = next((f for kind, f in kinds.items() if isinstance(model, kind)), _label)

    def respond(*texts):
        texts = [_not_empty(tf, tokens) for tokens in texts]
        inputs = {name: encode(tokens) for name, tokens in zip(model.texts, texts, strict=True)}
        return finish(tf, model, answer(inputs), texts[0])

    return respond


def _not_empty(tf, tokens):
    """The tokens (batch, time), at least one column: the loops want a step."""
    rows, time = tf.unstack(tf.shape(tokens))
    return tf.concat([tokens, tf.fill((rows, tf.maximum(0, 1 - time)), "")], axis=1)


def _signatures(tf, texts, respond, tokenizer):
    def signature(function, name, shape):
        names = texts if len(texts) > 1 else [name]
        return graph.signature(function, **{name: (shape, tf.string) for name in names})

    tokens = signature(respond, "tokens", (None, None))

    def default(*strings):
        return tokens(*map(split_on_spaces, strings))

    def text(*texts):
        words = [split_sentences(x, tokenizer) for x in texts]
        answer = tokens(*words)
        named = answer.keys() & {"tags", "first_token"}  # by the place of a token
        return {"tokens": words[0], **answer} if named else answer

    signatures = {"default": signature(default, "strings", (None,)), "tokens": tokens}
    if tokenizer is not None:
        signatures["text"] = signature(text, "text", (None,))
    return {**signatures, "serving_default": signatures["default"]}


def _tags(tf, model, outputs, tokens):
    tags = tf.gather(tf.constant(model.labels), outputs["tags"])
    return {"tags": tf.where(outputs["mask"], tags, "")}


def _label(tf, model, outputs, tokens):
    logits = outputs["logits"]
    if model.labels is None:
        return {"score": logits[:, 0]}
    label = tf.gather(tf.constant(model.labels), tf.argmax(logits, axis=-1))
    return {"label": label, "probabilities": tf.nn.softmax(logits)}


def _span(tf, model, outputs, tokens):
    start, end = outputs["start"], outputs["end"]  # (batch, time)
    time = tf.shape(start)[1]
    places = tf.range(time)
    length = places[None, :] - places[:, None]  # of the span from a row's place to a column's
    allowed = (length >= 0) & (length < model.longest)
    scores = tf.where(allowed, start[:, :, None] + end[:, None, :], 4 * NEVER)
    scores = tf.reshape(scores, (-1, time * time))
    best = tf.argmax(scores, axis=1, output_type="int32")
    first, last = best // time, best % time
    inside = (places >= first[:, None]) & (places <= last[:, None])
    words = tf.ragged.boolean_mask(tokens, inside)
    return {
        "answer": tf.strings.reduce_join(words, axis=1, separator=" "),
        "first_token": first,
        "last_token": last,
        "score": tf.reduce_max(scores, axis=1),
    }


def _translate(model, inputs):
    """The ids of the best translations, (batch, longest) int32, `END` from the end of each on."""
    from keras_elmo.tasks.graph_beam_search import graph_beam_search

    found = model(inputs, training=False)
    memory, mask = found["memory"], found["mask"]
    state = model.first_state(memory, mask)
    return graph_beam_search(model.write_word, memory, mask, state, **model.search_options())


def _translation(tf, model, ids, tokens):
    from keras_elmo.tasks.graph_beam_search import text_in_graph

    words = tf.gather(tf.constant(model.entries), ids)
    return {"translation": text_in_graph(tf.ragged.boolean_mask(words, ids != END))}
