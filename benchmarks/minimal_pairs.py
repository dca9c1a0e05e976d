"""Accuracy of a language model on minimal pairs: how often the good sentence is the likelier one.

    KERAS_BACKEND=jax python benchmarks/minimal_pairs.py MODEL PAIRS [--every N]

MODEL: as for `keras-elmo score`. PAIRS: tab-separated text (.gz or not) with columns `term` (the
phenomenon), `good` and `bad`, as BLiMP has them. Prints a Markdown table: the share of pairs by the
log-probability of each direction, and by their sum.
"""

import csv
import gzip
from collections import defaultdict

import click
import numpy as np
import report

from keras_elmo.convert.language_model import load_language_model
from keras_elmo.text.tokenizers import get_tokenizer
from keras_elmo.training.scoring import SentenceScorer


def read(path, every):
    """Every n-th pair as `(phenomenon, good sentence, bad sentence)`, the sentences tokenized."""
    tokenize = get_tokenizer("treebank")
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(row["term"], tokenize(row["good"]), tokenize(row["bad"])) for row in rows[::every]]


def wins(scorer, pairs):
    """For each phenomenon an array (pairs, 3): is the good sentence likelier, by what."""
    scores = iter(scorer.score(sentence for _, *both in pairs for sentence in both))
    found = defaultdict(list)
    for (term, _, _), good, bad in zip(pairs, scores, scores, strict=True):
        gaps = good.forward.sum() - bad.forward.sum(), good.backward.sum() - bad.backward.sum()
        found[term].append([gap > 0 for gap in (*gaps, sum(gaps))])
    return {term: np.array(rows) for term, rows in found.items()}


@click.command()
@click.argument("model")
@click.argument("pairs")
@click.option("--every", default=1, show_default=True, help="Take every n-th pair.")
@click.option("--batch-size", default=64, show_default=True, help="Sentences a batch.")
def main(model, pairs, every, batch_size):
    """Measure and print."""
    scorer = SentenceScorer(*load_language_model(model), batch_size)
    found = wins(scorer, read(pairs, every))
    found["all"] = np.concatenate([*found.values()])
    rows = [
        [term.replace("_", " "), f"{len(right):,}", *(f"{x:.1%}" for x in right.mean(axis=0))]
        for term, right in found.items()
    ]
    print(report.table(["", "pairs", "forward", "backward", "both"], rows))


if __name__ == "__main__":
    main()
