"""Random biLMs of the published sizes, in the published format."""

import json
from pathlib import Path

import h5py
import numpy as np

FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]
MINI_FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 128]]


def options(filters, num_highways, units, projection_dim):
    """The content of an options.json."""
    return {
        "char_cnn": {
            "activation": "relu",
            "embedding": {"dim": 16},
            "filters": filters,
            "max_characters_per_token": 50,
            "n_characters": 262,
            "n_highway": num_highways,
        },
        "lstm": {
            "cell_clip": 3,
            "dim": units,
            "n_layers": 2,
            "proj_clip": 3,
            "projection_dim": projection_dim,
            "use_skip_connections": True,
        },
    }


SIZES = {
    "mini": options(MINI_FILTERS, 1, 512, 64),
    "small": options(FILTERS, 1, 1024, 128),
    "original": options(FILTERS, 2, 4096, 512),
}


def shapes(options):
    """Name and shape of every tensor of the weights file."""
    cnn, lstm = options["char_cnn"], options["lstm"]
    units, projection = lstm["dim"], lstm["projection_dim"]
    features = sum(number for _, number in cnn["filters"])
    yield "char_embed", (cnn["n_characters"] - 1, cnn["embedding"]["dim"])
    for i, (width, number) in enumerate(cnn["filters"]):
        yield f"CNN/W_cnn_{i}", (1, width, cnn["embedding"]["dim"], number)
        yield f"CNN/b_cnn_{i}", (number,)
    for i in range(cnn["n_highway"]):
        for gate in ["carry", "transform"]:
            yield f"CNN_high_{i}/W_{gate}", (features, features)
            yield f"CNN_high_{i}/b_{gate}", (features,)
    yield "CNN_proj/W_proj", (features, projection)
    yield "CNN_proj/b_proj", (projection,)
    for direction in range(2):
        for layer in range(lstm["n_layers"]):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            yield f"{cell}/W_0", (2 * projection, 4 * units)
            yield f"{cell}/B", (4 * units,)
            yield f"{cell}/W_P_0", (units, projection)


def write(folder, size, seed=0):
    """Writes options.json and weights.hdf5 of a size in `SIZES` into the folder."""
    rng = np.random.default_rng(seed)
    folder = Path(folder)
    (folder / "options.json").write_text(json.dumps(SIZES[size], indent=2))
    with h5py.File(folder / "weights.hdf5", "w") as file:
        for name, shape in shapes(SIZES[size]):
            fan_in = int(np.prod(shape[:-1])) or 1
            weights = rng.standard_normal(shape, dtype="float32") / np.sqrt(fan_in)
            file.create_dataset(name, data=weights if len(shape) > 1 else 0.1 * weights)
