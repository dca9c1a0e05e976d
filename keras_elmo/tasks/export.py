"""A task model as a SavedModel that reads strings and answers labels."""

import keras

from keras_elmo.errors import ElmoError
from keras_elmo.export import graph
from keras_elmo.export import litert
from keras_elmo.files import replaced
from keras_elmo.tasks.classifier import Classifier
from keras_elmo.tasks.folder import load
from keras_elmo.tasks.token_classifier import TokenClassifier
from keras_elmo.text.tokenizer import tokens_to_char_ids


def save(model, folder):
    """Writes a TensorFlow SavedModel that needs neither Keras nor this package.

    | signature | inputs |
    |---|---|
    | `default`, also `serving_default` | `strings` (batch,), tokens with spaces between |
    | `tokens` | `tokens` (batch, time) string, `""` behind the last |

    A `PairClassifier` reads `first` and `second` in place of `strings` or `tokens`. A
    `TokenClassifier` answers `tags` (batch, time) string, `""` where there is no token; a
    `TextClassifier` or `PairClassifier` answers `label` (batch,) string and `probabilities`
    (batch, classes), or `score` (batch,) if it was trained on numbers.

    Args:
        model: one of these three, on the TensorFlow backend.
        folder: path, which must be free; TensorFlow Serving expects `name/version`.

    Raises:
        ElmoError: if the model is of another kind, reads no characters, or the path is taken.

    Example:
        >>> export.save(tagger, "served/tagger/1")
        >>> default = tf.saved_model.load("served/tagger/1").signatures["default"]
        >>> default(tf.constant(["Paris is big"]))["tags"]
    """
    tf = graph.tensorflow()
    folder = graph.check_target(folder)
    if not isinstance(model, TokenClassifier | Classifier):
        raise ElmoError(f"a {type(model).__name__} can't be exported; serve it by Python")
    if model.features.elmo is not None:
        graph.check_elmo(model.features.elmo)
    module, answer = graph.function(model)
    inputs = _Inputs(tf, model)
    module.inputs = inputs.table
    finish = _tags if isinstance(model, TokenClassifier) else _label
    names = model.texts if len(model.texts) > 1 else None

    def respond(*tokens):
        texts = {name: inputs(x) for name, x in zip(model.texts, tokens, strict=True)}
        return finish(tf, model, answer(texts))

    def respond_to_strings(*strings):
        return respond(*(_split(tf, x) for x in strings))

    tokens = {name: ((None, None), tf.string) for name in names or ["tokens"]}
    strings = {name: ((None,), tf.string) for name in names or ["strings"]}
    tokens = graph.signature(respond, **tokens)
    default = graph.signature(respond_to_strings, **strings)
    signatures = {"default": default, "serving_default": default, "tokens": tokens}
    with replaced(folder) as temporary:
        tf.saved_model.save(module, str(temporary), signatures=signatures)


def export_folder(source, target, form):
    """Exports a task model from its folder: what `keras-elmo export` does.

    Args:
        source: folder of the task model.
        target: path to write.
        form: `"savedmodel"`, see `save`; or `"litert"`, see `on_char_ids`.

    Raises:
        ElmoError: if there is no such form of a task model.
    """
    if form not in ("savedmodel", "litert"):
        raise ElmoError(f"a task model is exported as savedmodel or litert, not as {form}")
    model = load(source)
    if form == "savedmodel":
        save(model, target)
    else:
        litert.save(on_char_ids(model), target, weights="float32")


def on_char_ids(model):
    """A task model as a functional Keras model of character ids, for LiteRT.

    Args:
        model: a task model of one text, without word vectors of its own.

    Returns:
        A `keras.Model` from `char_ids` (batch, time, characters) to the model's outputs.

    Raises:
        ElmoError: if the model reads more than that.

    Example:
        >>> litert.save(on_char_ids(tagger), "tagger.tflite", weights="float32")
    """
    if len(model.texts) > 1 or model.features.words is not None:
        raise ElmoError(f"{model.name} reads more than the characters of one text")
    size = model.features.elmo.embedding.max_word_length
    char_ids = keras.Input((None, size), dtype="int32", name="char_ids")
    return keras.Model(char_ids, model({model.texts[0]: {"char_ids": char_ids}}))


class _Inputs:
    """Strings (batch, time) to the inputs of `TokenFeatures`, inside the graph."""

    def __init__(self, tf, model):
        self.tf, self.features = tf, model.features
        self.table = None
        if self.features.words is not None:
            ids = self.features.word_ids
            entries = tf.lookup.KeyValueTensorInitializer(
                tf.constant(list(ids)), tf.constant(list(ids.values()), tf.int32)
            )
            self.table = tf.lookup.StaticHashTable(entries, ids["<UNK>"])

    def __call__(self, tokens):
        tf, inputs = self.tf, {}
        if self.features.elmo is not None:
            size = self.features.elmo.embedding.max_word_length
            inputs["char_ids"] = tokens_to_char_ids(tokens, size)
        if self.table is not None:
            words = tf.where(tokens == "", 0, self.table.lookup(tokens))
            size = self.features.word_embedding.max_word_length - 1
            characters = tokens_to_char_ids(tokens, size)
            inputs["word_ids"] = tf.concat([words[..., None], characters], axis=-1)
        return inputs


def _split(tf, strings):
    words = tf.strings.split(strings, " ")
    return tf.ragged.boolean_mask(words, words != "").to_tensor("")


def _tags(tf, model, outputs):
    tags = tf.gather(tf.constant(model.labels), outputs["tags"])
    return {"tags": tf.where(outputs["mask"], tags, "")}


def _label(tf, model, outputs):
    logits = outputs["logits"]
    if model.labels is None:
        return {"score": logits[:, 0]}
    label = tf.gather(tf.constant(model.labels), tf.argmax(logits, axis=-1))
    return {"label": label, "probabilities": tf.nn.softmax(logits)}
