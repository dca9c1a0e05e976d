"""The settings of a training run."""

import math
from dataclasses import dataclass
from dataclasses import field
from dataclasses import fields

from keras_elmo.errors import ElmoError
from keras_elmo.text.characters import MAX_WORD_LENGTH

CHOICES = {
    "activation": ("relu", "tanh"),
    "optimizer": ("adagrad", "adamw"),
    "decay": ("constant", "linear", "cosine"),
    "dtype": ("float32", "mixed_bfloat16"),
}
# What a model has that a run goes on from, so that a recipe says nothing of it.
OF_THE_MODEL = (
    "filters",
    "num_highways",
    "char_embedding_dim",
    "activation",
    "num_layers",
    "units",
    "projection_dim",
    "cell_clip",
    "projection_clip",
)
FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


def _setting(default, help, least=None, most=math.inf):
    return field(default=default, metadata={"help": help, "least": least, "most": most})


@dataclass
class Recipe:
    """Settings of a training run; by default the original's, in the size published as "small".

    `keras-elmo pretrain --help` says what each is.

    Example:
        >>> Recipe(units=512, optimizer="adamw", warm_up_steps=1000, decay="cosine").num_layers
        2

    Raises:
        ElmoError: if a setting has no meaning.
    """

    filters: tuple = _setting(FILTERS, "Convolutions over the characters, as width:count,...")
    num_highways: int = _setting(1, "Highway layers after them.", 0)
    char_embedding_dim: int = _setting(16, "Size of a character vector.", 1)
    activation: str = _setting("relu", "Of the convolutions: relu or tanh.")
    num_layers: int = _setting(2, "LSTM layers a direction.", 1)
    units: int = _setting(1024, "Size of an LSTM cell.", 1)
    projection_dim: int = _setting(128, "Size of a word vector and an LSTM output, a direction.", 1)
    cell_clip: float = _setting(3.0, "Largest absolute value of a cell.")
    projection_clip: float = _setting(3.0, "Largest absolute value of an LSTM output.")
    dropout: float = _setting(0.1, "Share dropped of LSTM inputs and of the top output.", 0)
    min_count: int = _setting(1, "Rarer words are left out of the vocabulary.", 0)
    max_vocabulary: int = _setting(800_000, "Words in the vocabulary at most.", 3)
    batch_size: int = _setting(128, "Rows of a batch, each a stream of sentences of its own.", 1)
    unroll: int = _setting(20, "Tokens of a row that a step sees.", 1)
    num_samples: int = _setting(8192, "Words sampled for the softmax, a direction and batch.", 1)
    epochs: int = _setting(10, "Passes over the corpus.", 1)
    max_steps: int | None = _setting(None, "Steps at most.", 1)
    optimizer: str = _setting("adagrad", "adagrad or adamw.")
    learning_rate: float | None = _setting(None, "Default: 0.2 for adagrad, 0.001 for adamw.", 0)
    warm_up_steps: int = _setting(0, "Steps in which the learning rate rises.", 0)
    decay: str = _setting("constant", "Of the learning rate: constant, linear or cosine to 0.")
    reset_share: float = _setting(
        0.0,
        "Share of the rows whose LSTM state is set back to zero before a window (original: 0).",
        0,
        1,
    )
    patience: int | None = _setting(None, "Stop after so many validations without a new best.", 1)
    accumulation: int = _setting(1, "Parts in which a batch is worked through, to save memory.", 1)
    remat: bool = _setting(False, "Compute large values anew for the gradient, to save memory.")
    dtype: str = _setting("float32", "float32, or mixed_bfloat16 for mixed precision.")
    clip_norm: float = _setting(10.0, "Largest norm of the gradient (of the loss times unroll).")
    seed: int = _setting(1, "Of everything random.", 0, 2**32 - 1)

    def __post_init__(self):
        for name, values in CHOICES.items():
            if getattr(self, name) not in values:
                raise ElmoError(
                    f"{name} must be one of {', '.join(values)}, not {getattr(self, name)}"
                )
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, int | float):
                _check_number(setting.name, value, **setting.metadata)
        if any(len(pair) != 2 or min(pair) < 1 for pair in self.filters):
            raise ElmoError(f"filters must be pairs (width, count), each 1 or more: {self.filters}")
        for width, _ in self.filters:
            if width > MAX_WORD_LENGTH:
                raise ElmoError(
                    f"a filter of width {width} is wider than a word, {MAX_WORD_LENGTH} characters"
                )
        for name in ("cell_clip", "projection_clip", "clip_norm"):
            if getattr(self, name) <= 0:
                raise ElmoError(f"{name} must be above 0, not {getattr(self, name)}")
        if self.dropout >= 1:
            raise ElmoError(f"dropout must be below 1, not {self.dropout}")
        if self.batch_size % self.accumulation:
            raise ElmoError(
                f"a batch of {self.batch_size} rows cannot be divided into {self.accumulation} "
                "equal parts; change batch_size or accumulation"
            )


def _check_number(name, value, least, most, **_):
    if not math.isfinite(value):
        raise ElmoError(f"{name} must be a finite number, not {value}")
    if least is not None and value < least:
        raise ElmoError(f"{name} must be at least {least}, not {value}")
    if value > most:
        raise ElmoError(f"{name} must be at most {most}, not {value}")
