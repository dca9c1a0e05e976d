"""The settings of a training run."""

from dataclasses import dataclass
from dataclasses import field

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


def _setting(default, help):
    return field(default=default, metadata={"help": help})


@dataclass
class Recipe:
    """Settings of a training run; by default the original's, in the size published as "small".

    `keras-elmo pretrain --help` says what each is.

    Example:
        >>> Recipe(units=512, batch_size=64, decay="linear").num_layers
        2
    """

    filters: tuple = _setting(FILTERS, "Convolutions over the characters, as width:count,...")
    num_highways: int = _setting(1, "Highway layers after them.")
    char_embedding_dim: int = _setting(16, "Size of a character vector.")
    activation: str = _setting("relu", "Of the convolutions: relu or tanh.")
    num_layers: int = _setting(2, "LSTM layers a direction.")
    units: int = _setting(1024, "Size of an LSTM cell.")
    projection_dim: int = _setting(128, "Size of a word vector and an LSTM output, a direction.")
    cell_clip: float = _setting(3.0, "Largest absolute value of a cell.")
    projection_clip: float = _setting(3.0, "Largest absolute value of an LSTM output.")
    dropout: float = _setting(0.1, "Share dropped of LSTM inputs and of the top output.")
    min_count: int = _setting(1, "Rarer words are left out of the vocabulary.")
    max_vocabulary: int = _setting(800_000, "Words in the vocabulary at most.")
    batch_size: int = _setting(128, "Rows of a batch, each a stream of sentences of its own.")
    unroll: int = _setting(20, "Tokens of a row that a step sees.")
    num_samples: int = _setting(8192, "Words sampled for the softmax, a direction and batch.")
    epochs: int = _setting(10, "Passes over the corpus.")
    max_steps: int | None = _setting(None, "Steps at most.")
    learning_rate: float = _setting(0.2, "Of Adagrad.")
    decay: str = _setting("constant", "Of the learning rate: constant, or linear to 0.")
    clip_norm: float = _setting(10.0, "Largest norm of the gradient (of the loss times unroll).")
    seed: int = _setting(1, "Of everything random.")
