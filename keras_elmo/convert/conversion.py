"""From any kind of model to ours, and back to the published format."""

from pathlib import Path

from keras_elmo.convert import bilm_hdf5
from keras_elmo.convert import folder
from keras_elmo.convert import tf_checkpoint
from keras_elmo.convert.detect import LOADERS
from keras_elmo.convert.language_model import has_softmax
from keras_elmo.convert.language_model import read_softmax
from keras_elmo.convert.word_list import VOCABULARIES
from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced
from keras_elmo.presets import located
from keras_elmo.text.vocabulary_encoder import VocabularyEncoder

LAYOUTS = ("folder", "safetensors", "published")


def convert(source, target, layout="folder", dtype=None):
    """Writes any model as a folder, whole or not at all.

    The softmax of a language model comes along, where there is one and the layout has a place.

    Args:
        source: what `keras_elmo.load` takes.
        target: path of the folder, which must not be there yet.
        layout: `"folder"`: ours; `"safetensors"`: ours with the weights as safetensors;
            `"published"`: options.json and weights.hdf5, as AllenNLP, bilm-tf and simple_elmo
            read them.
        dtype: of our weights, such as `"float16"`; `None`: as they are.

    Raises:
        ElmoError: if the source is no model, the layout has no place for it, or the target exists.

    Example:
        >>> convert("elmo_3.tar.gz", "elmo")
    """
    if layout not in LAYOUTS:
        raise ElmoError(f"layout must be one of {', '.join(LAYOUTS)}, not {layout!r}")
    if Path(target).expanduser().exists():
        raise ElmoError(f"{target}: is there already; give another name, or remove it")
    with located(source) as (kind, place):
        elmo = LOADERS[kind](place)
        with replaced(target) as temporary:
            temporary.mkdir()
            if layout == "published":
                _write_published(elmo, temporary)
            else:
                folder.write(elmo, temporary, dtype, safetensors=layout == "safetensors")
                _copy_softmax(kind, place, temporary, dtype)


def contents(kind, place):
    """What lies beside the biLM in a source.

    Args:
        kind: a key of `LOADERS`.
        place: what that loader takes, both from `presets.located`.

    Returns:
        A dict from what to a str that says whether it is there.

    Example:
        >>> with located("checkpoint") as (kind, place):
        ...     contents(kind, place)
        {'softmax': 'yes', 'optimizer': 'Adagrad'}
    """
    if kind == "tf_checkpoint":
        names = tf_checkpoint.variable_names(place)
        softmax = any(name.endswith("softmax/W") for name in names)
        slots = any(name.endswith(tf_checkpoint.SLOT) for name in names)
        return {"softmax": _yes(softmax), "optimizer": "Adagrad" if slots else "no"}
    if tf_checkpoint.holds_one(place):  # beside the weights, which need no TensorFlow
        return dict.fromkeys(("softmax", "optimizer"), "in the checkpoint")
    return {"softmax": _yes(has_softmax(kind, place)), "optimizer": "no"}


def _yes(there):
    return "yes" if there else "no"


def _write_published(elmo, target):
    reads_words = isinstance(elmo.encoder, VocabularyEncoder)
    vocabulary = target / VOCABULARIES[0] if reads_words else None
    bilm_hdf5.save(elmo, target / bilm_hdf5.OPTIONS, target / "weights.hdf5", vocabulary)


def _copy_softmax(kind, place, target, dtype):
    if has_softmax(kind, place):
        weights, biases, vocabulary = read_softmax(kind, place)
        folder.write_softmax(target, weights, biases, vocabulary.words, dtype)
