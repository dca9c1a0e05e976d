"""TF-Hub's elmo modules, read without running their graph."""

from itertools import count

from keras_elmo.convert import published
from keras_elmo.convert.options import Options
from keras_elmo.convert.tensors import check_tensor
from keras_elmo.convert.tf_checkpoint import published_tensors
from keras_elmo.convert.tf_checkpoint import read_variables
from keras_elmo.errors import ElmoError
from keras_elmo.models.elmo import output_names

GRAPH = "saved_model.pb"
VARIABLES = "variables/variables"


def load(folder, **arguments):
    """Loads an elmo module, version 1, 2 or 3, with its mix.

    Sizes are read off the tensors. What the tensors do not tell is that of the published module:
    relu, clips of 3 and skip connections.

    Args:
        folder: path with saved_model.pb and variables/.
        **arguments: `stateful`, `dtype`, and those of `Elmo`.

    Returns:
        An `Elmo`, all of whose mixes are the module's.

    Raises:
        ElmoError: if a file is missing or broken, or TensorFlow is not installed.

    Example:
        >>> elmo = tf_hub.load(Path("elmo_3"))

    Reference:
        The module google/elmo/3 of TF-Hub.
    """
    prefix = folder / VARIABLES
    if not (folder / f"{VARIABLES}.index").is_file():
        raise ElmoError(f"{prefix}.index: no such file; the module is not complete")
    variables = read_variables(prefix)
    tensors = published_tensors(variables)
    options = Options(folder, _options(folder, tensors))
    elmo = published.build(prefix, options, tensors, **arguments)
    for name in output_names(elmo.num_representations):
        _fill_mix(prefix, variables, getattr(elmo, name.replace("elmo", "scalar_mix")))
    return elmo


def _options(folder, tensors):
    def shape(name, rank):
        found = tensors[name].shape if name in tensors else ()
        if len(found) != rank:
            raise ElmoError(f"{folder}: has no tensor {name}; this is not an elmo module")
        return found

    filters = []
    for k in count():
        if f"{published.IMAGES}_{k}" not in tensors:
            break
        _, width, _, number = shape(f"{published.IMAGES}_{k}", 4)
        filters.append([width, number])
    layers = _how_many(f"{published.cell_name(0, '{}')}/W_0", tensors)
    units, projection_dim = shape(f"{published.cell_name(0, 0)}/W_P_0", 2)
    return {
        "lstm": {
            "dim": units,
            "projection_dim": projection_dim,
            "n_layers": layers,
            "cell_clip": 3,
            "proj_clip": 3,
            "use_skip_connections": True,
        },
        "char_cnn": {
            "activation": "relu",
            "filters": filters,
            "n_highway": _how_many("CNN_high_{}/W_carry", tensors),
            "embedding": {"dim": shape("char_embed", 2)[1]},
            "n_characters": 262,
            "max_characters_per_token": 50,
        },
    }


def _how_many(name, tensors):
    return next(k for k in count() if name.format(k) not in tensors)


def _fill_mix(prefix, variables, mix):
    for end, variable in (("weights", mix.weights_logits), ("scaling", mix.gamma)):
        found = [name for name in variables if f"/{name}".endswith(f"/aggregation/{end}")]
        if len(found) != 1:
            raise ElmoError(f"{prefix}: tensor aggregation/{end} is missing; no elmo module")
        array = variables[found[0]].reshape(variable.shape)
        variable.assign(check_tensor(prefix, found[0], array, tuple(variable.shape)))
