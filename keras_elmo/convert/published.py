"""The names and shapes under which every published biLM stores its tensors."""

import keras
import numpy as np

from keras_elmo.convert.options import LONGEST_WORD
from keras_elmo.convert.tensors import named_tensor
from keras_elmo.errors import ElmoError
from keras_elmo.layers.bilm import DIRECTIONS
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.word_embedding import WordEmbedding
from keras_elmo.models.elmo import Elmo
from keras_elmo.text.character_encoder import CharacterEncoder
from keras_elmo.text.vocabulary_encoder import VocabularyEncoder

CHAR_ROWS = 261  # of the table in the files; row 0 of ours, "no token here", is not stored
IMAGES = "CNN/W_cnn"  # published as convolutions over images of height 1
TABLES = ("char_embed", "embedding")
WORD_MARKERS = ("<S>", "</S>")
UNKNOWN_WORDS = ("<UNK>", "@@UNKNOWN@@")  # of bilm-tf; of AllenNLP


def build(path, options, tensors, vocabulary=None, stateful=False, dtype=None, **elmo_arguments):
    """Makes a model of published tensors.

    Args:
        path: where the tensors come from, for messages.
        options: `Options`, with the sections `lstm` and, for a model that reads characters,
            `char_cnn`.
        tensors: dict from published name to array.
        vocabulary: list of str by id, which a model that reads words needs.
        stateful: bool, whether the biLM carries its state from call to call; needs `batch_size`.
        dtype: dtype policy of the layers.
        **elmo_arguments: for `Elmo`.

    Returns:
        An `Elmo`.

    Raises:
        ElmoError: if an option is missing, or a tensor is missing, has another shape than the
            options say, is not finite or all zeros.

    Example:
        >>> elmo = published.build("weights.hdf5", options, tensors)
    """
    options.largest = max((n for array in tensors.values() for n in array.shape), default=0)
    layout = _layout(tensors)
    embedding, encoder = _embedding(path, options, tensors, vocabulary, dtype)
    bilm = _bilm(path, options, tensors, layout, stateful, dtype)
    elmo = Elmo(embedding, bilm, encoder=encoder, **elmo_arguments)
    stacked = dict(places(embedding, bilm, layout["single_cell"]))
    for name, variables in stacked.items():
        _fill(variables, _check(path, tensors, name, variables))
    _check_rest(path, options, tensors.keys() - stacked.keys())
    elmo.source = {"format": "published", "options": options.contents, "layout": layout}
    return elmo


def tensors_of(elmo):
    """The published tensors of a model, and its options.

    Args:
        elmo: an `Elmo` that reads the published characters, or words alone.

    Returns:
        A dict from name to array, and the dict of an options.json. A model that was loaded from
        published files has the same bits and options again.

    Raises:
        ElmoError: if the format has no place for the embedding of the model.

    Example:
        >>> tensors, options = published.tensors_of(keras_elmo.load())
    """
    _check_kind(elmo)
    source = getattr(elmo, "source", None) or {}
    published = source.get("format") == "published"
    layout = source["layout"] if published else {"char_rows": CHAR_ROWS, "single_cell": False}
    tensors = {}
    for name, variables in places(elmo.embedding, elmo.bilm, layout["single_cell"]):
        array = np.concatenate([keras.ops.convert_to_numpy(variable) for variable in variables])
        if name in TABLES:
            array = array[-layout["char_rows"] :] if name == "char_embed" else array[1:]
        tensors[name] = array[None] if name.startswith(IMAGES) else array
    return tensors, source["options"] if published else make_options(elmo)


