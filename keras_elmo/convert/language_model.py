"""A biLM with the softmax it was trained with: what predicts words, and what goes on training."""

from keras_elmo.convert import detect
from keras_elmo.convert import folder
from keras_elmo.convert import tf_checkpoint
from keras_elmo.convert.hdf5_tensors import read_hdf5
from keras_elmo.convert.tensors import named_tensor
from keras_elmo.convert.word_list import vocabulary_in
from keras_elmo.errors import ElmoError
from keras_elmo.layers.bilm import BiLM
from keras_elmo.models.elmo import Elmo
from keras_elmo.models.language_model import LanguageModel
from keras_elmo.presets import located
from keras_elmo.training.vocabulary import Vocabulary


def load_language_model(source=None, batch_size=1):
    """Loads a model with its softmax.

    Args:
        source: as for `keras_elmo.load`: a folder of ours that holds a softmax and its vocabulary,
            or a checkpoint of bilm-tf; `None`: the bundled model.
        batch_size: int, rows of a batch of training.

    Returns:
        A `LanguageModel` and the `Vocabulary` that it predicts.

    Raises:
        ElmoError: if the model has no softmax, or cannot be read.

    Example:
        >>> model, vocabulary = load_language_model("my_elmo")
        >>> SentenceScorer(model, vocabulary).score([["A", "cat", "sat", "."]])
    """
    with located(source) as (kind, place):
        weights, biases, vocabulary = read_softmax(kind, place)
        elmo = detect.LOADERS[kind](place)
    model = LanguageModel(
        elmo.embedding, elmo.bilm, len(vocabulary), batch_size, encoder=elmo.encoder
    )
    model.softmax.set_weights([weights, biases])
    return model, vocabulary


def has_softmax(kind, place):
    """Whether a model that `presets.located` found has a softmax, and the words that it predicts.

    Args:
        kind: a key of `detect.LOADERS`.
        place: what that loader takes.

    Returns:
        A bool.
    """
    if kind == "keras_elmo":
        return (place / folder.SOFTMAX).exists()
    if not tf_checkpoint.holds_one(place) or vocabulary_in(place) is None:
        return False
    return any(name.endswith("softmax/W") for name in tf_checkpoint.variable_names(place))


def read_softmax(kind, place):
    """The softmax of a model that `presets.located` found.

    Args:
        kind: a key of `detect.LOADERS`.
        place: what that loader takes.

    Returns:
        Weights (words, P) and biases (words,), float32, and a `Vocabulary`.

    Raises:
        ElmoError: if it has none.
    """
    if tf_checkpoint.holds_one(place):
        weights, biases, words = tf_checkpoint.load_softmax(place)
        return weights, biases, Vocabulary(words, source=place)
    path = place / folder.SOFTMAX if kind == "keras_elmo" else None
    if path is None or not path.exists():
        raise ElmoError(
            f"{place}: the model has no softmax, so it cannot predict words; take a folder that "
            "pretrain wrote, or a checkpoint of bilm-tf."
        )
    vocabulary = Vocabulary.read(place / folder.VOCABULARY)
    tensors = read_hdf5(path)
    weights = named_tensor(path, tensors, "kernel", (len(vocabulary), None))
    biases = named_tensor(path, tensors, "bias", (len(vocabulary),))
    return weights, biases, vocabulary


def write(model, vocabulary, place, **metadata):
    """Writes a language model into a folder that is there already; `load` opens it as an `Elmo`.

    Args:
        model: `LanguageModel`.
        vocabulary: `Vocabulary` of its softmax.
        place: path of the folder.
        **metadata: entries added to metadata.json.
    """
    config = model.embedding.get_config()
    embedding = type(model.embedding).from_config({**config, "dtype": "float32"})
    bilm = BiLM.from_config({**model.bilm.get_config(), "dropout": 0.0, "dtype": "float32"})
    elmo = Elmo(embedding, bilm, encoder=model.encoder)
    embedding.set_weights(model.embedding.get_weights())
    bilm.set_weights(model.bilm.get_weights())
    folder.write(elmo, place, **metadata)
    arrays = [model.devices.whole(variable) for variable in model.softmax.weights]
    folder.write_softmax(place, *arrays, vocabulary.words)
