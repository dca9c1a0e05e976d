"""A training run from text files to a model folder, which no interruption can spoil."""

import dataclasses
import json
import math
import os
import shutil
import warnings
from pathlib import Path

import h5py
import keras

from keras_elmo.convert import folder
from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.models.elmo import Elmo
from keras_elmo.models.language_model import LanguageModel
from keras_elmo.optimizers.row_adagrad import RowAdagrad
from keras_elmo.training import checkpoint
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.initialization import initialize
from keras_elmo.training.progress import Progress
from keras_elmo.training.recipe import Recipe
from keras_elmo.training.training_batches import TrainingBatches
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo.training.windows import Windows

MAY_CHANGE = ("epochs", "max_steps", "learning_rate", "decay")  # between two starts


def pretrain(
    corpus,
    output,
    recipe=None,
    validation=None,
    vocabulary=None,
    checkpoint_steps=250,
    validation_steps=None,
    callbacks=(),
    report=print,
):
    """Trains a biLM on text and writes a model that `keras_elmo.load` opens.

    A run that was interrupted, even killed, goes on from its last checkpoint when it is started
    again with the same arguments, and ends with the weights of an uninterrupted run.

    Args:
        corpus: text files, a sentence a line: a path, a pattern or a list of them.
        output: folder of the model; `output/training` keeps the checkpoint and the log.
        recipe: `Recipe`.
        validation: text files held out; without them the last weights are kept, with them the best.
        vocabulary: vocabulary file; `None`: counted from the corpus.
        checkpoint_steps: int, steps between checkpoints.
        validation_steps: int, steps between validations; `None`: an epoch.
        callbacks: Keras callbacks.
        report: function that takes a line of text.

    Returns:
        The folder, as a `Path`.

    Raises:
        ElmoError: if the corpus cannot be read, the loss is no number, or the folder holds a run
            with other settings.

    Example:
        >>> pretrain("corpus/*.txt.gz", "my_elmo", Recipe(units=512), validation="heldout.txt")
    """
    run = _Run(Path(output), recipe or Recipe(), report)
    run.open(Corpus(corpus), vocabulary)
    run.train(validation and Corpus(validation), checkpoint_steps, validation_steps, callbacks)
    return run.output


