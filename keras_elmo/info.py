"""What a model is, in a few lines."""

from keras_elmo.convert.folder import read_metadata
from keras_elmo.presets import load
from keras_elmo.presets import located


def describe(source=None):
    """Sizes, parameters and origin of a model.

    Args:
        source: what `load` takes.

    Returns:
        A dict from str to str, in the order to show it.

    Raises:
        ElmoError: if the source is not a model.

    Example:
        >>> describe()["parameters"]
        '3,456,789'
    """
    with located(source) as (kind, place):
        elmo = load(source)
        metadata = {} if isinstance(place, list) else read_metadata(place)
    embedding, bilm = elmo.embedding, elmo.bilm
    lines = {
        "format": kind,
        "parameters": f"{elmo.count_params():,}",
        "words": f"{type(embedding).__name__}, {embedding.count_params():,} parameters",
    }
    if hasattr(embedding, "filters"):
        filters = ", ".join(f"{count} of width {width}" for width, count in embedding.filters)
        lines["filters"] = filters
        lines["highway layers"] = str(embedding.num_highways)
    config = bilm.get_config()
    lines["LSTM"] = f"{bilm.num_layers} layers each way, {bilm.count_params():,} parameters"
    lines["units"] = f"{bilm.units:,}, projected to {bilm.output_dim:,}"
    lines["clips"] = f"cell {config['cell_clip']}, projection {config['projection_clip']}"
    lines["skip connections"] = "yes" if bilm.skip_connections else "no"
    lines["vectors"] = f"{bilm.num_layers + 1} layers of {2 * bilm.output_dim:,} numbers a token"
    for name, value in metadata.items():
        if value is not None and name not in ("parameter_count", "source"):
            lines[name.replace("_", " ")] = " ".join(str(value).split())
    return lines
