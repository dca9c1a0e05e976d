"""Arithmetic rate of the LSTM part, beside the matrix products that bound it.

    KERAS_BACKEND=jax python benchmarks/arithmetic.py SIZE

SIZE: one of `random_model.SIZES`. Prints one line of JSON with float32 rates in GFLOP/s: a
2048 x 2048 product, the product that a step of the loop makes, and `BiLM` (the products only; its
sigmoids and tanhs count as nothing).
"""

import json
import statistics
import sys
import time

import keras
from keras import ops
from random_model import SIZES

from keras_elmo import BiLM
from keras_elmo import backend

BATCH, TIME = 128, 32
CHAIN = 8
RUNS = 7


def rate(function, layer, inputs, flops):
    """GFLOP/s of the compiled function, the median of several runs."""
    compiled = backend.jit(function, layer)
    seconds = []
    for _ in range(1 + RUNS):
        start = time.perf_counter()
        ops.convert_to_numpy(compiled(*inputs))
        seconds.append(time.perf_counter() - start)
    return flops / statistics.median(seconds[1:]) / 1e9


def product_rate(rows, inner, columns):
    """GFLOP/s of a chain of equal products, so that the call itself does not count."""

    def chain(a, b):
        for _ in range(CHAIN):
            product = ops.reshape(ops.matmul(a, b), (rows, columns // inner, inner))
            a = ops.sum(product, axis=1)
        return a

    a = keras.random.normal((rows, inner), seed=0)
    b = keras.random.normal((inner, columns), seed=1) / columns**0.5
    return rate(chain, keras.layers.Identity(), [a, b], CHAIN * 2 * rows * inner * columns)


def lstm_rate(lstm):
    """GFLOP/s of both directions and both layers."""
    units, projection, layers = lstm["dim"], lstm["projection_dim"], lstm["n_layers"]
    bilm = BiLM(layers, units, projection)
    x = keras.random.normal((BATCH, TIME, projection), seed=0)
    bilm.build(x.shape)
    flops = BATCH * TIME * 2 * layers * 2 * (8 * units * projection + units * projection)
    return rate(lambda x: bilm(x)[-1], bilm, [x], flops)


def main():
    """Measure and print."""
    lstm = SIZES[sys.argv[1]]["lstm"]
    step = BATCH, lstm["projection_dim"], 4 * lstm["dim"]
    result = {
        "matmul_gflops": product_rate(2048, 2048, 2048),
        "step_matmul_gflops": product_rate(*step),
        "lstm_gflops": lstm_rate(lstm),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
