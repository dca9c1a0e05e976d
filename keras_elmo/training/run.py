"""A training run that no interruption can spoil."""

import dataclasses
import json
import math
import os
import shutil
import sys
import warnings

from keras_elmo.convert import folder
from keras_elmo.convert import language_model
from keras_elmo.convert.options import read_json
from keras_elmo.errors import ElmoError
from keras_elmo.files import check_space
from keras_elmo.files import replaced
from keras_elmo.layers.bilm import DIRECTIONS
from keras_elmo.training import checkpoint
from keras_elmo.training.building import Origin
from keras_elmo.training.building import build_model
from keras_elmo.training.corpus import STANDARD_INPUT
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.estimate import estimate
from keras_elmo.training.progress import Progress
from keras_elmo.training.progress import duration
from keras_elmo.training.report import write_report
from keras_elmo.training.run_log import RunLog
from keras_elmo.training.run_settings import run_settings
from keras_elmo.training.run_settings import taken_up
from keras_elmo.training.scoring import perplexity_of
from keras_elmo.training.training_batches import TrainingBatches
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo.training.windows import Windows

CHECKPOINT = "checkpoint.h5"


class Run:
    """The state of a training run, and what is done before, between and after its steps.

    Args:
        output: path of the model's folder.
        recipe: `Recipe`.
        shared: the devices, as `devices.share` gives them.
        report: function that takes a line of text.
        validation: `Corpus` held out, or `None`.

    Example:
        >>> run = Run(Path("my_elmo"), recipe, devices.current(), print)
        >>> run.open("corpus/*.txt.gz", None, None, False, run.work / CHECKPOINT)
        >>> run.train(checkpoint_steps=250, validation_steps=None, callbacks=())
    """

    def __init__(self, output, recipe, shared, report, validation=None):
        self.output, self.recipe, self.devices, self.report = output, recipe, shared, report
        self.validation = validation
        self.work = output / "training"
        if not self.work.exists() and output.exists() and not _is_empty(output):
            raise ElmoError(f"{output}: is there already, and no run; give another --output")
        self.work.mkdir(parents=True, exist_ok=True)

    def open(self, corpus, vocabulary, init_from, tensorboard, earlier):
        """Reads the data, builds the model, and takes up an earlier run if there is one.

        Args:
            corpus: as for `pretrain`; so the next three.
            vocabulary: path or `None`.
            init_from: a model or `None`.
            tensorboard: bool.
            earlier: path of the checkpoint to go on from, if it is there.
        """
        # What a start that failed before the first checkpoint left here binds nobody.
        self.begun = earlier.exists() or (self.output / folder.CONFIG).exists()
        self.corpus = Corpus(self._spooled(corpus))
        self._check_settings(init_from)
        origin = None if init_from is None else Origin(init_from)
        self.vocabulary = self._vocabulary(vocabulary, origin)
        self._check_devices()
        self._count_steps()
        self.model = build_model(self.recipe, self.vocabulary, self.steps, origin)
        self.step, self.position, self.best, self.stale = 0, None, None, 0
        if earlier.exists():
            progress = checkpoint.load(earlier, self.model)
            self.step, self.position, self.best, self.stale = (
                progress[key] for key in ("step", "position", "best", "stale")
            )
            self.report(
                f"going on from step {self.step:,} of {self.steps:,}"
                if self.step < self.steps
                else f"all {self.steps:,} steps are made; with more epochs or steps it goes on"
            )
        elif self.interrupted:
            self.report("the run before this one left no checkpoint: from the beginning")
        self.log = RunLog(self.work, self.step, tensorboard)
        self._describe()

    def _check_devices(self):
        recipe, count = self.recipe, self.devices.count
        if recipe.batch_size % (count * recipe.accumulation):
            raise ElmoError(
                f"a batch of {recipe.batch_size} rows cannot be divided equally over {count} "
                f"devices in {recipe.accumulation} parts each; change batch_size"
            )
        if self.devices.divides_softmax and (rest := len(self.vocabulary) % count):
            raise ElmoError(
                f"a vocabulary of {len(self.vocabulary)} words cannot be divided equally over "
                f"{count} devices; take max_vocabulary = {len(self.vocabulary) - rest}"
            )

    def _spooled(self, sources):
        """The sources, standard input as a file: it is read twice, and again after a kill."""
        sources = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
        if STANDARD_INPUT not in sources:
            return sources
        if self.devices.num_processes > 1:
            raise ElmoError("many processes cannot share standard input; write it into a file")
        path = self.work / "standard_input.txt"
        if not (self.begun and path.exists()):
            with replaced(path) as temporary, open(temporary, "wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        return [path if source == STANDARD_INPUT else source for source in sources]

    def _check_settings(self, init_from):
        """A run is taken up only with the settings and the data it began with."""
        settings = run_settings(self.recipe, init_from, self.corpus, self.validation)
        path = self.work / "settings.json"
        self.interrupted = path.exists() and not self.begun
        if self.begun and path.exists():
            settings = taken_up(settings, read_json(path), self.work)
        with replaced(path) as temporary:
            temporary.write_text(json.dumps(settings, indent=1), encoding="utf-8")

    def _vocabulary(self, source, origin):
        path, recipe = self.work / "vocabulary.txt", self.recipe
        if source is not None:
            words = Vocabulary.read(source)
        elif self.begun and path.exists():
            return Vocabulary.read(path)
        elif origin is not None and origin.vocabulary is not None:
            words = origin.vocabulary
        else:
            words = Vocabulary.build(self.corpus, recipe.min_count, recipe.max_vocabulary)
        if self.begun and path.exists() and words.words != Vocabulary.read(path).words:
            raise ElmoError(
                f"{self.work} holds a run with other words than {source}; give the same "
                "vocabulary, or another --output."
            )
        words.write(path)
        return words

    def _count_steps(self):
        recipe, predictions = self.recipe, self.corpus.num_predictions()
        self.epoch_steps = predictions / (recipe.batch_size * recipe.unroll)
        self.steps = math.floor(recipe.epochs * self.epoch_steps)
        if recipe.max_steps is not None:
            self.steps = min(self.steps, recipe.max_steps)
        if self.steps < 1:
            raise ElmoError(
                f"The corpus has {predictions} predictions, too few for one batch of "
                f"{recipe.batch_size} x {recipe.unroll}; take a smaller batch or more text."
            )

    def _describe(self):
        model = self.model
        parameters = model.embedding.count_params() + model.bilm.count_params()
        self.report(
            f"{self.corpus.num_sentences():,} sentences, {self.corpus.num_predictions():,} "
            f"predictions a direction; {self.steps:,} steps, {self.epoch_steps:,.1f} an epoch"
        )
        self.report(
            f"vocabulary {len(self.vocabulary):,}; {parameters:,} parameters, "
            f"{model.softmax.count_params():,} more in the softmax"
        )
        memory, seconds = estimate(model, self.recipe, self.steps - self.step)
        where = "" if self.devices.count == 1 else f" on each of {self.devices.count} devices"
        seconds /= self.devices.count
        self.report(
            f"about {memory / 2**20:,.0f} MiB of memory{where}, beside that of the libraries, and "
            f"{duration(seconds)}; the first steps take longer"
        )

    def train(self, checkpoint_steps, validation_steps, callbacks):
        """Makes the steps that are left and writes the model; the arguments are `pretrain`'s."""
        every = validation_steps or max(1, math.floor(self.epoch_steps))
        patience = self.recipe.patience
        while self.step < self.steps and (patience is None or self.stale < patience):
            target = min(self.steps, (self.step // every + 1) * every)
            self._train_until(target, checkpoint_steps, callbacks)
            if self.validation is not None:
                self._validate()
            self._save()
            self._write_report()
        # The best is there already; beside it, the last. Without held-out text the last is all.
        best = self.best is not None and (self.output / folder.CONFIG).exists()
        self.write_model(self.work / "last" if best else self.output)
        self._write_report()
        self.report(f"done: {self.output}")

    def _windows(self, corpus, **settings):
        return Windows(
            corpus,
            self.vocabulary,
            self.recipe.batch_size,
            self.recipe.unroll,
            widest_filter=self.model.embedding.max_width,
            encoder=self.model.encoder,
            **settings,
        )

    def _train_until(self, target, checkpoint_steps, callbacks):
        recipe = self.recipe
        windows = self._windows(self.corpus, seed=recipe.seed, repeat=True, position=self.position)
        self.batches = TrainingBatches(
            windows,
            len(self.vocabulary),
            recipe.num_samples,
            recipe.seed,
            self.step,
            recipe.reset_share,
            self.devices.parts,
            self.devices.num_parts,
        )
        try:
            self.model.fit(
                self.devices.feed(iter(self.batches)),
                steps_per_epoch=target - self.step,
                epochs=1,
                shuffle=False,
                verbose=0,
                callbacks=[Progress(self, checkpoint_steps), *callbacks],
            )
        except Exception:
            if self.batches.error is not None:  # which TensorFlow hides in one of its own
                raise self.batches.error from None
            raise
        finally:
            self.batches.close()

    def reached(self, step, save):
        """Called with the number of steps done: keeps the place in the data."""
        self.step = step
        if save:
            self.position = self.batches.position(step)
            self._save()

    def _save(self):
        progress = {key: getattr(self, key) for key in ("step", "position", "best", "stale")}
        checkpoint.save(self.work / CHECKPOINT, self.model, progress)

    def _validate(self):
        # Each replica reads the whole text.
        windows = self._windows(self.validation, complete=True)
        batches = ((batch,) for batch in windows for _ in self.devices.parts)
        with warnings.catch_warnings():  # that the text ends, which it does
            warnings.simplefilter("ignore", UserWarning)
            logs = self.model.evaluate(self.devices.feed(batches), return_dict=True, verbose=0)
        values = [logs[f"{name}_perplexity"] for name in DIRECTIONS]
        self.report(
            f"step {self.step:,}: validation perplexity {perplexity_of(logs['loss']):.2f} "
            f"(forward {values[0]:.2f}, backward {values[1]:.2f})"
        )
        self.log.add("validation", self.step, *values)
        self.stale += 1
        if self.best is None or logs["loss"] < self.best:
            self.best, self.stale = float(logs["loss"]), 0
            self.write_model(self.output)

    def write_model(self, place):
        """Writes the model as it is now, each file whole or not at all."""
        check_space(self.work, checkpoint.size(self.model.variables))
        with replaced(self.work / "model") as temporary:
            temporary.mkdir()
            language_model.write(
                self.model, self.vocabulary, temporary, step=self.step, validation_loss=self.best
            )
        files = [path for path in (self.work / "model").rglob("*") if path.is_file()]
        for path in files:
            target = place / path.relative_to(self.work / "model")
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)
        shutil.rmtree(self.work / "model")

    def _write_report(self):
        best = self.best
        best = "" if best is None else f"; best validation perplexity {perplexity_of(best):.2f}"
        write_report(
            self.output / "report.html",
            f"Pretraining of {self.output.name}",
            self.log,
            f"Step {self.step:,} of {self.steps:,}, {self.step / self.epoch_steps:.2f} passes over "
            f"{self.corpus.num_predictions():,} predictions{best}.",
            {**dataclasses.asdict(self.recipe), "vocabulary": f"{len(self.vocabulary):,}"},
        )


def _is_empty(path):
    return path.is_dir() and not any(path.iterdir())
