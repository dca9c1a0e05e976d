"""Models of ELMoForManyLangs: words and characters of 44 languages."""

from pathlib import PurePosixPath

import numpy as np

from keras_elmo.convert.options import LONGEST_WORD
from keras_elmo.convert.options import Options
from keras_elmo.convert.options import read_json
from keras_elmo.convert.tensors import check_tensor
from keras_elmo.convert.tensors import named_tensor
from keras_elmo.convert.torch_file import read_tensors
from keras_elmo.errors import ElmoError
from keras_elmo.layers.bilm import DIRECTIONS
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.word_embedding import WordEmbedding
from keras_elmo.models.elmo import Elmo
from keras_elmo.text.vocabulary_encoder import VocabularyEncoder

EMBEDDER = "token_embedder.pkl"
ENCODER = "encoder.pkl"
MARKERS = ("<bos>", "<eos>", "<oov>")
SPACE = "\u3000"  # what the original makes of a line whose entry is white space

# The released archives lack their structure file: it lay in the package, the same under both names.
RELEASED = ("cnn_50_100_512_4096_sample.json", "cnn_0_100_512_4096_sample.json")
RELEASED_STRUCTURE = {
    "encoder": {
        "name": "elmo",
        "projection_dim": 512,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 4096,
        "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "n_highway": 2,
        "word_dim": 100,
        "char_dim": 50,
        "max_characters_per_token": 50,
    },
}


def load(folder, stateful=False, dtype=None, **elmo_arguments):
    """Loads a model of ELMoForManyLangs.

    torch is not needed, and nothing in the files is run.

    Args:
        folder: `Path`, or `zipfile.Path`, with config.json, token_embedder.pkl, encoder.pkl,
            char.dic and word.dic.
        stateful: bool, whether the biLM carries its state from call to call; needs `batch_size`.
        dtype: dtype policy of the layers.
        **elmo_arguments: for `Elmo`.

    Returns:
        An `Elmo` whose fresh mix is the mean of the layers, the original's default output.

    Raises:
        ElmoError: if a file is missing or broken, or the files do not fit each other.

    Example:
        >>> elmo = many_langs.load(Path("144"))
        >>> elmo.encoder.encode_batch([["Bonjour"]]).shape
        (1, 1, 51)

    Reference:
        Che et al. (2018), Towards better UD parsing: deep contextualized word embeddings,
        ensemble, and treebank concatenation.
    """
    structure = _structure(folder)
    tensors = {name: _read(folder / name) for name in (EMBEDDER, ENCODER)}
    arrays = [array for group in tensors.values() for array in group.values()]
    structure.largest = max((n for array in arrays for n in array.shape), default=0)
    encoder = _encoder(folder, structure)
    _check_sizes(folder, tensors, structure)
    embedding = _embedding(structure, encoder, dtype)
    bilm = _bilm(structure, stateful, dtype)
    elmo = Elmo(embedding, bilm, encoder=encoder, **elmo_arguments)
    _fill(folder / EMBEDDER, tensors[EMBEDDER], _embedding_places(embedding))
    _fill(folder / ENCODER, tensors[ENCODER], _bilm_places(bilm))
    elmo.source = {"format": "many_langs", "structure": structure.contents}
    return elmo


def _structure(folder):
    config = read_json(folder / "config.json")
    path = config.get("config_path")
    if not isinstance(path, str):
        raise ElmoError(f"{folder / 'config.json'}: has no config_path")
    posix = PurePosixPath(path)
    inside = not posix.is_absolute() and ".." not in posix.parts
    for place in ([path] if inside else []) + [posix.name]:
        if (folder / place).is_file():
            return Options(folder / place, read_json(folder / place))
    if posix.name in RELEASED:
        return Options(posix.name, RELEASED_STRUCTURE)
    raise ElmoError(f"{folder}: the structure file {posix.name!r} of config.json is missing")


def _encoder(folder, structure):
    words, characters = (
        _read_dictionary(folder / name) if structure.size("token_embedder", dim, least=0) else None
        for name, dim in (("word.dic", "word_dim"), ("char.dic", "char_dim"))
    )
    if words is None and characters is None:
        raise ElmoError(f"{structure.path}: word_dim and char_dim are both 0")
    limit = structure.size(
        "token_embedder",
        "max_characters_per_token",
        least=7,  # <bos> and <eos> with their marks
        most=LONGEST_WORD,
    )
    try:
        return VocabularyEncoder(words, characters, limit, MARKERS)
    except ElmoError as error:
        raise ElmoError(f"{folder}: {error}") from None


def _read_dictionary(path):
    """The entries by id. The lines end, and are stripped, in the way of Python's str."""
    try:
        lines = path.read_bytes().decode("utf-8").splitlines()
    except (FileNotFoundError, KeyError):
        raise ElmoError(f"{path}: no such file; the model is not complete") from None
    except UnicodeDecodeError as error:
        raise ElmoError(f"{path}: not UTF-8 text ({error})") from None
    ids = {}
    for number, line in enumerate(lines, 1):
        fields = line.strip().split("\t")
        entry, last = (SPACE, *fields)[-2:]
        if len(fields) > 2 or not last.isdecimal():
            raise ElmoError(f"{path}, line {number}: an entry, a tab and a number were expected")
        ids[entry] = int(last)
    entries = sorted(ids, key=ids.get)
    if [ids[entry] for entry in entries] != list(range(len(entries))):
        raise ElmoError(f"{path}: its ids are not the numbers from 0 to {len(entries) - 1}")
    return entries


