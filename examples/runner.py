"""What every example does: options, seeds, three variants, a table, JSON and plots."""

import dataclasses
import json
import statistics
import time
import warnings
from pathlib import Path

import click
import keras
from rich.console import Console
from rich.table import Table

import keras_elmo
from keras_elmo import tasks
from keras_elmo.cli.group import one_line
from keras_elmo.files import replaced
from keras_elmo.tasks import plots
from keras_elmo.tasks.adaptation import adapt

RESULTS = "results.json"
VARIANTS = {
    "none": "no ELMo: word and character vectors from scratch",
    "frozen": "ELMo frozen, mix learned",
    "tuned": "ELMo fine-tuned: gradual unfreezing, slower below",
    **{f"layer{k}": f"layer {k} of a frozen ELMo alone" for k in range(3)},
}


@dataclasses.dataclass
class Task:
    """A task for the runner.

    Attributes:
        read: function from a path and `strict` to examples and targets.
        make: function from `TokenFeatures`, the targets and sizes to a task model.
        tiny: function without arguments to examples and targets, for `--tiny`.
        sentences: function from an example to the texts whose words get vectors.
        plot: function from targets, answers and a folder, for plots of the task's own.
        finish: function from the model, the test examples and a folder, likewise.
        epochs: int.
        small: dict, arguments of `make` in `--tiny`.
        fit: dict, further arguments of `fit`.
    """

    read: callable
    make: callable
    tiny: callable
    sentences: callable = lambda example: [example]
    plot: callable = None
    finish: callable = None
    epochs: int = 10
    small: dict = dataclasses.field(default_factory=dict)
    fit: dict = dataclasses.field(default_factory=dict)


class Command(click.Command):
    """A command whose errors are one line on standard error and exit status 2, warnings a line."""

    def invoke(self, ctx):
        warnings.formatwarning = lambda message, *_, **__: f"Warning: {message}\n"
        try:
            return super().invoke(ctx)
        except (keras_elmo.ElmoError, OSError) as error:
            failure = click.ClickException(one_line(error))
            failure.exit_code = 2
            raise failure from error


def options(function):
    """The options that all examples share."""
    count = click.IntRange(min=1)
    shared = (
        click.option("--train", "train_path", type=click.Path(), help="Training data."),
        click.option("--dev", "dev_path", type=click.Path(), help="Held-out data: best epoch."),
        click.option("--test", "test_path", type=click.Path(), help="Data to score in the end."),
        click.option("--output", default="results", show_default=True, help="Folder to write."),
        click.option("--model", help="An ELMo; the default is the one of the package."),
        click.option(
            "--variant",
            "variants",
            multiple=True,
            type=click.Choice(list(VARIANTS)),
            help="What of ELMo is used; may be repeated. [frozen]",
        ),
        click.option(
            "--place",
            default="input",
            show_default=True,
            type=click.Choice(["input", "output", "both"]),
            help="Where ELMo enters the task's RNN.",
        ),
        click.option("--alone", is_flag=True, help="No word and character vectors beside ELMo."),
        click.option(
            "--elmo-dropout",
            default=0.2,
            show_default=True,
            type=click.FloatRange(min=0, max=1, max_open=True),
            help="Share of ELMo's vectors that is dropped in training.",
        ),
        click.option("--adapt", "adapted", is_flag=True, help="First read the training text."),
        click.option(
            "--seeds", default=1, show_default=True, type=count, help="Runs of each variant."
        ),
        click.option("--epochs", type=count, help="Epochs; the default is the task's."),
        click.option("--batch-size", type=count, help="Examples a step. [32, or the task's]"),
        click.option(
            "--learning-rate",
            type=click.FloatRange(min=0, min_open=True),
            help="Of Adam. [0.001, or the task's]",
        ),
        click.option("--limit", type=count, help="Use the first N examples of each file."),
        click.option("--lenient", is_flag=True, help="Mend or leave out what is wrong in files."),
        click.option("--tiny", is_flag=True, help="Tiny data and model, in a minute."),
    )
    for option in reversed(shared):  # as decorators, the first one is applied last
        function = option(function)
    return function


def command(task, text):
    """The command of an example that has no options of its own; `text` is its help."""

    @click.command(cls=Command, help=text)
    @options
    def main(**settings):
        run(task, **settings)

    return main


def run(task, tiny, variants, output, seeds, **settings):
    """Trains and scores each variant, and writes the model, table, JSON and plots.

    Returns:
        A dict from variant to the mean of each metric.
    """
    variants = variants or ("frozen",)
    _check_switches(variants, **settings)
    output = unused(output)
    data = _tiny_data(task) if tiny else _data(task, **settings)
    output.mkdir(parents=True, exist_ok=True)
    results = {}
    for variant in variants:
        runs = [_train(task, data, variant, seed, tiny, output, settings) for seed in range(seeds)]
        results[variant] = runs
        with replaced(output / RESULTS) as temporary:
            temporary.write_text(json.dumps(results, indent=2) + "\n")
    _print(results)
    return {name: _means(runs) for name, runs in results.items()}


