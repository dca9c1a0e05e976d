"""The commands that give vectors: embed and similar."""

import click

from keras_elmo.cli.options import layers_of
from keras_elmo.cli.options import model_option
from keras_elmo.cli.options import offline_option


@click.command()
@click.argument("source", metavar="INPUT")
@click.argument("output", type=click.Path())
@model_option
@offline_option
@click.option(
    "--layers",
    default="all",
    show_default=True,
    callback=layers_of("all", "top", "average", "mix"),
    metavar="all|top|average|mix|K",
    help="Which layers; K: the number of one.",
)
@click.option(
    "--tokenizer",
    default="whitespace",
    show_default=True,
    metavar="NAME",
    help="whitespace, words, treebank or tensorflow-text.",
)
@click.option("--pool", is_flag=True, help="One vector a sentence: the mean over its tokens.")
@click.option(
    "--dtype", type=click.Choice(["float32", "float16"]), default="float32", show_default=True
)
@click.option("--compression", is_flag=True, help="Compress the output.")
@click.option("--batch-tokens", type=int, help="Tokens a batch; the default suits the model.")
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

    from keras_elmo import backend
    from keras_elmo.embedding.embedder import Embedder
    from keras_elmo.embedding.files import embed_file
    from keras_elmo.embedding.files import fingerprint
    from keras_elmo.embedding.progress import EmbeddingProgress
    from keras_elmo.presets import load

    backend.keep_freed_memory()
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


@click.command()
@click.argument("sentence")
@click.option("--word", required=True, metavar="W", help="A word of the sentence.")
@click.option("--corpus", required=True, metavar="FILE", help="Text to look through: as for embed.")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many uses.",
)
@click.option(
    "--layers",
    default="top",
    show_default=True,
    callback=layers_of("top", "average", "mix"),
    metavar="top|average|mix|K",
    help="Which vectors are compared.",
)
@click.option("--any-word", is_flag=True, help="Uses of every word, not of W alone.")
@model_option
@offline_option
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
