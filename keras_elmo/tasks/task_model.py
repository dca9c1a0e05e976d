"""What all task models share: they read tokens, train, answer and are saved whole."""

import warnings
from itertools import islice

import keras
import numpy as np
from keras import ops

from keras_elmo.errors import ElmoError
from keras_elmo.errors import check_counts
from keras_elmo.tasks import fine_tuning
from keras_elmo.tasks import folder
from keras_elmo.tasks.batches import Batches
from keras_elmo.tasks.features import as_features
from keras_elmo.tasks.training_log import TrainingLog
from keras_elmo.text.characters import tokens_of
from keras_elmo.text.tokenizers import get_tokenizer


class TaskModel(keras.Model):
    """A Keras model that reads sentences and learns from labeled ones.

    A subclass has `call` and a BiLSTM `lstm`, and says how targets are encoded (`encode_target`,
    `stack_targets`), what their loss is (`losses_of`), what an output means (`decode`) and how good
    answers are (`score`).

    Args:
        features: `TokenFeatures`, or an `Elmo`.
        tokenizer: for sentences given as str, a name for `get_tokenizer`.
        **kwargs: `name` of every Keras model.
    """

    texts = ("text",)  # the names of the texts of an example
    compares = False  # whether words of one text are looked for in the other

    def __init__(self, features, tokenizer="whitespace", **kwargs):
        super().__init__(**kwargs)
        self.features = as_features(features)
        self.tokenizer = tokenizer
        self._tokenize = get_tokenizer(tokenizer)

    def _words(self, inputs, training, *more):
        """The words of a text in context, (batch, time, D), and the mask.

        [BiLSTM([x ; more]) ; ELMo at the output], where `more` is (batch, time, any) of any dtype.
        """
        x, beside, mask = self.features(inputs, training=training)
        x = ops.concatenate([x, *(ops.cast(part, x.dtype) for part in more)], axis=-1)
        x = self.lstm(x, mask=mask, training=training)
        return (x if beside is None else ops.concatenate([x, beside], axis=-1)), mask

    def _make_weights(self):
        """Runs the model once, so that every weight is there."""
        inputs = {}
        if self.features.elmo is not None:
            size = self.features.elmo.embedding.max_word_length
            inputs["char_ids"] = np.ones((1, 2, size), dtype=np.int32)
        if self.features.words is not None:
            size = self.features.word_embedding.max_word_length
            inputs["word_ids"] = np.ones((1, 2, size), dtype=np.int32)
        self({name: inputs for name in self.texts})

    # Training

    def fit(
        self,
        examples,
        targets,
        validation_data=None,
        epochs=10,
        batch_size=32,
        learning_rate=1e-3,
        fine_tune="mix",
        layer_decay=1.0,
        cache=True,
        patience=None,
        clipnorm=5.0,
        strict=True,
        callbacks=(),
        seed=0,
        verbose="auto",
    ):
        """Trains on labeled examples.

        While the biLM is frozen, its layers are computed once for each sentence and kept in
        memory: (L + 1) * 2P * 4 bytes a token.

        Args:
            examples: list of sentences, each a list of tokens or a str.
            targets: list, one for each.
            validation_data: `(examples, targets)`, scored after every epoch; the weights of the
                best epoch are kept.
            epochs: int.
            batch_size: int, sentences a step.
            learning_rate: float, of Adam.
            fine_tune: `"mix"`: the biLM is frozen; `"gradual"`: after an epoch its top layer is
                trained too, then one more layer every epoch; `"all"`: all of it.
            layer_decay: float, the learning rate of each layer of the biLM as a share of that of
                the layer above (1: all the same).
            cache: bool, whether the layers of a frozen biLM are kept.
            patience: int, epochs without a better score after which training ends.
            clipnorm: float, largest norm of the gradient of all weights together.
            strict: bool. False leaves out examples whose target is unknown or does not fit them,
                with a warning, and lets a class be without an example.
            callbacks: Keras callbacks.
            seed: int, of the order of the examples.
            verbose: as for every Keras model.

        Returns:
            The Keras `History` of every epoch; its `mixes` are the shares of ELMo's layers after
            each epoch, by place.

        Raises:
            ElmoError: if examples and targets don't match, a target is unknown, or a number makes
                no sense.
            TypeError: if a string stands where a list of examples belongs.
        """
        check_counts(epochs=epochs, batch_size=batch_size)
        fine_tuning.check_decay(layer_decay)
        texts = self.read(_listed(examples))
        texts, encoded = self._checked(texts, self.expand(examples, texts, targets), strict)
        log = TrainingLog(self, validation_data, patience or epochs, cache, fine_tune != "mix")
        # `Batches` shuffles by itself, by the seed.
        options = {"callbacks": [log, *callbacks], "shuffle": False, "verbose": verbose}
        layers = None
        for first, last, count in fine_tuning.phases(self.features.elmo, fine_tune, epochs):
            fine_tuning.unfreeze(self.features.elmo, count)
            layers = self._kept_layers(texts, layers) if cache else None
            self.compile(self._optimizer(learning_rate, layer_decay, clipnorm))
            # TensorFlow traces a step that makes variables twice.
            self.optimizer.build(self.trainable_variables)
            batches = Batches(self, texts, encoded, batch_size, layers, seed + first)
            super().fit(batches, initial_epoch=first, epochs=last, **options)
            if log.finished:
                break
        return log.close()

    def _kept_layers(self, texts, layers):
        """The biLM's layers of all texts, those computed before if there are; `None`: it learns."""
        if not self.features.cacheable:
            return None
        return layers or self.embed(texts)

    def embed(self, texts):
        """The biLM's layers of all texts, by their name."""
        sentences = [example[name] for name in self.texts for example in texts]
        layers = iter(self.features.embed(sentences))
        return {name: list(islice(layers, len(texts))) for name in self.texts}

    def _optimizer(self, learning_rate, decay, clipnorm):
        options = {"learning_rate": learning_rate, "global_clipnorm": clipnorm}
        if decay == 1.0 or self.features.elmo is None:
            return keras.optimizers.Adam(**options)
        rates = fine_tuning.learning_rates(self.features.elmo, decay)
        return fine_tuning.LayerwiseAdam(rates, **options)

    def expand(self, examples, texts, targets):
        """The target of each of the texts; `None`: there is nothing to learn from it."""
        _check_lengths(examples, targets)
        return targets

    def _checked(self, texts, targets, strict):
        """The texts whose target can be encoded, and their encoded targets."""
        if strict:
            self.check_targets(targets)
        kept, encoded, faults = [], [], []
        for number, (text, target) in enumerate(zip(texts, targets, strict=True)):
            if target is None:
                continue
            try:
                encoded.append(self.encode_target(text, target, number))
                kept.append(text)
            except ElmoError as error:
                if strict:
                    raise
                faults.append(str(error))
        if not kept:
            raise ElmoError("there is no example to learn from")
        if faults:
            warnings.warn(f"{len(faults)} examples left out, such as {faults[0]}", stacklevel=3)
        return kept, encoded

    def check_targets(self, targets):
        """Refuses training targets that can't be learned from."""

    def check_truths(self, examples, texts, targets):
        """Refuses targets that can't be scored, and warns of those that no answer can meet."""
        _check_lengths(examples, targets)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        losses = self.losses_of(y, y_pred)  # (batch,)
        loss = ops.sum(losses * sample_weight) / ops.maximum(ops.sum(sample_weight), 1.0)
        return loss + sum(self.losses)

    # Answers

    def read(self, examples):
        """The tokens of each example by the name of the text; a str is split by the tokenizer."""
        return [dict(zip(self.texts, self._split(example), strict=True)) for example in examples]

    def _split(self, example):
        parts = [example] if len(self.texts) == 1 else checked_pair(example)
        return [self._tokenize(p) if isinstance(p, str) else tokens_of(p) for p in parts]

    def predict(self, examples, batch_size=32):
        """The answers to examples, in their order.

        Args:
            examples: list of sentences, each a list of tokens or a str.
            batch_size: int.

        Returns:
            A list, one entry for each example.

        Raises:
            TypeError: if a string stands where a list of examples belongs.
        """
        return self._answers_to(examples, self.read(_listed(examples)), batch_size)

    def _answers_to(self, examples, texts, batch_size):
        answers = self.answers(Batches(self, texts, batch_size=batch_size))
        return self.merge(examples, texts, answers)

    def answers(self, batches):
        """The decoded outputs of every text of some batches, in their order."""
        answers = [None] * len(batches.texts)
        for index in range(len(batches)):
            outputs = self.predict_on_batch(batches[index][0])
            for k, row in enumerate(batches.rows(index)):
                output = {name: array[k] for name, array in outputs.items()}
                answers[row] = self.decode(output, batches.texts[row])
        return answers

    def merge(self, examples, texts, answers):
        """The answers to the examples, from those to their texts."""
        return answers

    def evaluate(self, examples, targets, batch_size=32):
        """The task's metrics, as a dict; the first one is the one that counts."""
        texts = self.read(_listed(examples))
        self.check_truths(examples, texts, targets)
        return self.score(targets, self._answers_to(examples, texts, batch_size))

    # Files

    def save(self, path):
        """Writes the model with its labels, words and ELMo: a folder, or a file `.keras`.

        `keras_elmo.tasks.load` opens either.
        """
        if str(path).endswith(".keras"):
            super().save(path)
        else:
            folder.save(self, path)

    def save_assets(self, dir_path):
        self.features.save_assets(dir_path)

    def load_assets(self, dir_path):
        self.features.load_assets(dir_path)

    def get_config(self):
        return {
            "name": self.name,
            "features": keras.saving.serialize_keras_object(self.features),
            "tokenizer": self.tokenizer,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        features = keras.saving.deserialize_keras_object(config.pop("features"))
        return cls(features, **config)


def _listed(examples):
    """The examples themselves, but a TypeError for a string in their place."""
    if isinstance(examples, str):
        raise TypeError(f"expected a list of examples, got the string {examples[:40]!r}")
    return examples


def checked_pair(example):
    """The example itself, but a TypeError for what is not two texts."""
    if isinstance(example, str) or len(example) != 2:
        raise TypeError(f"expected a pair of texts, got {str(example)[:60]!r}")
    return example


def _check_lengths(examples, targets):
    if len(examples) != len(targets):
        raise ElmoError(f"{len(examples)} examples, but {len(targets)} targets")
