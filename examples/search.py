"""Hyperparameters of a tagger, by KerasTuner: units, layers, learning rate, dropout, mix L2.

    python examples/search.py --train train.bio --dev dev.bio --trials 20

The sizes are those of the paper's search; `--tiny` takes small ones. The table, best first, goes
to results.json too.
"""

import json

import click
import keras
import keras_tuner
from ner import tiny as tiny_data
from rich.console import Console
from rich.table import Table
from runner import RESULTS
from runner import Command
from runner import tiny_elmo
from runner import unused

import keras_elmo
from keras_elmo import tasks
from keras_elmo.files import replaced


class Search(keras_tuner.RandomSearch):
    """Random search whose trials build, train and score one tagger each."""

    def __init__(self, make_elmo, train, dev, epochs, units, layers, **kwargs):
        self.make_elmo, self.train, self.dev, self.epochs = make_elmo, train, dev, epochs
        self.units, self.layers = units, layers
        super().__init__(objective=keras_tuner.Objective("f1", "max"), **kwargs)

    def run_trial(self, trial):
        """Scores one choice of hyperparameters."""
        choice = trial.hyperparameters
        lowest, highest = self.units
        units = choice.Int("units", lowest, highest, step=2, sampling="log")
        layers = choice.Int("layers", *self.layers)
        rate = choice.Float("learning_rate", 1e-4, 1e-3, sampling="log")
        dropout = choice.Float("dropout", 0.0, 0.5, step=0.1)
        decay = choice.Choice("mix_l2", [0.0, 1e-4, 1e-3, 1e-2])
        elmo = self.make_elmo(dropout=dropout, mix_regularizer=keras.regularizers.L2(decay))
        tagger = tasks.TokenClassifier(
            elmo, self.train[1], units=units, num_layers=layers, dropout=dropout
        )
        tagger.fit(
            *self.train, self.dev, epochs=self.epochs, learning_rate=rate, verbose=0
        )  # the weights of the best epoch
        return {"f1": tagger.evaluate(*self.dev)["f1"]}


@click.command(cls=Command, help=__doc__)
@click.option("--train", "train_path", type=click.Path())
@click.option("--dev", "dev_path", type=click.Path())
@click.option("--output", default="results", show_default=True)
@click.option("--model", help="An ELMo; the default is the one of the package.")
@click.option("--trials", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--epochs", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--lenient", is_flag=True, help="Mend or leave out what is wrong in files.")
@click.option("--tiny", is_flag=True, help="Tiny data and model, in a minute.")
def main(train_path, dev_path, output, model, trials, epochs, seed, lenient, tiny):
    """Runs the example."""
    if not tiny and (train_path is None or dev_path is None):
        raise click.UsageError("give --train and --dev files, or --tiny")
    output = unused(output)
    train, dev = (
        tiny_data() if tiny else tasks.read_conll(path, strict=not lenient, scheme="bio")
        for path in (train_path, dev_path)
    )
    search = Search(
        tiny_elmo if tiny else lambda **options: keras_elmo.load(model, **options),
        train,
        dev,
        1 if tiny else epochs,
        units=(4, 8) if tiny else (512, 2048),
        layers=(1, 2) if tiny else (1, 3),
        max_trials=2 if tiny else trials,
        seed=seed,
        directory=str(output),
        project_name="trials",
        overwrite=True,
    )
    search.search()
    report(search.oracle.get_best_trials(trials), output)


def report(trials, output):
    """Prints the trials as a table, and writes them as JSON."""
    rows = [{**trial.hyperparameters.values, "f1": trial.score} for trial in trials]
    with replaced(output / RESULTS) as temporary:
        temporary.write_text(json.dumps(rows, indent=2) + "\n")
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:.4g}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
