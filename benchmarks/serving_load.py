"""Requests of mixed length from several threads to one SavedModel: PATH REQUESTS CALLERS."""

import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import exported
import numpy as np
from serving_latency import WORDS

LONGEST = 40


def main(path, requests, callers):
    """Prints requests and tokens a second, and megabytes after each tenth, as JSON."""
    import tensorflow as tf

    loaded = tf.saved_model.load(path)
    default = loaded.signatures["default"]
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(0, LONGEST))) for _ in range(requests)]

    def call(text):
        length = len(text.split())
        vectors = default(tf.constant([text]))["elmo"].numpy()
        if vectors.shape[1] != length or not np.isfinite(vectors).all():
            raise ValueError(f"wrong answer to {text!r}")
        return length

    call(" ".join(WORDS))
    tenth = requests // 10
    tokens, memory, start = 0, [], time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        for first in range(0, requests, tenth):
            tokens += sum(pool.map(call, texts[first : first + tenth]))
            memory.append(exported.memory("VmRSS"))
    seconds = time.perf_counter() - start
    rates = {"requests_per_second": requests / seconds, "tokens_per_second": tokens / seconds}
    print(json.dumps({**rates, "memory": memory}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
