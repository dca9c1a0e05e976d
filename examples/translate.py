"""Translation: BLEU and chrF by sacrebleu.

    python examples/translate.py --train train.tsv --dev dev.tsv --test test.tsv

A sentence, a tab and its translation a line, such as the pairs of www.manythings.org/anki.
"""

import click
from runner import Command
from runner import Task
from runner import options
from runner import run

import keras_elmo
from keras_elmo import tasks
from keras_elmo.tasks.seq2seq import words_of
from keras_elmo.text.spans import split_words

TINY = [
    ("It rains .", "Il pleut."),
    ("It snows .", "Il neige."),
    ("He sings .", "Il chante."),
    ("She sings .", "Elle chante."),
]


def read(path, strict):
    """The tokens of the sources, and the translations."""
    sources, translations = tasks.read_parallel(path, strict)
    return list(map(split_words, sources)), translations


def task(writer=None):
    """The task for the runner."""

    def make(features, translations, units=256, word_dim=128):
        words = tasks.frequent_words(map(words_of, translations), 1 if units < 32 else 2)
        model = writer and keras_elmo.load(writer)
        return tasks.Seq2Seq(
            features,
            words,
            units=units,
            word_dim=word_dim,
            language_model=model,
            tokenizer="words",
        )

    return Task(
        read=read,
        make=make,
        tiny=lambda: ([text.split() for text, _ in TINY], [text for _, text in TINY]),
        epochs=10,
        small={"units": 8, "word_dim": 8},
    )


@click.command(cls=Command, help=__doc__)
@click.option("--writer", help="An ELMo of the target language whose forward half helps to write.")
@options
def main(writer, **settings):
    """Runs the example."""
    run(task(writer), **settings)


if __name__ == "__main__":
    main()
