"""Checkpoints of bilm-tf and simple_elmo: a biLM, its softmax and the state of its training."""

import contextlib
import re
from pathlib import Path

import numpy as np

from keras_elmo.convert import published
from keras_elmo.convert.bilm_hdf5 import read_options
from keras_elmo.convert.tensors import check_tensor
from keras_elmo.convert.word_list import read_lines
from keras_elmo.convert.word_list import vocabulary_in
from keras_elmo.errors import ElmoError

OPTIONS = "options.json"
SLOT = "/Adagrad"  # what training keeps for each variable
_PLAIN = re.compile(
    r"(?:^|/)(char_embed|embedding|CNN/[Wb]_cnn_\d+|CNN_proj/[Wb]_proj|softmax/[Wb]"
    r"|CNN_high_\d+/[Wb]_(?:carry|transform))$"
)
_CELL = re.compile(
    r"(?:^|/)RNN_(\d)/.*?(?:[cC]ell_?(\d+)/)?(?:rnn/)?(?:lstm_cell|LSTMCell)"
    r"/(kernel|bias|projection/kernel|W_0|B|W_P_0)$"
)
_CELL_TENSORS = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}


def load(folder, **arguments):
    """Loads the biLM of a checkpoint; `load_softmax` gives the rest of the language model.

    Args:
        folder: path with model.ckpt-*.index, model.ckpt-*.data-* and options.json.
        **arguments: `stateful`, `dtype`, and those of `Elmo`.

    Returns:
        An `Elmo`.

    Raises:
        ElmoError: if a file is missing or broken, or TensorFlow is not installed.

    Example:
        >>> elmo = tf_checkpoint.load(Path("checkpoint"))

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 3.4.
    """
    options = read_options(folder / OPTIONS)
    words = None if "char_cnn" in options.contents else _words(folder)
    prefix = newest(folder)
    tensors = published_tensors(read_variables(prefix))
    return published.build(prefix, options, tensors, words, **arguments)


def load_softmax(folder):
    """The softmax of a checkpoint, and the words that it predicts.

    Args:
        folder: path of the checkpoint, with a vocab.txt in it or beside it.

    Returns:
        Weights (words, P) and biases (words,), float32; the words, a list of str.

    Raises:
        ElmoError: if the checkpoint has no softmax, or the vocabulary is missing or another's.

    Example:
        >>> weights, biases, words = load_softmax(Path("checkpoint"))
    """
    prefix = newest(folder)
    tensors = published_tensors(read_variables(prefix))
    if not {"softmax/W", "softmax/b"} <= set(tensors):
        raise ElmoError(f"{prefix}: has no softmax; it cannot score words")
    words = _words(folder)
    weights = check_tensor(prefix, "softmax/W", tensors["softmax/W"], (len(words), None))
    biases = check_tensor(prefix, "softmax/b", tensors["softmax/b"], (len(words),))
    return weights, biases, words


def _words(folder):
    path = vocabulary_in(folder)
    if path is None:
        raise ElmoError(f"{folder}: the vocabulary is missing; put it there as vocab.txt")
    return read_lines(path)


def holds_one(folder):
    """Whether a folder, not a zip, has the files of a checkpoint."""
    return isinstance(folder, Path) and any(folder.glob("*.index"))


def variable_names(folder):
    """The names of all variables of the checkpoint in a folder."""
    with _opened(newest(folder)) as (_, shapes):
        return list(shapes)


def newest(folder):
    """The prefix of the checkpoint in a folder: the one that `checkpoint` names, or the last."""
    if not isinstance(folder, Path):
        raise ElmoError(f"{folder}: TensorFlow reads no checkpoint inside a zip; unpack it first")
    prefixes = {path.with_suffix("") for path in folder.glob("*.index")}
    if not prefixes:
        raise ElmoError(f"{folder}: holds no model.ckpt-*.index; this is not a checkpoint")
    state = folder / "checkpoint"
    text = state.read_text(encoding="utf-8", errors="replace") if state.is_file() else ""
    named = re.match(r'model_checkpoint_path: "(.*)"', text)
    prefix = folder / Path(named[1]).name if named else None
    if prefix in prefixes:
        return prefix
    times = {path: path.with_name(f"{path.name}.index").stat().st_mtime for path in prefixes}
    return max(prefixes, key=lambda path: (times[path], path))


def read_variables(prefix, slots=False):
    """All variables of a checkpoint.

    Args:
        prefix: path without `.index`.
        slots: bool, whether those that only training needs are read too.

    Returns:
        A dict from name to array.

    Raises:
        ElmoError: if the checkpoint cannot be read, or TensorFlow is not installed.

    Example:
        >>> read_variables("checkpoint/model.ckpt-776")["lm/softmax/b"].shape
        (500,)
    """
    with _opened(prefix) as (reader, shapes):
        names = [name for name in shapes if slots or not name.endswith(SLOT)]
        return {name: reader.get_tensor(name) for name in names}


@contextlib.contextmanager
def _opened(prefix):
    """Gives the reader of a checkpoint and the shapes of its variables by their names."""
    try:
        import tensorflow as tf
    except ImportError:
        raise ElmoError(
            f'{prefix}: reading it needs TensorFlow: pip install "keras-elmo[tensorflow]"'
        ) from None
    prefix = Path(prefix)
    size = sum(path.stat().st_size for path in prefix.parent.glob(f"{prefix.name}.data-*"))
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
        if sum(float(np.prod(shape, dtype=float)) for shape in shapes.values()) > size:
            raise ElmoError(f"{prefix}: truncated; get the files again")
        yield reader, shapes
    except ElmoError:
        raise
    except (tf.errors.OpError, LookupError, RuntimeError, ValueError, MemoryError) as error:
        line = str(error).strip().split("\n")[0]
        raise ElmoError(f"{prefix}: not a whole checkpoint ({line}); get the files again") from None


def published_tensors(variables):
    """The variables of a graph by their published names; others are left out.

    Every version of the code and of TensorFlow had its own scopes, so only the end of a name
    counts.

    Args:
        variables: dict from the name in the graph to an array.

    Returns:
        A dict from published name to array.

    Example:
        >>> list(published_tensors({"lm/RNN_0/rnn/lstm_cell/bias": array}))
        ['RNN_0/RNN/LSTMCell/B']
    """
    return {
        published: array
        for name, array in variables.items()
        if (published := _published_name(name)) is not None
    }


def _published_name(name):
    if found := _PLAIN.search(name):
        return found[1]
    if found := _CELL.search(name):
        direction, layer, tensor = found.groups()
        cell = published.cell_name(direction, layer)
        return f"{cell}/{_CELL_TENSORS.get(tensor, tensor)}"
    return None