class _Run:
    def __init__(self, output, recipe, report):
        self.output, self.recipe, self.report = output, recipe, report
        self.work = output / "training"

    def open(self, corpus, vocabulary):
        """Reads the data, builds the model, and takes up an earlier run if there is one."""
        self.work.mkdir(parents=True, exist_ok=True)
        self.corpus = corpus
        self._check_settings()
        self.vocabulary = self._vocabulary(vocabulary)
        recipe = self.recipe
        predictions = corpus.num_predictions()
        self.epoch_steps = predictions / (recipe.batch_size * recipe.unroll)
        self.steps = math.floor(recipe.epochs * self.epoch_steps)
        if recipe.max_steps is not None:
            self.steps = min(self.steps, recipe.max_steps)
        if self.steps < 1:
            raise ElmoError(
                f"The corpus has {predictions} predictions, too few for one batch of "
                f"{recipe.batch_size} x {recipe.unroll}; take a smaller batch or more text."
            )
        self.model = _build(recipe, len(self.vocabulary), self.steps)
        self.step, self.position, self.best = 0, None, math.inf
        if self.checkpoint.exists():
            progress = checkpoint.load(self.checkpoint, self.model)
            self.step, self.position = progress["step"], progress["position"]
            self.best = progress["best"]
            self.report(f"going on from step {self.step} of {self.steps}")
        self._describe(predictions)

    @property
    def checkpoint(self):
        return self.work / "checkpoint.h5"

    def _check_settings(self):
        """A run is taken up only with the settings and the data it began with."""
        settings = {
            **json.loads(json.dumps(dataclasses.asdict(self.recipe))),
            "files": [[os.path.basename(path), *c] for path, c in self._files()],
        }
        path = self.work / "settings.json"
        if path.exists():
            old = json.loads(path.read_text(encoding="utf-8"))
            for key in settings:
                if key not in MAY_CHANGE and settings[key] != old.get(key):
                    raise ElmoError(
                        f"{self.work} holds a run with {key} = {old.get(key)}, not "
                        f"{settings[key]}; give the same settings, or another --output."
                    )
        with replaced(path) as temporary:
            temporary.write_text(json.dumps(settings, indent=1), encoding="utf-8")

    def _files(self):
        return zip(self.corpus.paths, self.corpus.counts(), strict=True)

    def _vocabulary(self, source):
        path = self.work / "vocabulary.txt"
        if not path.exists():
            recipe = self.recipe
            if source is None:
                words = Vocabulary.build(self.corpus, recipe.min_count, recipe.max_vocabulary)
            else:
                words = Vocabulary.read(source)
            words.write(path)
        return Vocabulary.read(path)

    def _describe(self, predictions):
        parameters = self.model.embedding.count_params() + self.model.bilm.count_params()
        self.report(
            f"{self.corpus.num_sentences():,} sentences, {predictions:,} predictions a direction; "
            f"{self.steps:,} steps, {self.epoch_steps:,.1f} an epoch"
        )
        self.report(
            f"vocabulary {len(self.vocabulary):,}; {parameters:,} parameters, "
            f"{self.model.softmax.count_params():,} more in the softmax"
        )

    def train(self, validation, checkpoint_steps, validation_steps, callbacks):
        every = validation_steps or max(1, math.floor(self.epoch_steps))
        while self.step < self.steps:
            target = min(self.steps, (self.step // every + 1) * every)
            self._train_until(target, checkpoint_steps, callbacks)
            if validation is not None:
                self._validate(validation)
            else:
                self.write_model()
            self._save()
        if not (self.output / folder.CONFIG).exists():
            self.write_model()
        self.report(f"done: {self.output}")

    def _train_until(self, target, checkpoint_steps, callbacks):
        recipe = self.recipe
        windows = Windows(
            self.corpus,
            self.vocabulary,
            recipe.batch_size,
            recipe.unroll,
            seed=recipe.seed,
            repeat=True,
            widest_filter=self.model.embedding.max_width,
            position=self.position,
        )
        self.batches = TrainingBatches(
            windows, len(self.vocabulary), recipe.num_samples, recipe.seed, self.step
        )
        self.model.fit(
            iter(self.batches),
            steps_per_epoch=target - self.step,
            epochs=1,
            shuffle=False,
            verbose=0,
            callbacks=[Progress(self, checkpoint_steps), *callbacks],
        )
        self.batches.close()

    def reached(self, step, save):
        """Called with the number of steps done: keeps the place in the data."""
        self.step = step
        if save:
            self.position = self.batches.position(step)
            self._save()

    def _save(self):
        progress = {"step": self.step, "position": self.position, "best": self.best}
        checkpoint.save(self.checkpoint, self.model, progress)

    def _validate(self, corpus):
        recipe = self.recipe
        windows = Windows(
            corpus,
            self.vocabulary,
            recipe.batch_size,
            recipe.unroll,
            widest_filter=self.model.embedding.max_width,
        )
        with warnings.catch_warnings():  # that the text ends, which it does
            warnings.simplefilter("ignore", UserWarning)
            logs = self.model.evaluate(((batch,) for batch in windows), return_dict=True, verbose=0)
        self.report(
            f"step {self.step}: validation perplexity {math.exp(logs['loss']):.2f} "
            f"(forward {logs['forward_perplexity']:.2f}, "
            f"backward {logs['backward_perplexity']:.2f})"
        )
        with open(self.work / "validation.csv", "a", encoding="utf-8") as file:
            file.write(
                f"{self.step},{logs['forward_perplexity']:.4f},{logs['backward_perplexity']:.4f}\n"
            )
        if logs["loss"] < self.best:
            self.best = float(logs["loss"])
            self.write_model()

    def write_model(self):
        """Writes the model as it is now; a reader of the folder never sees a part of it."""
        model = self.model
        embedding = type(model.embedding).from_config(model.embedding.get_config())
        bilm = BiLM.from_config({**model.bilm.get_config(), "dropout": 0.0})
        elmo = Elmo(embedding, bilm)
        embedding.set_weights(model.embedding.get_weights())
        bilm.set_weights(model.bilm.get_weights())
        with replaced(self.work / "model") as temporary:
            temporary.mkdir()
            folder.write(elmo, temporary, step=self.step, validation_loss=self.best)
            self.vocabulary.write(temporary / "vocabulary.txt")
            with h5py.File(temporary / "softmax.weights.h5", "w") as file:
                for variable in model.softmax.weights:
                    file[variable.name] = keras.ops.convert_to_numpy(variable)
        files = [path for path in (self.work / "model").rglob("*") if path.is_file()]
        for path in files:
            target = self.output / path.relative_to(self.work / "model")
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)
        shutil.rmtree(self.work / "model")


def _build(recipe, vocabulary_size, steps):
    keras.utils.set_random_seed(recipe.seed)
    embedding = CharCNNEmbedding(
        recipe.filters,
        projection_dim=recipe.projection_dim,
        num_highways=recipe.num_highways,
        char_embedding_dim=recipe.char_embedding_dim,
        activation=recipe.activation,
        name="embedding",
    )
    bilm = BiLM(
        num_layers=recipe.num_layers,
        units=recipe.units,
        projection_dim=recipe.projection_dim,
        cell_clip=recipe.cell_clip,
        projection_clip=recipe.projection_clip,
        dropout=recipe.dropout,
        name="bilm",
    )
    model = LanguageModel(embedding, bilm, vocabulary_size, recipe.batch_size, recipe.clip_norm)
    initialize(model, recipe.seed)
    rate = recipe.learning_rate
    if recipe.decay == "linear":
        rate = keras.optimizers.schedules.PolynomialDecay(rate, steps, end_learning_rate=0.0)
    model.compile(RowAdagrad(rate))
    return model
