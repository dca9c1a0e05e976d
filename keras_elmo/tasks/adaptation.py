"""Going on with the pretraining of a biLM on the text of a task."""

import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

from keras_elmo.errors import ElmoError
from keras_elmo.errors import check_counts
from keras_elmo.models.language_model import LanguageModel
from keras_elmo.text.characters import not_text
from keras_elmo.text.characters import tokens_of
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.training_batches import TrainingBatches
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo.training.windows import Windows

MOST_SAMPLES = 4096


def adapt(
    elmo, sentences, epochs=1, batch_size=32, unroll=20, learning_rate=0.05, seed=0, verbose=2
):
    """Trains the biLM of a model, in place, as a language model of some sentences.

    They are the text of a task, without its labels. The softmax is new, for the words of these
    sentences; it is trained alone for an epoch, so that it does not spoil the biLM at first.

    Args:
        elmo: an `Elmo` that reads characters.
        sentences: list of lists of tokens.
        epochs: int, passes over the sentences in which the biLM is trained.
        batch_size: int, rows of a batch.
        unroll: int, tokens of a row that a step sees.
        learning_rate: float, of Adagrad.
        seed: int, of everything random.
        verbose: as of `fit`.

    Returns:
        The Keras `History` of the last epochs.

    Raises:
        ElmoError: if there are no sentences, or a number is no count.
        TypeError: if a str stands where a list of tokens belongs.

    Example:
        >>> adapt(elmo, [["a", "tweet"], ["and", "another"]])

    Reference:
        Howard and Ruder (2018), Universal language model fine-tuning, section 3.2.
    """
    sentences = [tokens_of(sentence) for sentence in not_text(sentences, "sentences") if sentence]
    check_counts(epochs=epochs, batch_size=batch_size, unroll=unroll)
    if not sentences:
        raise ElmoError("there is no sentence to adapt the model to")
    vocabulary = Vocabulary.build(sentences)
    model = LanguageModel(elmo.embedding, elmo.bilm, len(vocabulary), batch_size)
    predictions = sum(map(len, sentences)) + len(sentences)
    steps = max(1, predictions // (batch_size * unroll))
    options = {"steps_per_epoch": steps, "shuffle": False, "verbose": verbose}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text("".join(f"{' '.join(s)}\n" for s in sentences), encoding="utf-8")
        width = elmo.embedding.max_width
        with closing(_batches(path, vocabulary, batch_size, unroll, width, seed)) as batches:
            _fit(model, batches, 1, learning_rate, options, trained=False)
            history = _fit(model, batches, epochs, learning_rate, options, trained=True)
    if not np.isfinite(history.history["loss"][-1]):
        raise ElmoError("the loss is no number any more; try a smaller learning rate")
    return history


def _batches(path, vocabulary, batch_size, unroll, width, seed):
    corpus = Corpus(str(path))
    windows = Windows(
        corpus, vocabulary, batch_size, unroll, seed, repeat=True, widest_filter=width
    )
    samples = min(MOST_SAMPLES, len(vocabulary) // 2)
    return TrainingBatches(windows, len(vocabulary), samples, seed)


def _fit(model, batches, epochs, learning_rate, options, trained):
    """Trains the softmax, and the biLM too if it is to be trained."""
    model.embedding.trainable = model.bilm.trainable = trained
    model.compile()
    model.optimizer.learning_rate = learning_rate
    return model.fit(iter(batches), epochs=epochs, **options)
