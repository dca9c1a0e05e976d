"""What a model is, in a few lines."""

from keras_elmo.convert.conversion import contents
from keras_elmo.convert.detect import LOADERS
from keras_elmo.convert.folder import read_metadata
from keras_elmo.convert.options import read_json
from keras_elmo.convert.published_models import PUBLISHED
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
        elmo = LOADERS[kind](place)
        metadata = _metadata(kind, place)
        beside = contents(kind, place)
    embedding, bilm = elmo.embedding, elmo.bilm
    lines = {
        "format": kind,
        "parameters": f"{elmo.count_params():,}",
        "words": f"{type(embedding).__name__}, {embedding.count_params():,} parameters",
    }
    characters = getattr(embedding, "characters", embedding)
    if hasattr(characters, "filters"):
        filters = ", ".join(f"{count} of width {width}" for width, count in characters.filters)
        lines["filters"] = filters
        lines["highway layers"] = str(characters.num_highways)
    config = bilm.get_config()
    lines["LSTM"] = f"{bilm.num_layers} layers each way, {bilm.count_params():,} parameters"
    lines["units"] = f"{bilm.units:,}, projected to {bilm.output_dim:,}"
    lines["clips"] = f"cell {config['cell_clip']}, projection {config['projection_clip']}"
    lines["skip connections"] = "yes" if bilm.skip_connections else "no"
    lines["vectors"] = f"{bilm.num_layers + 1} layers of {2 * bilm.output_dim:,} numbers a token"
    for name in ("words", "characters"):
        entries = getattr(elmo.encoder, name, None)
        if entries is not None:
            lines[f"vocabulary of {name}"] = f"{len(entries):,}"
    lines.update(beside)
    if isinstance(source, str) and source in PUBLISHED:
        lines.update(text=PUBLISHED[source].text, license=PUBLISHED[source].license)
    for name, value in metadata.items():
        if value is not None and name not in ("parameter_count", "source"):
            lines[name.replace("_", " ")] = " ".join(str(value).split())
    return lines


def _metadata(kind, place):
    """What the model says of itself: in a folder of ours, or in one of the NLPL repository."""
    if kind == "keras_elmo":
        return read_metadata(place)
    if isinstance(place, list) or not (place / "meta.json").is_file():
        return {}
    found = read_json(place / "meta.json")
    return {name: value for name, value in found.items() if isinstance(value, (str, int, float))}