def make_options(elmo):
    """The options of a model, as in a published options.json."""
    embedding, bilm = elmo.embedding, elmo.bilm
    config = bilm.get_config()
    options = {
        "lstm": {
            "use_skip_connections": bilm.skip_connections,
            "projection_dim": bilm.output_dim,
            "cell_clip": config["cell_clip"],
            "proj_clip": config["projection_clip"],
            "dim": bilm.units,
            "n_layers": bilm.num_layers,
        },
    }
    if isinstance(embedding, WordEmbedding):
        return {**options, "n_tokens_vocab": embedding.num_words - 1}
    options["char_cnn"] = {
        "activation": embedding.get_config()["activation"],
        "filters": embedding.filters,
        "n_highway": embedding.num_highways,
        "embedding": {"dim": embedding.char_embedding_dim},
        "n_characters": embedding.num_chars,
        "max_characters_per_token": embedding.max_word_length,
    }
    return options


def places(embedding, bilm, single_cell=False):
    """Pairs of a published name and the variables that are stacked under it."""
    if isinstance(embedding, WordEmbedding):
        yield "embedding", [embedding.table]
    else:
        yield from _char_places(embedding)
    for number, direction in enumerate(DIRECTIONS):
        for k in range(bilm.num_layers):
            lstm = getattr(bilm, f"{direction}_{k}")
            cell = cell_name(number, None if single_cell else k)
            yield f"{cell}/W_0", [lstm.kernel, lstm.recurrent_kernel]
            yield f"{cell}/B", [lstm.bias]
            if lstm.projection_kernel is not None:
                yield f"{cell}/W_P_0", [lstm.projection_kernel]


def _char_places(embedding):
    yield "char_embed", [embedding.char_embeddings]
    for k in range(len(embedding.filters)):
        yield f"{IMAGES}_{k}", [getattr(embedding, f"conv_kernel_{k}")]
        yield f"CNN/b_cnn_{k}", [getattr(embedding, f"conv_bias_{k}")]
    for k in range(embedding.num_highways):
        highway = getattr(embedding, f"highway_{k}")
        for part in ("carry", "transform"):
            dense = getattr(highway, part)
            yield f"CNN_high_{k}/W_{part}", [dense.kernel]
            yield f"CNN_high_{k}/b_{part}", [dense.bias]
    if embedding.projection_dim is not None:
        yield "CNN_proj/W_proj", [embedding.projection.kernel]
        yield "CNN_proj/b_proj", [embedding.projection.bias]


def cell_name(direction, layer):
    """The group of one LSTM; a model with one layer may lack the level of several cells."""
    several = "" if layer is None else f"MultiRNNCell/Cell{layer}/"
    return f"RNN_{direction}/RNN/{several}LSTMCell"


def _layout(tensors):
    rows = tensors["char_embed"].shape[:1] if "char_embed" in tensors else ()
    return {
        "char_rows": rows[0] if rows else CHAR_ROWS,
        "single_cell": f"{cell_name(0, None)}/W_0" in tensors,
    }


def _embedding(path, options, tensors, vocabulary, dtype):
    projection_dim = options.size("lstm", "projection_dim")
    if "char_cnn" not in options.contents:
        return _word_embedding(path, tensors, vocabulary, projection_dim, dtype)
    filters = options.filters("char_cnn", "filters")
    char_dim = options.size("char_cnn", "embedding", "dim")
    highways = options.size("char_cnn", "n_highway", least=0, default=0)
    features = sum(count for _, count in filters)
    # Wrong options may ask for layers that no memory holds, so these come before the layers.
    for k, (width, count) in enumerate(filters):
        named_tensor(path, tensors, f"{IMAGES}_{k}", (1, width, char_dim, count))
    if highways:
        named_tensor(path, tensors, f"CNN_high_{highways - 1}/W_carry", (features, features))
    # Without a tensor for it, bilm-tf leaves out a projection that would not change the size.
    projected = "CNN_proj/W_proj" in tensors or features != projection_dim
    embedding = CharCNNEmbedding(
        filters=filters,
        projection_dim=projection_dim if projected else None,
        num_highways=highways,
        char_embedding_dim=char_dim,
        activation=options.get("char_cnn", "activation", kinds=(str,), default="relu"),
        max_word_length=options.size(
            "char_cnn", "max_characters_per_token", least=3, default=50, most=LONGEST_WORD
        ),
        dtype=dtype,
    )
    return embedding, CharacterEncoder(embedding.max_word_length)


