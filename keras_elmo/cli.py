"""The command `keras-elmo`. Each command imports what it needs when it runs."""

import dataclasses

import click

from keras_elmo.errors import ElmoError
from keras_elmo.version import __version__


class _Failure(click.ClickException):
    exit_code = 2

    def show(self, file=None):
        click.echo(f"keras-elmo: {' '.join(self.message.split())}", err=True)


class _Commands(click.Group):
    """Commands whose errors are one line on standard error and exit status 2."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except ElmoError as error:
            raise _Failure(str(error)) from error
        except OSError as error:
            if error.filename is None:
                raise _Failure(error.strerror or str(error)) from error
            raise _Failure(f"{error.filename}: {error.strerror}") from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="keras-elmo")
def main():
    """ELMo: deep contextualized word vectors."""


model_option = click.option(
    "--model",
    metavar="MODEL",
    help="A preset, a folder of a model, or one with options.json and weights. Default: the "
    "English model that comes with the package.",
)


def _layers(ctx, param, value):
    if value in ("all", "top", "average", "mix"):
        return value
    if value.isdigit():
        return int(value)
    raise click.BadParameter("use all, top, average, mix or the number of a layer.")


def _one_layer(ctx, param, value):
    if value == "all":
        raise click.BadParameter("use top, average, mix or the number of a layer.")
    return _layers(ctx, param, value)


@main.command()
@click.argument("source", metavar="INPUT")
@click.argument("output", type=click.Path())
@model_option
@click.option(
    "--layers",
    default="all",
    show_default=True,
    callback=_layers,
    metavar="all|top|average|mix|K",
    help="Which layers; K: the number of one.",
)
@click.option(
    "--tokenizer",
    default="whitespace",
    show_default=True,
    metavar="NAME",
    help="whitespace, treebank or tensorflow-text.",
)
@click.option("--pool", is_flag=True, help="One vector a sentence: the mean over its tokens.")
@click.option(
    "--dtype", type=click.Choice(["float32", "float16"]), default="float32", show_default=True
)
@click.option("--compression", is_flag=True, help="Compress the output.")
@click.option("--batch-tokens", default=4096, show_default=True, help="Tokens a batch.")
@click.option("--allow-empty", is_flag=True, help="Accept lines without a token.")
@click.option("--resume", is_flag=True, help="Go on where an interrupted run stopped.")
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT if it is there.")
def embed(
    source, output, model, tokenizer, compression, allow_empty, resume, overwrite, **settings
):
    """Turn the sentences of INPUT into vectors in OUTPUT.

    INPUT: tokenized text, a sentence a line, or CoNLL-U (.conllu); .gz or not; -: standard input.

    OUTPUT: HDF5 (.hdf5, .h5), Parquet (.parquet) or NumPy (.npz).
    """
    from keras_elmo.embedding.reading import SentenceFile
    from keras_elmo.text.tokenizers import get_tokenizer

    sentences = SentenceFile(source, get_tokenizer(tokenizer), allow_empty)

    from keras_elmo.embedding.embedder import Embedder
    from keras_elmo.embedding.files import embed_file
    from keras_elmo.embedding.files import fingerprint
    from keras_elmo.embedding.progress import EmbeddingProgress
    from keras_elmo.presets import load

    elmo = load(model)
    embedder = Embedder(elmo, **settings)
    settings = {"model": fingerprint(elmo), "tokenizer": tokenizer, **settings}
    with EmbeddingProgress(sentences) as progress:
        embed_file(embedder, sentences, output, compression, resume, overwrite, settings, progress)
    for sentence, vectors in [progress.first] if progress.first else []:
        click.echo(f"{sentence.text:.60}  {vectors.shape} {vectors.dtype}")
    click.echo(
        f"{output}: {progress.sentences:,} sentences, {progress.tokens:,} tokens; "
        f"{progress.seconds:.1f} s, {progress.speed:,.0f} tokens/s"
    )


@main.command()
@click.argument("source", metavar="MODEL", required=False)
def info(source):
    """Show the sizes, the parameters and the origin of MODEL."""
    from keras_elmo.info import describe

    lines = describe(source)
    width = max(map(len, lines))
    for name, value in lines.items():
        click.echo(f"{name:{width}}  {value}")


@main.command()
@click.argument("source", nargs=-1, required=True, metavar="SOURCE...")
@click.argument("target", type=click.Path())
@click.option(
    "--layout",
    type=click.Choice(["folder", "safetensors", "published"]),
    default="folder",
    show_default=True,
    help="folder: ours; safetensors: ours, with such weights; published: options.json and "
    "weights.hdf5 for AllenNLP and simple_elmo.",
)
@click.option("--dtype", type=click.Choice(["float16"]), help="Halve the weights.")
@click.option("--offline", is_flag=True, help="Never touch the network.")
def convert(source, target, layout, dtype, offline):
    """Turn any published model into a folder, and back.

    SOURCE: a name, path or URL of a model, or of its options, weights and vocabulary.
    """
    import os

    from keras_elmo.convert.conversion import convert
    from keras_elmo.convert.download import OFFLINE

    if offline:
        os.environ[OFFLINE] = "1"
    convert(source if len(source) > 1 else source[0], target, layout, dtype)
    click.echo(f"{target}: written")


@main.command("export")
@click.argument("source", metavar="MODEL")
@click.argument("target", type=click.Path())
@click.option(
    "--format",
    "form",
    required=True,
    metavar="savedmodel|litert|onnx|openvino",
    help="savedmodel: a folder for TensorFlow Serving, such as elmo/1; litert: a .tflite file; "
    "onnx: an .onnx file; openvino: an .xml and a .bin file.",
)
@click.option("--weights", metavar="int8|float16|float32", help="How the weights are stored.")
@click.option(
    "--outputs", multiple=True, metavar="mix|top|all", help="What it answers; repeatable."
)
@click.option(
    "--lengths", multiple=True, type=int, metavar="N", help="litert: a fixed length; repeatable."
)
@click.option("--tokenizer", metavar="NAME", help="savedmodel: tensorflow-text, for raw text.")
@click.option("--warm-up", is_flag=True, help="savedmodel: add requests to warm up with.")
@click.pass_context
def export_command(context, source, target, form, **options):
    """Write MODEL to TARGET for servers and devices, by way of TensorFlow.

    MODEL: a preset, a folder of a model, or one with options.json and weights; or the folder of
    a task model, as savedmodel or litert.
    """
    from keras_elmo import backend
    from keras_elmo.export.formats import check
    from keras_elmo.export.formats import export
    from keras_elmo.presets import load
    from keras_elmo.tasks.folder import is_task_model

    check(form, options)
    if backend.BACKEND != "tensorflow":
        context.exit(backend.run_command_on("tensorflow"))
    if is_task_model(source):
        from keras_elmo.tasks.export import export_folder

        export_folder(source, target, form)
    else:
        export(load(source), target, form, **options)
    click.echo(f"{target}: written")


corpus_argument = click.argument("corpus", nargs=-1, required=True, metavar="CORPUS...")


@main.command("build-vocab")
@corpus_argument
@click.option("--output", required=True, type=click.Path(), metavar="FILE")
@click.option("--min-count", default=1, show_default=True, help="Leave out rarer words.")
@click.option("--max-size", type=int, help="Keep so many, the three markers included.")
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
    from keras_elmo.training import recipe

    for setting in reversed(dataclasses.fields(recipe.Recipe)):
        filters = setting.name == "filters"
        command = click.option(
            f"--{setting.name.replace('_', '-')}",
            default=",".join(f"{w}:{n}" for w, n in recipe.FILTERS) if filters else setting.default,
            type=str if filters else getattr(setting.type, "__args__", [setting.type])[0],
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


@main.command()
@corpus_argument
@click.option("--output", required=True, type=click.Path(), metavar="DIR", help="The model.")
@click.option("--validation", multiple=True, metavar="FILE", help="Held-out text; repeatable.")
@click.option("--vocabulary", type=click.Path(), help="Default: that of --init-from, or counted.")
@click.option("--init-from", metavar="MODEL", help="Go on from this model, with its sizes.")
@click.option("--checkpoint-steps", default=250, show_default=True)
@click.option("--validation-steps", type=int, help="Default: an epoch.")
@click.option("--tensorboard", is_flag=True, help="Write logs for TensorBoard.")
@_recipe_options
def pretrain(
    corpus,
    output,
    validation,
    vocabulary,
    init_from,
    checkpoint_steps,
    validation_steps,
    tensorboard,
    **recipe,
):
    """Train a bidirectional language model on text and write a model folder.

    CORPUS: files or patterns, .gz too, a sentence a line, words divided by spaces. Interrupted or
    killed, the same command goes on from the last checkpoint.
    """
    from keras_elmo.training.pretrain import pretrain
    from keras_elmo.training.recipe import Recipe

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
        report=click.echo,
    )


@main.command()
@corpus_argument
@model_option
@click.option("--carry-state", is_flag=True, help="The LSTM state goes on between sentences.")
@click.option("--batch-size", default=32, show_default=True, help="Sentences, or streams, a batch.")
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


@main.command()
@click.argument("source", metavar="INPUT")
@model_option
@click.option("--tokens", is_flag=True, help="A line for each word too.")
@click.option("--pairs", is_flag=True, help="Lines hold two sentences: which is likelier?")
@click.option("--batch-size", default=32, show_default=True, help="Sentences a batch.")
def score(source, model, tokens, pairs, batch_size):
    """Show how likely the sentences of INPUT are: natural log-probabilities, tab-separated.

    INPUT: text, a sentence a line, words divided by spaces; with --pairs two of them, divided by
    a tab; -: standard input.
    """
    from keras_elmo.convert.language_model import load_language_model
    from keras_elmo.training import score_lines
    from keras_elmo.training.scoring import SentenceScorer

    write = score_lines.pairs if pairs else score_lines.sentences
    scorer = SentenceScorer(*load_language_model(model), batch_size)
    for line in write(scorer, source, *([] if pairs else [tokens])):
        click.echo(line)


@main.command()
@click.argument("sentence")
@click.option("--word", required=True, metavar="W", help="A word of the sentence.")
@click.option("--corpus", required=True, metavar="FILE", help="Text to look through: as for embed.")
@click.option("--count", default=10, show_default=True, help="How many uses.")
@click.option(
    "--layers",
    default="top",
    show_default=True,
    callback=_one_layer,
    metavar="top|average|mix|K",
    help="Which vectors are compared.",
)
@click.option("--any-word", is_flag=True, help="Uses of every word, not of W alone.")
@model_option
def similar(sentence, word, corpus, count, layers, any_word, model):
    """Show the uses of a word that are most like its use in SENTENCE, with their cosines."""
    from keras_elmo.embedding.reading import SentenceFile
    from keras_elmo.presets import load
    from keras_elmo.tasks.similar import similar

    texts = (found.tokens for found in SentenceFile(corpus, str.split, allow_empty=True))
    uses = similar(load(model), sentence.split(), word, texts, count, layers, not any_word)
    for use in uses:
        tokens = [*use.tokens]
        tokens[use.position] = f"[{tokens[use.position]}]"
        click.echo(f"{use.similarity:.4f}  {' '.join(tokens)}")


if __name__ == "__main__":
    main()
