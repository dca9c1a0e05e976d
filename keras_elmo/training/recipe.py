"""The settings of a training run."""

from dataclasses import dataclass
from dataclasses import field

from keras_elmo.errors import ElmoError

CHOICES = {
    "activation": ("relu", "tanh"),
    "optimizer": ("adagrad", "adamw"),
    "decay": ("constant", "linear", "cosine"),
    "dtype": ("float32", "mixed_bfloat16"),
}
FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


def _setting(default, help):
    return field(default=default, metadata={"help": help})


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
    optimizer: str = _setting("adagrad", "adagrad or adamw.")
    learning_rate: float | None = _setting(None, "Default: 0.2 for adagrad, 0.001 for adamw.")
    warm_up_steps: int = _setting(0, "Steps in which the learning rate rises.")
    decay: str = _setting("constant", "Of the learning rate: constant, linear or cosine to 0.")
    reset_share: float = _setting(
        0.0, "Share of the rows whose LSTM state is set back to zero before a window (original: 0)."
    )
    patience: int | None = _setting(None, "Stop after so many validations without a new best.")
    accumulation: int = _setting(1, "Parts in which a batch is worked through, to save memory.")
    remat: bool = _setting(False, "Compute large values anew for the gradient, to save memory.")
    dtype: str = _setting("float32", "float32, or mixed_bfloat16 for mixed precision.")
    clip_norm: float = _setting(10.0, "Largest norm of the gradient (of the loss times unroll).")
    seed: int = _setting(1, "Of everything random.")

    def __post_init__(self):
        for name, values in CHOICES.items():
            if getattr(self, name) not in values:
                raise ElmoError(
                    f"{name} must be one of {', '.join(values)}, not {getattr(self, name)}"
                )
        if self.batch_size % self.accumulation:
            raise ElmoError(
                f"a batch of {self.batch_size} rows cannot be divided into {self.accumulation} "
                "equal parts; change batch_size or accumulation"
            )
