"""Held-out perplexity of a biLM and of an interpolated modified Kneser-Ney 5-gram.

    python benchmarks/ngram.py MODEL --kenlm KENLM/build/bin --train TEXT --heldout TEXT

KenLM's `lmplz` estimates the n-gram, not pruned, and its `query` evaluates it; `cmake` builds both
from KenLM's sources. The vocabulary is that of MODEL, as for `keras-elmo evaluate`; words outside
of it are `<UNK>` in all texts. A second n-gram, of reversed text, is the backward direction.
Both models predict every word and every sentence's end. Prints a Markdown table.
"""

import math
import re
import subprocess
import tempfile
from pathlib import Path

import click
import report

from keras_elmo.convert.language_model import load_language_model
from keras_elmo.layers.bilm import DIRECTIONS
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.scoring import perplexity

ORDER = 5
UNKNOWN = "unknown<>"  # the mark of our vocabularies is one of KenLM's own


def run(program, *options, stdin, stdout=subprocess.PIPE):
    """Runs a program of KenLM and returns what it prints, if that goes nowhere else."""
    with open(stdin, "rb") as text:
        done = subprocess.run(
            [program, *options], stdin=text, stdout=stdout, stderr=subprocess.PIPE, text=True
        )
    if done.returncode:
        raise click.ClickException(f"{program} failed: {done.stderr[-500:]}")
    return done.stdout


def write(target, corpus, words, backward):
    """Writes a corpus as KenLM reads it, rare words as `<UNK>`."""
    with open(target, "w", encoding="utf-8") as file:
        for sentence in corpus:
            known = [word if word in words else UNKNOWN for word in sentence]
            print(*(known[::-1] if backward else known), file=file)


def perplexities(kenlm, train, heldout, words, backward):
    """The perplexity of a 5-gram on each of the held-out texts, by name."""
    with tempfile.TemporaryDirectory() as folder:
        text, model = Path(folder, "text"), Path(folder, "model.arpa")
        write(text, train, words, backward)
        # Frequent words alone have no counts from which the discount of single words follows.
        options = ["-o", str(ORDER), "--discount_fallback", "-S", "50%", "-T", folder]
        with open(model, "wb") as file:
            run(kenlm / "lmplz", *options, stdin=text, stdout=file)
        found = {}
        for name, corpus in heldout.items():
            write(text, corpus, words, backward)
            said = run(kenlm / "query", "-v", "summary", model, stdin=text)
            value, strange, tokens = (
                float(re.search(rf"^{label}:\s*(\S+)", said, re.MULTILINE)[1])
                for label in ("Perplexity including OOVs", "OOVs", "Tokens")
            )
            # A word that the training text lacks would share the probability of all such words.
            if strange or tokens != corpus.num_predictions():
                raise click.ClickException(f"{name}: {said}")
            found[name] = value
        return found


def row(name, corpus, values):
    """A row of the table, with the perplexity of the mean of the two losses."""
    values = [*values, math.sqrt(math.prod(values))]
    return [name, f"{corpus.num_predictions():,}", *(f"{value:.1f}" for value in values)]


@click.command()
@click.argument("model")
@click.option("--kenlm", type=Path, required=True, help="Folder with lmplz and query.")
@click.option("--train", multiple=True, required=True, help="Repeatable.")
@click.option("--heldout", multiple=True, required=True, help="Repeatable: two rows of the table.")
def main(model, kenlm, train, heldout):
    """Measure and print."""
    model, vocabulary = load_language_model(model)
    heldout = {Path(path).name.split(".")[0]: Corpus(path) for path in heldout}
    ngram = {
        direction: perplexities(
            kenlm, Corpus(train), heldout, set(vocabulary.words), direction == "backward"
        )
        for direction in DIRECTIONS
    }
    rows = []
    for name, corpus in heldout.items():
        bilm = perplexity(model, vocabulary, corpus)
        rows.append(row(f"{name}, {ORDER}-gram", corpus, [ngram[d][name] for d in DIRECTIONS]))
        rows.append(row(f"{name}, biLM", corpus, [bilm[d] for d in DIRECTIONS]))
    print(report.table(["", "predictions a direction", *DIRECTIONS, "mean"], rows))


if __name__ == "__main__":
    main()
