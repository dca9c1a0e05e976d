r"""Pairs of sentences: entailment, paraphrase, question and answer, similarity.

    python examples/pairs.py --train train.tsv --dev dev.tsv --test test.tsv \
        --columns question,sentence
    python examples/pairs.py --glue STS-B --train train.tsv --dev dev.tsv --test dev.tsv

A first line with the names of the columns (`--columns`, `--label`), then a pair a line, with tabs:
SNLI (nlp.stanford.edu/projects/snli), or with `--glue` the files of gluebenchmark.com. Scores are
those of GLUE.
"""

import click
from ner import plot
from runner import Command
from runner import Task
from runner import options
from runner import run

from keras_elmo import tasks
from keras_elmo.text.spans import split_words

METRICS = {
    "MRPC": ["accuracy_f1", "accuracy", "f1"],
    "QQP": ["accuracy_f1", "accuracy", "f1"],
}
TINY = [
    (("It rains .", "It is wet ."), "yes"),
    (("It rains .", "It is dry ."), "no"),
    (("The sun shines .", "It is dry ."), "yes"),
    (("The sun shines .", "It is wet ."), "no"),
]


def task(glue=None, columns=("sentence1", "sentence2"), label="label", numbers=False):
    """The task for the runner."""
    numbers = numbers or glue == "STS-B"

    def read(path, strict):
        if glue:
            pairs, labels = tasks.read_glue(path, glue, strict)
        else:
            pairs, labels = tasks.read_table(path, columns, label, numbers, strict)
        return [tuple(map(split_words, pair)) for pair in pairs], labels

    def make(features, labels, units=128):
        labels = None if numbers else labels
        return tasks.PairClassifier(
            features, labels, units=units, metrics=METRICS.get(glue), tokenizer="words"
        )

    def tiny():
        labels = [3.0, 0.0, 4.0, 1.0] if numbers else [label for _, label in TINY]
        return [tuple(text.split() for text in pair) for pair, _ in TINY], labels

    return Task(
        read=read,
        make=make,
        tiny=tiny,
        sentences=list,
        plot=None if numbers else plot,
        epochs=6,
        small={"units": 8},
    )


def two_columns(context, parameter, value):
    """The two names in `--columns`."""
    columns = [name.strip() for name in value.split(",")]
    if len(columns) != 2:
        raise click.BadParameter(f"{value!r} does not name two columns")
    return columns


@click.command(cls=Command, help=__doc__)
@click.option(
    "--glue",
    type=click.Choice(["MRPC", "QQP", "STS-B", "MNLI", "QNLI", "RTE", "WNLI"]),
    help="The files are those of GLUE.",
)
@click.option(
    "--columns",
    default="sentence1,sentence2",
    show_default=True,
    callback=two_columns,
    help="Both texts, with a comma between.",
)
@click.option("--label", default="label", show_default=True, help="Column of the label.")
@click.option("--numbers", is_flag=True, help="Labels are numbers, a similarity.")
@options
def main(glue, columns, label, numbers, **settings):
    """Runs the example."""
    if glue and numbers:
        raise click.UsageError(f"--numbers is for files of your own, not for --glue {glue}")
    run(task(glue, columns, label, numbers), **settings)


if __name__ == "__main__":
    main()
