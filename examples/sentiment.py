"""Classes of sentences: sentiment, subjectivity, acceptability.

    python examples/sentiment.py --train train.tsv --dev dev.tsv --test test.tsv

A first line with the names of the columns, `label` and `sentence`, then a line for each, with tabs:
the sentence polarity data (www.cs.cornell.edu/people/pabo/movie-review-data), or with `--glue` the
files of SST-2 and CoLA (gluebenchmark.com).
"""

import click
from ner import plot
from runner import Command
from runner import Task
from runner import options
from runner import run

from keras_elmo import tasks

TINY = [
    ("a good film", "1"),
    ("so good and so warm", "1"),
    ("a bad film", "0"),
    ("so bad and so cold", "0"),
]
METRICS = {"CoLA": ["matthews", "accuracy"]}


def task(glue=None, column="sentence", label="label"):
    """The task for the runner."""

    def read(path, strict):
        if glue:
            return tasks.read_glue(path, glue, strict)
        return tasks.read_table(path, [column], label, strict=strict)

    def make(features, labels, units=128):
        return tasks.TextClassifier(features, labels, units=units, metrics=METRICS.get(glue))

    return Task(
        read=read,
        make=make,
        tiny=lambda: ([text for text, _ in TINY], [label for _, label in TINY]),
        plot=plot,
        epochs=6,
        small={"units": 8},
    )


@click.command(cls=Command, help=__doc__)
@click.option("--glue", type=click.Choice(["SST-2", "CoLA"]), help="The files are those of GLUE.")
@click.option("--column", default="sentence", show_default=True, help="Column of the text.")
@click.option("--label", default="label", show_default=True, help="Column of the label.")
@options
def main(glue, column, label, **settings):
    """Runs the example."""
    run(task(glue, column, label), **settings)


if __name__ == "__main__":
    main()
