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

BATCH, TIME = 128, 32
CHAIN = 8
RUNS = 7


def rate(model, inputs, flops):
    """GFLOP/s of the compiled model, the median of several runs."""
    model.compile()
    model.predict_on_batch(inputs)
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        model.predict_on_batch(inputs)
        seconds.append(time.perf_counter() - start)
    return flops / statistics.median(seconds) / 1e9


def product_rate(rows, inner, columns):
    """GFLOP/s of a chain of equal products, so that the call itself does not count."""
    a = keras.Input(batch_shape=(rows, inner))
    b = keras.Input(batch_shape=(inner, columns))
    x = a
    for _ in range(CHAIN):
        product = ops.reshape(ops.matmul(x, b), (rows, columns // inner, inner))
        x = ops.sum(product, axis=1)
    values = [keras.random.normal(t.shape, seed=0) / columns**0.5 for t in (a, b)]
    return rate(keras.Model([a, b], x), values, CHAIN * 2 * rows * inner * columns)


def lstm_rate(lstm):
    """GFLOP/s of both directions and both layers."""
    units, projection, layers = lstm["dim"], lstm["projection_dim"], lstm["n_layers"]
    bilm = BiLM(layers, units, projection)
    x = keras.Input(batch_shape=(BATCH, TIME, projection))
    flops = BATCH * TIME * 2 * layers * 2 * (8 * units * projection + units * projection)
    return rate(keras.Model(x, bilm(x)[-1]), keras.random.normal(x.shape, seed=0), flops)


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
