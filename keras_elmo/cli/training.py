"""The commands about language models: build-vocab, pretrain, evaluate and score."""

import dataclasses

import click
from click.core import ParameterSource

from keras_elmo.cli.options import corpus_argument
from keras_elmo.cli.options import model_option
from keras_elmo.cli.options import offline_option
from keras_elmo.errors import ElmoError
from keras_elmo.training.recipe import FILTERS
from keras_elmo.training.recipe import OF_THE_MODEL
from keras_elmo.training.recipe import Recipe


@click.command("build-vocab")
@corpus_argument
@click.option("--output", required=True, type=click.Path(), metavar="FILE")
@click.option(
    "--min-count",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Leave out rarer words.",
)
@click.option(
    "--max-size",
    type=click.IntRange(min=4),
    help="Keep so many, the three markers included.",
)
def build_vocab(corpus, output, min_count, max_size):
    """Count the words of text files and write a vocabulary, the frequent words first.

    CORPUS: files or patterns, .gz too, a sentence a line, words divided by spaces.
    """
    from keras_elmo.training.corpus import Corpus
    from keras_elmo.training.vocabulary import Vocabulary

    vocabulary = Vocabulary.build(Corpus(corpus), min_count, max_size)
    vocabulary.write(output)
    click.echo(f"{len(vocabulary):,} words in {output}")


def _recipe_options(command):
    for setting in reversed(dataclasses.fields(Recipe)):
        filters = setting.name == "filters"
        command = click.option(
            f"--{setting.name.replace('_', '-')}",
            default=",".join(f"{w}:{n}" for w, n in FILTERS) if filters else setting.default,
            type=str if filters else getattr(setting.type, "__args__", [setting.type])[0],
            is_flag=setting.type is bool,
            callback=_filters if filters else None,
            show_default=True,
            help=setting.metadata["help"],
        )(command)
    return command


def _filters(ctx, param, value):
    try:
        return [[int(number) for number in pair.split(":", 1)] for pair in value.split(",")]
    except ValueError:
        raise click.BadParameter("use width:count,width:count, such as 1:32,2:64.") from None


@click.command()
@corpus_argument
@click.option("--output", required=True, type=click.Path(), metavar="DIR", help="The model.")
@click.option("--validation", multiple=True, metavar="FILE", help="Held-out text; repeatable.")
@click.option("--vocabulary", type=click.Path(), help="Default: that of --init-from, or counted.")
@click.option("--init-from", metavar="MODEL", help="Go on from this model, with its sizes.")
@click.option("--checkpoint-steps", default=250, show_default=True)
@click.option("--validation-steps", type=int, help="Default: an epoch.")
@click.option("--tensorboard", is_flag=True, help="Write logs for TensorBoard.")
@click.option(
    "--distribute",
    type=click.Choice(["data", "vocabulary"]),
    help="Use all devices, of many hosts too; vocabulary: divide the softmax as well (JAX).",
)
@offline_option
@_recipe_options
@click.pass_context
def pretrain(
    ctx,
    corpus,
    output,
    validation,
    vocabulary,
    init_from,
    checkpoint_steps,
    validation_steps,
    tensorboard,
    distribute,
    **recipe,
):
    """Train a bidirectional language model on text and write a model folder.

    CORPUS: files or patterns, .gz too, a sentence a line, words divided by spaces. Interrupted or
    killed, the same command goes on from the last checkpoint.
    """
    from keras_elmo.training.pretrain import pretrain

    if init_from:
        _refuse_sizes(ctx)
    pretrain(
        corpus,
        output,
        Recipe(**recipe),
        validation=validation or None,
        vocabulary=vocabulary,
        init_from=init_from,
        checkpoint_steps=checkpoint_steps,
        validation_steps=validation_steps,
        tensorboard=tensorboard,
        distribute=distribute,
        report=click.echo,
    )


def _refuse_sizes(ctx):
    for name in OF_THE_MODEL:
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = f"--{name.replace('_', '-')}"
            raise ElmoError(f"{option} is that of the model of --init-from; leave it out")


@click.command()
@corpus_argument
@model_option
@offline_option
@click.option("--carry-state", is_flag=True, help="The LSTM state goes on between sentences.")
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    help="Sentences, or streams, a batch.",
)
def evaluate(corpus, model, carry_state, batch_size):
    """Show the perplexity of MODEL on text, in each direction.

    CORPUS: files or patterns, .gz too, a sentence a line, words divided by spaces.
    """
    from keras_elmo.convert.language_model import load_language_model
    from keras_elmo.training.corpus import Corpus
    from keras_elmo.training.scoring import perplexity

    corpus = Corpus(corpus)
    model, vocabulary = load_language_model(model, batch_size)
    found = perplexity(model, vocabulary, corpus, carry_state, batch_size)
    click.echo(f"predictions  {found.pop('predictions'):,} a direction, {len(vocabulary):,} words")
    for name, value in found.items():
        click.echo(f"{name:11}  {value:.4f}")


@click.command()
@click.argument("source", metavar="INPUT")
@model_option
@offline_option
@click.option("--tokens", is_flag=True, help="A line for each word too.")
@click.option("--pairs", is_flag=True, help="Lines hold two sentences: which is likelier?")
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    help="Sentences a batch.",
)
def score(source, model, tokens, pairs, batch_size):
    """Show how likely the sentences of INPUT are: natural log-probabilities, tab-separated.

    INPUT: text, a sentence a line, words divided by spaces; with --pairs two of them, divided by
    a tab; -: standard input.
    """
    if tokens and pairs:
        raise click.UsageError("--tokens is for sentences, not for --pairs")
    from keras_elmo.convert.language_model import load_language_model
    from keras_elmo.training import score_lines
    from keras_elmo.training.scoring import SentenceScorer

    write = score_lines.pairs if pairs else score_lines.sentences
    scorer = SentenceScorer(*load_language_model(model), batch_size)
    for line in write(scorer, source, *([] if pairs else [tokens])):
        click.echo(line)
