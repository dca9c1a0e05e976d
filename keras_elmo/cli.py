"""The command `keras-elmo`. Each command imports what it needs when it runs."""

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
        embed_file(
            embedder, sentences, output, compression, resume, overwrite, settings, progress
        )
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


if __name__ == "__main__":
    main()