def _check_sizes(folder, tensors, structure):
    """Refuses sizes that the tensors do not bear out, before layers are made of them."""
    layers = structure.size("encoder", "n_layers")
    shape = 4 * structure.size("encoder", "dim"), structure.size("encoder", "projection_dim")
    name = f"backward_layer_{layers - 1}.input_linearity.weight"
    named_tensor(folder / ENCODER, tensors[ENCODER], name, shape)
    sizes = "token_embedder"
    char_dim = structure.size(sizes, "char_dim", least=0)
    if char_dim == 0:
        return
    filters = structure.filters(sizes, "filters")
    features = sum(count for _, count in filters)
    wanted = {
        f"convolutions.{k}.weight": (count, char_dim, width)
        for k, (width, count) in enumerate(filters)
    }
    highways = structure.size(sizes, "n_highway", least=0)
    if highways:
        wanted[f"highways._layers.{highways - 1}.weight"] = (2 * features, features)
    for name, shape in wanted.items():
        named_tensor(folder / EMBEDDER, tensors[EMBEDDER], name, shape)


def _embedding(structure, encoder, dtype):
    sizes = "token_embedder"
    if structure.get(sizes, "name", kinds=(str,)) != "cnn":
        raise ElmoError(f"{structure.path}: only a token_embedder of the name cnn can be read")
    projection_dim = structure.size("encoder", "projection_dim")
    characters = None
    if encoder.characters is not None:
        characters = CharCNNEmbedding(
            filters=structure.filters(sizes, "filters"),
            projection_dim=None if encoder.words else projection_dim,
            num_highways=structure.size(sizes, "n_highway", least=0),
            char_embedding_dim=structure.size(sizes, "char_dim"),
            num_chars=len(encoder.characters) + 1,
            activation=structure.get(sizes, "activation", kinds=(str,)),
            max_word_length=encoder.max_characters,
            name="characters",
            dtype=dtype,
        )
    if encoder.words is None:
        return characters
    return WordEmbedding(
        num_words=len(encoder.words) + 1,
        word_dim=structure.size(sizes, "word_dim"),
        characters=characters,
        projection_dim=projection_dim,
        dtype=dtype,
    )


def _bilm(structure, stateful, dtype):
    if structure.get("encoder", "name", kinds=(str,)) != "elmo":
        raise ElmoError(f"{structure.path}: only an encoder of the name elmo can be read")
    return BiLM(
        num_layers=structure.size("encoder", "n_layers"),
        units=structure.size("encoder", "dim"),
        projection_dim=structure.size("encoder", "projection_dim"),
        cell_clip=structure.clip("encoder", "cell_clip"),
        projection_clip=structure.clip("encoder", "proj_clip"),
        skip_connections=True,
        stateful=stateful,
        dtype=dtype,
    )


def _read(path):
    if not path.is_file():
        raise ElmoError(f"{path}: no such file; the model is not complete")
    return read_tensors(path)


def _fill(path, tensors, places):
    """Puts every tensor of a file into the variable that `places` names for it."""
    for name, parts in places:
        if name not in tensors:
            raise ElmoError(f"{path}: tensor {name} is missing")
        array = tensors.pop(name)
        for variable, convert in parts:
            value = convert(array) if array.ndim == variable.ndim else array
            variable.assign(check_tensor(path, name, value, tuple(variable.shape)))
    if tensors:
        raise ElmoError(f"{path}: tensor {next(iter(tensors))} is not part of such a model")


def _embedding_places(embedding):
    """Names in token_embedder.pkl, each with its variables and how they are made of the tensor."""
    characters = embedding
    if isinstance(embedding, WordEmbedding):
        characters = embedding.characters
        yield "word_emb_layer.embedding.weight", [(embedding.table, _with_row)]
    if characters is not None:
        yield "char_emb_layer.embedding.weight", [(characters.char_embeddings, _with_row)]
        for k in range(len(characters.filters)):
            kernel, bias = (getattr(characters, f"conv_{part}_{k}") for part in ("kernel", "bias"))
            yield f"convolutions.{k}.weight", [(kernel, np.transpose)]
            yield f"convolutions.{k}.bias", [(bias, np.asarray)]
        for k in range(characters.num_highways):
            highway = getattr(characters, f"highway_{k}")
            # The second half gates what is carried past the layer; ours, what goes through it.
            for part, attribute in (("weight", "kernel"), ("bias", "bias")):
                transform = getattr(highway.transform, attribute)
                carry = getattr(highway.carry, attribute)
                parts = [(transform, _first_half), (carry, _negative_second_half)]
                yield f"highways._layers.{k}.{part}", parts
    yield "projection.weight", [(embedding.projection.kernel, np.transpose)]
    yield "projection.bias", [(embedding.projection.bias, np.asarray)]


def _bilm_places(bilm):
    """The same for encoder.pkl."""
    for direction in DIRECTIONS:
        for k in range(bilm.num_layers):
            lstm, name = getattr(bilm, f"{direction}_{k}"), f"{direction}_layer_{k}"
            yield f"{name}.input_linearity.weight", [(lstm.kernel, _gates)]
            yield f"{name}.state_linearity.weight", [(lstm.recurrent_kernel, _gates)]
            yield f"{name}.state_linearity.bias", [(lstm.bias, _bias)]
            yield f"{name}.state_projection.weight", [(lstm.projection_kernel, np.transpose)]


def _with_row(array):
    return np.concatenate([np.zeros_like(array[:1]), array])  # row 0: "no token here"


def _first_half(array):
    return array[: len(array) // 2].T


def _negative_second_half(array):
    return -array[len(array) // 2 :].T


def _gates(array):
    """Gates in, forget, new, out to in, new, forget, out."""
    i, f, j, o = np.array_split(array, 4)
    return np.concatenate([i, j, f, o]).T


def _bias(array):
    i, f, j, o = np.array_split(array, 4)
    return np.concatenate([i, j, f - 1, o])  # ours adds 1 to the forget gate
