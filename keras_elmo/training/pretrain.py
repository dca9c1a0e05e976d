"""A training run from text files to a model folder, which no interruption can spoil."""

import tempfile
from pathlib import Path

from keras_elmo import backend
from keras_elmo.backend import devices
from keras_elmo.errors import ElmoError
from keras_elmo.errors import check_counts
from keras_elmo.training.corpus import STANDARD_INPUT
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.recipe import Recipe
from keras_elmo.training.run import CHECKPOINT
from keras_elmo.training.run import Run


def pretrain(
    corpus,
    output,
    recipe=None,
    validation=None,
    vocabulary=None,
    init_from=None,
    checkpoint_steps=250,
    validation_steps=None,
    tensorboard=False,
    distribute=None,
    callbacks=(),
    report=print,
):
    """Trains a biLM on text and writes a model that `keras_elmo.load` opens.

    A run that was interrupted, even killed, goes on from its last checkpoint when it is started
    again with the same arguments, and ends with the weights of an uninterrupted run.

    Args:
        corpus: text files, a sentence a line: a path, a pattern or a list of them; `-`: standard
            input.
        output: folder of the model, with a report.html; `output/training` keeps the checkpoint,
            the logs, and the last model where the best is another.
        recipe: `Recipe`.
        validation: text files held out; without them the last weights are kept, with them the best.
        vocabulary: vocabulary file; `None`: that of `init_from`, or counted from the corpus.
        init_from: a model to go on from, as for `keras_elmo.load`; its sizes then count. With a
            new vocabulary, its softmax gives the rows of the words that it knows.
        checkpoint_steps: int, steps between checkpoints.
        validation_steps: int, steps between validations; `None`: an epoch.
        tensorboard: bool, whether to write logs for TensorBoard into `output/training`.
        distribute: `None`: one device; `"data"`: the rows of every batch are divided over all
            devices, on many hosts where the engine is told of them; `"vocabulary"`: the softmax
            too (JAX alone). All hosts must see the same files.
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
    output = Path(output)
    validation = validation and _checked(validation)
    counts = {"checkpoint_steps": checkpoint_steps, "validation_steps": validation_steps}
    check_counts(**{name: steps for name, steps in counts.items() if steps is not None})
    backend.keep_freed_memory()
    with devices.share(distribute) as shared, tempfile.TemporaryDirectory() as elsewhere:
        # All processes do the same, for in most of it they need each other; one is of use.
        place, report = (output, report) if shared.is_chief else (Path(elsewhere), _silent)
        run = Run(place, recipe or Recipe(), shared, report, validation)
        run.open(corpus, vocabulary, init_from, tensorboard, output / "training" / CHECKPOINT)
        run.train(checkpoint_steps, validation_steps, callbacks)
    return output


def _checked(validation):
    """The held-out text; that it is there and holds something shows before the first step."""
    corpus = Corpus(validation)
    if STANDARD_INPUT in corpus.paths:
        raise ElmoError("held-out text is read many times; write standard input into a file")
    if not corpus.num_sentences():
        raise ElmoError(f"{', '.join(corpus.paths)}: no sentence in it; it cannot be held out")
    return corpus


def _silent(line):
    pass
