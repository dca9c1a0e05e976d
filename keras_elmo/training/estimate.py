"""What a training run will need, told before its first step."""

import time

import numpy as np
from keras import ops

from keras_elmo import backend

SECONDS = 0.2  # for which the speed of the machine is measured
WORD_POSITIONS = 16  # of most words, see `windows.WIDTHS`
DISTINCT = 0.5  # share of a batch's words that are different, about
SHARE_OF_PEAK = 0.4  # of the speed of large products that a step reaches, about
# What a time step of a layer takes beside its products, forward and back: most of the time of a
# tiny model. Measured on two cores under JAX and PyTorch, taken as JAX's under TensorFlow.
TIME_STEP_SECONDS = {"torch": 2e-3, "jax": 4e-4, "tensorflow": 4e-4}


def estimate(model, recipe, steps):
    """Estimates memory and time from the sizes of a model and the speed of matrix products here.

    Args:
        model: `LanguageModel`.
        recipe: `Recipe`.
        steps: int, steps of the run.

    Returns:
        Bytes of memory, and seconds, both rough.
    """
    tokens = recipe.batch_size * recipe.unroll
    samples = min(recipe.num_samples, model.vocabulary_size)
    bilm = model.bilm
    lstm = 2 * bilm.num_layers * bilm.units * 9 * bilm.output_dim  # both kernels, the projection
    filters = getattr(model.embedding, "filters", [])
    windows = WORD_POSITIONS * sum(width * count for width, count in filters)
    characters = DISTINCT * 2 * windows * getattr(model.embedding, "char_embedding_dim", 0)
    products = tokens * (lstm + characters + 2 * samples * bilm.output_dim)
    seconds = 6 * products / (SHARE_OF_PEAK * _operations_per_second())
    time_steps = 2 * bilm.num_layers * recipe.unroll * recipe.accumulation
    seconds += time_steps * TIME_STEP_SECONDS.get(backend.BACKEND, 0)

    slots = 3 if recipe.optimizer == "adamw" else 2  # with the weights themselves
    weights = model.count_params() * slots
    weights += model.embedding.count_params() + model.bilm.count_params()  # the gradient
    kept = 2 * bilm.num_layers * (10 * bilm.units + 4 * bilm.output_dim)  # a token, for it
    kept += 2 * 3 * samples + DISTINCT * 2 * WORD_POSITIONS * sum(count for _, count in filters)
    return 4 * (weights + tokens / recipe.accumulation * kept), steps * seconds


def _operations_per_second(size=1024):
    """Floating-point operations a second in products of square matrices."""
    x = ops.convert_to_tensor(np.ones((size, size), "float32"))
    ops.convert_to_numpy(ops.matmul(x, x))
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        ops.convert_to_numpy(ops.matmul(x, x))
        count += 1
    return 2 * size**3 * count / (time.perf_counter() - start)