def _check_switches(variants, place, alone, adapted, model, epochs, **_):
    """Refuses switches that contradict each other."""
    if alone and place == "output":
        raise click.UsageError("with --place output the input needs words: leave out --alone")
    if set(variants) == {"none"} and (alone or adapted or model or place != "input"):
        switches = "--alone, --adapt, --model and --place"
        raise click.UsageError(f"--variant none has no ELMo: leave out {switches}")
    if "tuned" in variants and epochs == 1:
        raise click.UsageError("--variant tuned begins to tune in the second epoch: --epochs 2")


def unused(output):
    """The folder to write, as a `Path`; one that holds the results of a run is refused."""
    if (Path(output) / RESULTS).exists():
        raise keras_elmo.ElmoError(f"{output}: holds the results of a run; give another --output")
    return Path(output)


def _tiny_data(task):
    examples, targets = task.tiny()
    return {part: (examples, targets) for part in ("train", "dev", "test")}


def _data(task, train_path, dev_path, test_path, lenient, limit, **_):
    paths = {"train": train_path, "dev": dev_path, "test": test_path}
    if train_path is None or test_path is None:
        raise click.UsageError("give --train and --test files, or --tiny")
    found = {part: task.read(path, not lenient) for part, path in paths.items() if path}
    return {part: tuple(x[:limit] for x in pair) for part, pair in found.items()}


def _train(task, data, variant, seed, tiny, output, settings):
    click.echo(f"{variant}, seed {seed}: {VARIANTS[variant]}")
    keras.utils.set_random_seed(seed)
    started = time.perf_counter()
    features = make_features(task, data["train"], variant, tiny, **settings)
    examples, targets = data["train"]
    model = task.make(features, targets, **(task.small if tiny else {}))
    held, truths = data["test"]
    model.check_truths(held, model.read(held), truths)
    history = model.fit(
        examples,
        targets,
        data.get("dev"),
        epochs=settings["epochs"] or (2 if tiny else task.epochs),
        seed=seed,
        strict=not settings["lenient"],
        verbose=2,
        **_fit_options(task, variant, settings),
    )
    answers = model.predict(held)
    scores = model.score(truths, answers)
    folder = output / variant
    folder.mkdir(exist_ok=True)
    model.save(folder / "model")
    plots.training(history, folder / "training.png")
    if history.mixes:
        plots.mixes(history, folder / "mixes.png")
    plots.bars(scores, folder / "scores.png")
    if task.plot is not None:
        task.plot(truths, answers, folder)
    if task.finish is not None:
        task.finish(model, held, folder)
    first = next(iter(scores))
    held_out = history.history.get(f"val_{first}")
    best = {f"dev_{first}": max(held_out)} if held_out else {}
    return {**scores, **best, "seconds": time.perf_counter() - started}


def _fit_options(task, variant, settings):
    given = {name: settings[name] for name in ("batch_size", "learning_rate") if settings[name]}
    tuned = {"fine_tune": "gradual", "layer_decay": 0.4} if variant == "tuned" else {}
    return {**task.fit, **tuned, **given}


def make_features(task, train, variant, tiny, model, place, alone, elmo_dropout, adapted, **_):
    """The `TokenFeatures` of a variant."""
    texts = [text for example in train[0] for text in task.sentences(example)]
    tokens = [text.split() if isinstance(text, str) else text for text in texts]
    if variant == "none":
        return tasks.TokenFeatures(words=tasks.frequent_words(tokens))
    words = None if alone else tasks.frequent_words(tokens)
    one_layer = variant.startswith("layer")
    penalty = None if one_layer else keras.regularizers.L2(1e-3)
    options = {"dropout": elmo_dropout, "mix_regularizer": penalty}
    elmo = tiny_elmo(**options) if tiny else keras_elmo.load(model, **options)
    if adapted:
        adapt(elmo, tokens, epochs=1)
    features = tasks.TokenFeatures(elmo, words, place)
    if one_layer:
        choose_layer(features, int(variant.removeprefix("layer")))
    return features


def choose_layer(features, layer):
    """Fixes the mixes to one layer of the biLM."""
    for mix in features.mixes.values():
        logits = [0.0 if k == layer else -30.0 for k in range(mix.weights_logits.shape[0])]
        mix.weights_logits.assign(logits)
        mix.trainable = False


def tiny_elmo(**arguments):
    """A random ELMo, which knows nothing, for `--tiny`."""
    embedding = keras_elmo.CharCNNEmbedding(filters=[[1, 8], [3, 8]], projection_dim=8)
    bilm = keras_elmo.BiLM(num_layers=2, units=16, projection_dim=8)
    return keras_elmo.Elmo(embedding, bilm, **arguments)


def _means(runs):
    """The mean of each score over the runs that have it, since not all answer every type."""
    found = {name: [run[name] for run in runs if name in run] for name in _names(runs)}
    return {name: statistics.mean(values) for name, values in found.items()}


def _names(runs):
    return list(dict.fromkeys(name for run in runs for name in run))


def _print(results):
    """A row for each score, since there may be many types; a column for each variant."""
    table = Table("score", title=keras.config.backend())
    for variant in results:
        table.add_column(variant, justify="right")
    for name in _names([run for runs in results.values() for run in runs]):
        cells = ([run[name] for run in runs if name in run] for runs in results.values())
        table.add_row(name, *map(_cell, cells))
    Console(width=40 + 16 * len(results)).print(table)


def _cell(values):
    if not values:
        return ""
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"
