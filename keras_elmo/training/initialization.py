"""The random weights that the original trainer starts from."""

import math

import numpy as np

from keras_elmo.layers.bilm import DIRECTIONS


def initialize(model, seed, softmax_only=False):
    """Sets all weights of a language model to the original trainer's random values.

    Characters U(-1, 1); convolutions U(-0.05, 0.05) for relu and N(0, 1/fan_in) for tanh; dense
    layers N(0, 1/fan_in), the carry gates with bias -2; LSTMs Glorot uniform over input and
    recurrent kernel together; softmax N(0, 1/P); other biases 0. They are drawn by NumPy, so a
    seed gives the same weights on every backend.

    Args:
        model: `LanguageModel`.
        seed: int.
        softmax_only: bool, whether the other weights stay as they are.
    """
    rng = np.random.default_rng([seed, 0])
    if not softmax_only:
        for variable in (*model.embedding.weights, *model.bilm.weights):
            variable.assign(np.zeros(variable.shape, "float32"))
        _initialize_embedding(model.embedding, rng)
        for direction in DIRECTIONS:
            for k in range(model.bilm.num_layers):
                _initialize_lstm(getattr(model.bilm, f"{direction}_{k}"), rng)
    model.softmax.bias.assign(np.zeros(model.softmax.bias.shape, "float32"))
    _normal(model.softmax.kernel, model.bilm.output_dim, rng)


def _initialize_embedding(embedding, rng):
    _uniform(embedding.char_embeddings, 1.0, rng)
    for k, (width, _) in enumerate(embedding.filters):
        kernel = getattr(embedding, f"conv_kernel_{k}")
        if embedding.activation.__name__ == "relu":
            _uniform(kernel, 0.05, rng)
        else:
            _normal(kernel, width * embedding.char_embedding_dim, rng)
    for k in range(embedding.num_highways):
        highway = getattr(embedding, f"highway_{k}")
        _normal(highway.carry.kernel, embedding.num_filters, rng)
        _normal(highway.transform.kernel, embedding.num_filters, rng)
        highway.carry.bias.assign(np.full(highway.carry.bias.shape, -2.0, "float32"))
    if embedding.projection_dim is not None:
        _normal(embedding.projection.kernel, embedding.num_filters, rng)


def _initialize_lstm(lstm, rng):
    fan_in = lstm.kernel.shape[0] + lstm.recurrent_kernel.shape[0]
    limit = math.sqrt(6 / (fan_in + lstm.kernel.shape[1]))
    _uniform(lstm.kernel, limit, rng)
    _uniform(lstm.recurrent_kernel, limit, rng)
    if lstm.projection_kernel is not None:
        _uniform(lstm.projection_kernel, math.sqrt(6 / sum(lstm.projection_kernel.shape)), rng)


def _uniform(variable, limit, rng):
    variable.assign(rng.uniform(-limit, limit, variable.shape).astype("float32"))


def _normal(variable, fan_in, rng):
    variable.assign(rng.normal(0, fan_in**-0.5, variable.shape).astype("float32"))
