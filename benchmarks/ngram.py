"""Held-out perplexity of a biLM and of an interpolated modified Kneser-Ney 5-gram.

    IRSTLM=/usr/lib/irstlm python benchmarks/ngram.py MODEL --train TEXT --heldout TEXT

IRSTLM, a Debian package, estimates the n-gram and evaluates it; it is not pruned. The vocabulary is
that of MODEL, as for `keras-elmo evaluate`; words outside of it are `<UNK>` in all texts. A second
n-gram, of reversed text, stands for the backward direction. Both models predict every word and
every sentence's end. Prints a Markdown table.
"""

import math
import os
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
from keras_elmo.training.vocabulary import UNK

ORDER = 5


def run(program, *arguments):
    """What an IRSTLM program prints."""
    command = [Path(os.environ["IRSTLM"], "bin", program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"{program} failed: {done.stderr[-500:]}")
    return done.stdout


def write(target, corpus, words, backward):
    """Writes a corpus as IRSTLM reads it: marks at both ends, rare words as `<UNK>`."""
    with open(target, "w", encoding="utf-8") as file:
        for sentence in corpus:
            known = [word if word in words else UNK for word in sentence]
            print("<s>", *(known[::-1] if backward else known), "</s>", file=file)


def perplexities(train, heldout, words, backward):
    """The perplexity of a 5-gram on each of the held-out texts, by name."""
    with tempfile.TemporaryDirectory() as folder:
        text, model = Path(folder, "text"), Path(folder, "model")
        write(text, train, words, backward)
        # Unpruned; interpolation is what `tlm` does unless told otherwise.
        run("tlm", f"-tr={text}", f"-n={ORDER}", "-lm=msb", "-ps=no", f"-obin={model}")
        found = {}
        for name, corpus in heldout.items():
            write(text, corpus, words, backward)
            line = run("compile-lm", str(model), f"--eval={text}")
            count, value, unknown = re.search(r"Nw=(\d+) PP=(\S+) .* Noov=(\d+)", line).groups()
            # A word that the training text lacks would be given no probability at all.
            if int(unknown) or int(count) != corpus.num_predictions():
                raise click.ClickException(f"{name}: {line}")
            found[name] = float(value)
        return found


def row(name, corpus, values):
    """A row of the table, with the perplexity of the mean of the two losses."""
    values = [*values, math.sqrt(math.prod(values))]
    return [name, f"{corpus.num_predictions():,}", *(f"{value:.1f}" for value in values)]


@click.command()
@click.argument("model")
@click.option("--train", multiple=True, required=True, help="Repeatable.")
@click.option("--heldout", multiple=True, required=True, help="Repeatable: two rows of the table.")
def main(model, train, heldout):
    """Measure and print."""
    model, vocabulary = load_language_model(model)
    heldout = {Path(path).name.split(".")[0]: Corpus(path) for path in heldout}
    ngram = {
        direction: perplexities(
            Corpus(train), heldout, set(vocabulary.words), direction == "backward"
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
