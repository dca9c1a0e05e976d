"""Throughput of what prepares the batches of training, by itself.

    KERAS_BACKEND=jax python benchmarks/pipeline.py TEXT VOCABULARY STEPS

The batches of training.py, the same for models of any size: 128 rows of 20 tokens, 8,192 samples.
Prints one line of JSON.
"""

import json
import sys
import time
from itertools import islice

from keras_elmo.training.corpus import Corpus
from keras_elmo.training.recipe import Recipe
from keras_elmo.training.training_batches import TrainingBatches
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo.training.windows import Windows

WARM_UP = 10  # steps, of which the first read the text and fill the queue


def main():
    """Measure and print."""
    text, vocabulary, steps = sys.argv[1:]
    recipe, vocabulary, steps = Recipe(), Vocabulary.read(vocabulary), int(steps)
    windows = Windows(
        Corpus(text), vocabulary, recipe.batch_size, recipe.unroll, seed=recipe.seed, repeat=True
    )
    batches = TrainingBatches(windows, len(vocabulary), recipe.num_samples, recipe.seed)
    times = [time.perf_counter() for _ in islice(batches, WARM_UP + steps)][WARM_UP - 1 :]
    batches.close()
    tokens = recipe.batch_size * recipe.unroll * steps
    print(json.dumps({"tokens_per_second": tokens / (times[-1] - times[0])}))


if __name__ == "__main__":
    main()
