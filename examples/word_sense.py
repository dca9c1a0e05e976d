"""Senses of words by nearest vectors, for each layer of ELMo.

    python examples/word_sense.py --train train.tsv --test test.tsv

The vector of the word to be told is compared by cosine with those of the training data, in two
ways: the sense whose mean vector is nearest, as in the paper, and the vote of the five nearest
uses, which knows how frequent a sense is. A word that was never seen gets no answer. Columns:
lemma, pos, sense, target_index (of the word, from 0), tokens (with spaces between). Such files can
be made from SemCor and MASC with the senses of github.com/google-research-datasets.

Reference: Peters et al. (2018), section 5.3.
"""

import json
from collections import Counter
from collections import defaultdict

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from runner import RESULTS
from runner import Command
from runner import tiny_elmo
from runner import unused

import keras_elmo
from keras_elmo.files import replaced
from keras_elmo.tasks import plots
from keras_elmo.tasks import projector
from keras_elmo.tasks import read_table

NEAREST = 5  # uses that vote
COLUMNS = ["lemma", "pos", "target_index", "tokens"]
TINY = [
    ("bank", "He sat on the river bank .", "river"),
    ("bank", "The bank of the river is steep .", "river"),
    ("bank", "The bank lends money .", "money"),
    ("bank", "She works for a bank .", "money"),
]


def read(path, strict=True):
    """A list of (lemma with its part of speech, tokens, place of the word), and the senses."""
    rows, senses = read_table(path, COLUMNS, "sense", strict=strict, check=place_fault)
    uses = [(f"{lemma}.{pos}", text.split(), int(index)) for lemma, pos, index, text in rows]
    return uses, senses


def place_fault(row):
    """What is wrong with the place of the word, or `None`."""
    _, _, index, text, _ = row
    count = len(text.split())
    if index.isdecimal() and int(index) < count:
        return None
    return f"target_index {index!r} is no place among {count} tokens"


def tiny():
    """A few uses of one word."""
    uses = [(word, text.split(), text.split().index(word)) for word, text, _ in TINY]
    return uses, [sense for _, _, sense in TINY]


def vectors_of(elmo, uses):
    """The layers of each use, and their mean: (L + 2, uses, 2P)."""
    embedder = keras_elmo.Embedder(elmo, layers="all")
    stream = embedder.stream(tokens for _, tokens, _ in uses)
    # A copy, since a view would keep the vectors of the whole sentence.
    layers = [found[:, use[2]].copy() for use, found in zip(uses, stream, strict=True)]
    stacked = np.stack(layers, axis=1)
    return np.concatenate([stacked, stacked.mean(axis=0, keepdims=True)])


def unit(vectors):
    """Vectors of length 1."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def nearest_mean(train, senses, uses, vectors, train_vectors):
    """The sense whose mean is nearest to each use, among those of its word."""
    members = defaultdict(list)
    for row, (use, sense) in enumerate(zip(train, senses, strict=True)):
        members[use[0], sense].append(row)
    means = defaultdict(dict)
    for (lemma, sense), rows in members.items():
        means[lemma][sense] = unit(train_vectors[rows].mean(axis=0))
    answers = []
    for use, vector in zip(uses, vectors, strict=True):
        near = {sense: float(mean @ vector) for sense, mean in means[use[0]].items()}
        answers.append(max(near, key=near.get, default=None))
    return answers


def nearest_uses(train, senses, uses, vectors, train_vectors):
    """The sense that the nearest uses of each word vote for, each by its cosine."""
    members = defaultdict(list)
    for row, use in enumerate(train):
        members[use[0]].append(row)
    train_vectors = unit(train_vectors)
    answers = []
    for use, vector in zip(uses, unit(vectors), strict=True):
        cosines = train_vectors[members[use[0]]] @ vector
        votes = Counter()
        for k in np.argsort(-cosines, kind="stable")[:NEAREST]:
            votes[senses[members[use[0]][k]]] += float(cosines[k])
        answers.append(max(votes, key=votes.get, default=None))
    return answers


def most_frequent(train, senses, uses):
    """The most frequent sense of each word."""
    counts = defaultdict(Counter)
    for use, sense in zip(train, senses, strict=True):
        counts[use[0]][sense] += 1
    return [max(counts[use[0]], key=counts[use[0]].get, default=None) for use in uses]


def accuracy(truths, answers):
    """Share of right answers, in percent."""
    return 100.0 * sum(a == b for a, b in zip(truths, answers, strict=True)) / len(truths)


def picture(uses, senses, vectors, output):
    """The uses of the most frequent word in the plane, and for TensorBoard's projector."""
    word = Counter(use[0] for use in uses).most_common(1)[0][0]
    rows = [k for k, use in enumerate(uses) if use[0] == word]
    labels = [" ".join(uses[k][1][max(0, uses[k][2] - 2) :][:5]) for k in rows]
    groups = [senses[k] for k in rows]
    plots.neighbors(vectors[rows], labels, groups, output / "neighbors.png", word)
    texts = [" ".join(uses[k][1]) for k in rows]
    named = list(zip(groups, texts, strict=True))
    projector.write(output / "projector", vectors[rows], named, ("sense", "sentence"))


@click.command(cls=Command, help=__doc__)
@click.option("--train", "train_path", type=click.Path())
@click.option("--test", "test_path", type=click.Path())
@click.option("--output", default="results", show_default=True)
@click.option("--model", help="An ELMo; the default is the one of the package.")
@click.option("--lenient", is_flag=True, help="Leave out lines that are wrong.")
@click.option("--tiny", "is_tiny", is_flag=True, help="Tiny data and model, in a minute.")
def main(train_path, test_path, output, model, lenient, is_tiny):
    """Runs the example."""
    if not is_tiny and (train_path is None or test_path is None):
        raise click.UsageError("give --train and --test files, or --tiny")
    output = unused(output)
    train, senses = tiny() if is_tiny else read(train_path, not lenient)
    uses, truths = tiny() if is_tiny else read(test_path, not lenient)
    elmo = tiny_elmo() if is_tiny else keras_elmo.load(model)
    train_vectors, vectors = vectors_of(elmo, train), vectors_of(elmo, uses)
    names = [*(f"layer {k}" for k in range(len(vectors) - 1)), "mean of the layers"]
    scores = {"most frequent sense": accuracy(truths, most_frequent(train, senses, uses))}
    for name, ours, theirs in zip(names, vectors, train_vectors, strict=True):
        for find in (nearest_mean, nearest_uses):
            way = find.__name__.replace("_", " ")
            scores[f"{name}, {way}"] = accuracy(truths, find(train, senses, uses, ours, theirs))
    output.mkdir(parents=True, exist_ok=True)
    with replaced(output / RESULTS) as temporary:
        temporary.write_text(json.dumps(scores, indent=2) + "\n")
    plots.bars(scores, output / "scores.png", "accuracy")
    picture(uses, truths, vectors[-1], output)
    table = Table("vectors", "accuracy")
    for name, score in scores.items():
        table.add_row(name, f"{score:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
