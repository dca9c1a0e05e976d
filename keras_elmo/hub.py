"""ELMo as a KerasHub model, on the same folders; needs `pip install "keras-elmo[hub]"`.

With this module imported, `keras_hub.models.Backbone.from_preset(folder)` and
`keras_hub.models.TextClassifier.from_preset(folder, num_classes=2)` open our folders. Every `Elmo`
that Keras makes of a file is a backbone from then on, and `.keras` files that hold one among other
layers must be loaded before.
"""

import keras
import keras_hub
import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.errors import ElmoError
from keras_elmo.models.elmo import Elmo
from keras_elmo.text.character_encoder import CharacterEncoder
from keras_elmo.text.tokenizer import split_sentences
from keras_elmo.text.tokenizer import tokens_to_char_ids


# Under the name of `Elmo`, so that a folder which holds one opens as a backbone too.
@keras.saving.register_keras_serializable(package="keras_elmo", name="Elmo")
class ElmoBackbone(Elmo, keras_hub.models.Backbone):
    """An `Elmo` that is a KerasHub backbone.

    Args:
        *args: as for `Elmo`.
        **kwargs: as for `Elmo`.

    Example:
        >>> backbone = keras_hub.models.Backbone.from_preset("my_elmo")

    Reference:
        Peters et al. (2018), Deep contextualized word representations.
    """

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        dtype = config.pop("dtype", None)  # KerasHub's; an Elmo has that of its layers
        if dtype is not None:
            for part in ("embedding", "bilm"):
                inner = {**config[part]["config"], "dtype": dtype}
                config[part] = {**config[part], "config": inner}
        return super().from_config(config, custom_objects)


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoTokenizer(keras_hub.tokenizers.Tokenizer):
    """Sentences, split at white space, to the ids that a model reads.

    Args:
        encoder: the model's, such as a `CharacterEncoder`; `None`: that one.
        **kwargs: as for `keras_hub.tokenizers.Tokenizer`.

    Call arguments:
        inputs: a str, a list of them, or a string tensor.

    Returns:
        (batch, longest, characters) int32.

    Example:
        >>> ElmoTokenizer()(["The cat sat"]).shape
        (1, 3, 50)
    """

    backbone_cls = ElmoBackbone

    def __init__(self, encoder=None, **kwargs):
        super().__init__(**kwargs)
        if isinstance(encoder, dict):
            encoder = keras.saving.deserialize_keras_object(encoder)
        self.encoder = encoder or CharacterEncoder()
        self.file_assets = self.encoder.assets

    def call(self, inputs):
        return self.tokenize(inputs)

    def tokenize(self, inputs):
        if not tf.executing_eagerly():
            return self._in_graph(inputs)
        sentences = np.atleast_1d(np.asarray(inputs)).tolist()
        texts = [text.decode() if isinstance(text, bytes) else text for text in sentences]
        return self.encoder.encode_batch([text.split() for text in texts])

    def _in_graph(self, inputs):
        if not isinstance(self.encoder, CharacterEncoder):
            raise ElmoError("this model's vocabulary is not read inside a TensorFlow graph")
        tokens = split_sentences(tf.reshape(inputs, (-1,)))
        return tokens_to_char_ids(tokens, self.encoder.max_word_length)

    def save_assets(self, dir_path):
        self.encoder.save_assets(dir_path)

    def load_assets(self, dir_path):
        self.encoder.load_assets(dir_path)

    def load_preset_assets(self, preset):
        if self.file_assets:
            super().load_preset_assets(preset)

    def get_config(self):
        encoder = keras.saving.serialize_keras_object(self.encoder)
        return {**super().get_config(), "encoder": encoder}


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoTextClassifierPreprocessor(keras_hub.models.TextClassifierPreprocessor):
    """Sentences to the ids of an `ElmoTextClassifier`; labels and weights pass through.

    Args:
        tokenizer: `ElmoTokenizer`.
        sequence_length: int, tokens that are kept of a sentence.
        **kwargs: as for `keras_hub.models.TextClassifierPreprocessor`.

    Example:
        >>> ElmoTextClassifierPreprocessor(ElmoTokenizer())(["The cat sat"]).shape
        (1, 3, 50)
    """

    backbone_cls = ElmoBackbone
    tokenizer_cls = ElmoTokenizer

    def build(self, input_shape):
        self.built = True

    def call(self, x, y=None, sample_weight=None):
        char_ids = self.tokenizer(x)[:, : self.sequence_length]
        return keras.utils.pack_x_y_sample_weight(char_ids, y, sample_weight)


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoTextClassifier(keras_hub.models.TextClassifier):
    """Classifies texts by the mean of their mixed vectors.

    Args:
        backbone: `ElmoBackbone` with one mix.
        num_classes: int.
        preprocessor: `ElmoTextClassifierPreprocessor`; `None`: `fit` takes ids.
        activation: of the outputs; `None`: logits.
        dropout: float in [0, 1), share of the mean dropped in training.
        **kwargs: as for `keras_hub.models.TextClassifier`.

    Example:
        >>> classifier = ElmoTextClassifier.from_preset("my_elmo", num_classes=2)
        >>> classifier.fit(["good", "bad"], np.array([1, 0]))
    """

    backbone_cls = ElmoBackbone
    preprocessor_cls = ElmoTextClassifierPreprocessor

    def __init__(
        self, backbone, num_classes, preprocessor=None, activation=None, dropout=0.0, **kwargs
    ):
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.output_dropout = keras.layers.Dropout(dropout, name="output_dropout")
        self.output_dense = keras.layers.Dense(num_classes, activation=activation, name="logits")

        # === Functional Model ===
        inputs = backbone.input
        outputs = backbone(inputs)
        count = ops.sum(ops.cast(outputs["mask"], "float32"), axis=1, keepdims=True)
        mean = ops.sum(outputs["elmo"], axis=1) / ops.maximum(count, 1.0)
        logits = self.output_dense(self.output_dropout(mean))
        super().__init__(inputs=inputs, outputs=logits, **kwargs)

        # === Config ===
        self.num_classes = num_classes
        self.activation = keras.activations.get(activation)
        self.dropout = dropout

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "activation": keras.activations.serialize(self.activation),
            "dropout": self.dropout,
        }
