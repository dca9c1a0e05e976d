"""Tokens per second from words to character ids, on one core.

    python benchmarks/text_to_ids.py TEXT...

TEXT: tokenized text, a sentence a line (plain or .gz). The cache of word types starts empty.
"""

import gzip
import statistics
import sys
import time
from pathlib import Path

from keras_elmo.text import characters

BATCH = 64  # sentences
RUNS = 7


def read(path):
    """Sentences, each a list of tokens."""
    opener = gzip.open if Path(path).suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [line.split() for line in lines]


def seconds(sentences):
    """Time for all of them in batches, from an empty cache."""
    characters._row.cache_clear()
    start = time.perf_counter()
    for first in range(0, len(sentences), BATCH):
        characters.batch_to_ids(sentences[first : first + BATCH])
    return time.perf_counter() - start


def main():
    """Measure and print."""
    sentences = [sentence for path in sys.argv[1:] for sentence in read(path)]
    tokens = sum(map(len, sentences))
    types = len({word for sentence in sentences for word in sentence})
    median = statistics.median(seconds(sentences) for _ in range(RUNS))
    print(f"{tokens:,} tokens, {types:,} word types, batches of {BATCH} sentences")
    print(f"{tokens / median:,.0f} tokens/s (median of {RUNS} runs)")


if __name__ == "__main__":
    main()
