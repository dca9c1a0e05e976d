"""Small random models in the published layout (options.json + weights.hdf5), and their inputs."""

import json

import h5py
import numpy as np

from tests import reference

# A row of no token, one of one token, the rest of mixed lengths.
LENGTHS = (5, 0, 1, 7, 3)

# What each variant changes in `make_options`, and in `make_arrays` under "arrays".
VARIANTS = {
    "plain": {},
    "tanh": {"activation": "tanh", "num_highways": 1, "num_chars": 261},
    "no_highway": {"num_highways": 0},
    "one_layer": {"num_layers": 1},
    "three_layers": {"num_layers": 3, "num_highways": 1},
    "no_clip": {"cell_clip": None, "projection_clip": None},
    "clips_bite": {"cell_clip": 0.3, "projection_clip": 0.15, "activation": "tanh"},
    "cell_clip_bites": {"cell_clip": 0.3, "projection_clip": None},
    "projection_clip_bites": {"cell_clip": None, "projection_clip": 0.15},
    "no_skip": {"skip_connections": False, "num_layers": 3},
    "no_projection": {
        "filters": [[1, 2], [2, 6]],
        "units": 8,
        "arrays": {"cnn_projection": False, "lstm_projection": False},
    },
    "square_projection": {"units": 8},
    "short_words": {"max_characters": 16},
    "262_rows": {"arrays": {"rows": 262}},
}


def make_options(
    filters=((1, 4), (2, 4), (3, 6), (5, 6)),
    activation="relu",
    num_highways=2,
    char_dim=4,
    num_chars=262,
    max_characters=50,
    num_layers=2,
    units=12,
    projection_dim=8,
    cell_clip=3.0,
    projection_clip=3.0,
    skip_connections=True,
):
    """The dict of an options.json."""
    return {
        "lstm": {
            "use_skip_connections": skip_connections,
            "projection_dim": projection_dim,
            "cell_clip": cell_clip,
            "proj_clip": projection_clip,
            "dim": units,
            "n_layers": num_layers,
        },
        "char_cnn": {
            "activation": activation,
            "filters": [list(pair) for pair in filters],
            "n_highway": num_highways,
            "embedding": {"dim": char_dim},
            "n_characters": num_chars,
            "max_characters_per_token": max_characters,
        },
    }


def make_arrays(options, seed=0, rows=261, cnn_projection=True, lstm_projection=True):
    """Random float32 weights by their published names; no bias is zero, no value symmetric.

    Without a projection the sum of the filters, or the units, must be the projection size.
    """
    rng = np.random.default_rng(seed)
    lstm, cnn = options["lstm"], options["char_cnn"]
    size, units, char_dim = lstm["projection_dim"], lstm["dim"], cnn["embedding"]["dim"]

    def normal(*shape, scale=0.5, mean=0.0):
        return rng.normal(mean, scale, shape).astype(np.float32)

    arrays = {"char_embed": normal(rows, char_dim, scale=1.0)}
    if rows == 262:
        arrays["char_embed"][0] = 0.0
    for n, (width, count) in enumerate(cnn["filters"]):
        arrays[f"CNN/W_cnn_{n}"] = normal(1, width, char_dim, count)
        arrays[f"CNN/b_cnn_{n}"] = normal(count)
    features = sum(count for _, count in cnn["filters"])
    for n in range(cnn["n_highway"]):
        for gate, mean in (("carry", -0.5), ("transform", 0.0)):
            arrays[f"CNN_high_{n}/W_{gate}"] = normal(features, features, scale=0.3)
            arrays[f"CNN_high_{n}/b_{gate}"] = normal(features, mean=mean)
    if cnn_projection:
        arrays["CNN_proj/W_proj"] = normal(features, size, scale=0.3)
        arrays["CNN_proj/b_proj"] = normal(size)
    for direction in range(2):
        for layer in range(lstm["n_layers"]):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            arrays[f"{cell}/W_0"] = normal(2 * size, 4 * units)
            arrays[f"{cell}/B"] = normal(4 * units)
            if lstm_projection:
                arrays[f"{cell}/W_P_0"] = normal(units, size)
    return arrays


def make_model(variant="plain", seed=0):
    """A name in VARIANTS -> (options, arrays)."""
    changes = dict(VARIANTS[variant])
    array_changes = changes.pop("arrays", {})
    options = make_options(**changes)
    return options, make_arrays(options, seed, **array_changes)


def write_model(folder, options, arrays):
    """Writes the pair into the folder -> (path of options.json, path of weights.hdf5)."""
    options_path, weights_path = folder / "options.json", folder / "weights.hdf5"
    options_path.write_text(json.dumps(options), encoding="utf-8")
    with h5py.File(weights_path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return options_path, weights_path


def make_sentences(lengths=LENGTHS, seed=0):
    """Lists of random words, from one letter to more than 48 bytes, some beyond ASCII."""
    rng = np.random.default_rng(seed)
    alphabet = list("abcdefghijklmnopqrstuvwxyzABC019.,'-éßжя中文😀")
    sizes = [1, 2, 3, 5, 8, 13, 60]
    return [
        ["".join(rng.choice(alphabet, rng.choice(sizes))) for _ in range(length)]
        for length in lengths
    ]


def make_char_ids(lengths=LENGTHS, seed=0, max_characters=50):
    """Character ids (B, T, K) int32 of `make_sentences`."""
    sentences = make_sentences(lengths, seed)
    return reference.batch_to_ids(sentences, max_characters).astype(np.int32)


def make_masks(lengths=LENGTHS, seed=0):
    """Masks (B, T) bool with the same number of tokens a row: right-padded, left-padded, holed."""
    rng = np.random.default_rng(seed)
    total = max(lengths) + 1
    right = np.arange(total) < np.array(lengths)[:, None]
    return {
        "right": right,
        "left": right[:, ::-1].copy(),
        "holed": np.array([rng.permutation(row) for row in right]),
    }


def make_vectors(mask, size=8, seed=0, padding=np.nan):
    """Token vectors (B, T, size) float32, with `padding` where the mask has no token."""
    vectors = np.random.default_rng(seed).normal(size=(*mask.shape, size)).astype(np.float32)
    return np.where(mask[..., None], vectors, np.float32(padding))


def compact(values, mask, length):
    """Values (B, T, ...) -> (B, length, ...): the unmasked ones moved to the left, then zeros."""
    moved = np.zeros((len(values), length, *values.shape[2:]), values.dtype)
    for row, (value, real) in enumerate(zip(values, mask, strict=True)):
        moved[row, : real.sum()] = value[real]
    return moved


def mean_cosines(one, other):
    """The mean cosine of the vectors (..., words, size) of two arrays, (...)."""
    norms = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return ((one * other).sum(axis=-1) / norms).mean(axis=-1)