def _word_embedding(path, tensors, vocabulary, projection_dim, dtype):
    if vocabulary is None:
        raise ElmoError(
            f"{path}: a model that reads words, not characters; give its vocabulary too: "
            "load((options, weights, vocabulary))"
        )
    if "embedding" not in tensors:
        raise ElmoError(f"{path}: tensor embedding is missing; the options have no char_cnn")
    try:
        unknown = next((w for w in UNKNOWN_WORDS if w in vocabulary), UNKNOWN_WORDS[0])
        encoder = VocabularyEncoder(words=vocabulary, markers=(*WORD_MARKERS, unknown))
    except ElmoError as error:
        raise ElmoError(f"{path}: {error}") from None
    rows = len(vocabulary) + 1
    shape = tensors["embedding"].shape
    if shape[:1] not in ((rows,), (rows - 1,)):
        raise ElmoError(
            f"{path}: tensor embedding has the shape {shape} for a vocabulary of "
            f"{len(vocabulary)} words; they must belong to the same model"
        )
    return WordEmbedding(rows, projection_dim, dtype=dtype), encoder


def _bilm(path, options, tensors, layout, stateful, dtype):
    projection_dim = options.size("lstm", "projection_dim")
    units = options.size("lstm", "dim")
    num_layers = options.size("lstm", "n_layers")
    single = layout["single_cell"] and num_layers == 1
    last = cell_name(1, None if single else num_layers - 1)
    named_tensor(path, tensors, f"{last}/W_0", (2 * projection_dim, 4 * units))
    projected = f"{last}/W_P_0" in tensors or units != projection_dim
    return BiLM(
        num_layers=num_layers,
        units=units,
        projection_dim=projection_dim if projected else None,
        cell_clip=options.clip("lstm", "cell_clip"),
        projection_clip=options.clip("lstm", "proj_clip"),
        skip_connections=options.get("lstm", "use_skip_connections", kinds=(bool,), default=False),
        stateful=stateful,
        dtype=dtype,
    )


def _check(path, tensors, name, variables):
    rows = sum(variable.shape[0] for variable in variables)
    shape = (rows, *variables[0].shape[1:])
    if name.startswith(IMAGES):
        return named_tensor(path, tensors, name, (1, *shape))[0]
    if name in TABLES and name in tensors and tensors[name].shape[:1] == (rows - 1,):
        array = named_tensor(path, tensors, name, (rows - 1, *shape[1:]))
        return np.concatenate([np.zeros_like(array[:1]), array])
    return named_tensor(path, tensors, name, shape)


def _check_rest(path, options, names):
    parts = ("RNN_", "CNN") if "char_cnn" in options.contents else ("RNN_",)
    for name in sorted(names):
        if name.startswith(parts):
            raise ElmoError(
                f"{path}: tensor {name} has no place in {options.path}; options and weights must "
                "belong to the same model"
            )


def _fill(variables, array):
    ends = np.cumsum([variable.shape[0] for variable in variables])[:-1]
    for variable, part in zip(variables, np.split(array, ends), strict=True):
        variable.assign(part)


def _check_kind(elmo):
    bytes_only = isinstance(elmo.embedding, CharCNNEmbedding) and isinstance(
        elmo.encoder, CharacterEncoder
    )
    words_only = isinstance(elmo.embedding, WordEmbedding) and elmo.embedding.characters is None
    if not bytes_only and not (words_only and elmo.encoder.markers[:2] == list(WORD_MARKERS)):
        raise ElmoError(
            "options.json and weights.hdf5 hold models that read the published characters or "
            "words; this one has another vocabulary; save it as a folder instead"
        )
