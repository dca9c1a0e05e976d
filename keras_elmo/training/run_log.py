"""What a training run measured, step by step: CSV files, and TensorBoard where it is asked for."""

import csv

from keras_elmo.errors import ElmoError
from keras_elmo.files import replaced

COLUMNS = {
    "log": ("step", "loss", "forward_perplexity", "backward_perplexity", "tokens_per_second"),
    "validation": ("step", "forward_perplexity", "backward_perplexity"),
}


class RunLog:
    """Two tables of numbers that grow with a run: `log.csv` and `validation.csv`.

    Args:
        folder: path.
        step: int, where the run goes on; rows of later steps, which will come again, are dropped.
        tensorboard: whether to write the numbers for TensorBoard too.

    Raises:
        ElmoError: if TensorBoard is asked for and not installed.

    Example:
        >>> RunLog("my_elmo/training").add("validation", 250, 91.2, 88.7)
    """

    def __init__(self, folder, step=0, tensorboard=False):
        self._folder = folder
        self._writer = _tensorboard_writer(folder / "tensorboard") if tensorboard else None
        for name, columns in COLUMNS.items():
            rows = [row for row in self.read(name) if int(row[0]) <= step]
            with replaced(self._path(name)) as path, open(path, "w", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows([columns, *rows])

    def add(self, name, step, *values):
        """Adds a row to one of the tables."""
        row = [step, *(f"{value:.6g}" for value in values)]
        with open(self._path(name), "a", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(row)
        if self._writer is not None:
            part = "train" if name == "log" else name
            for column, value in zip(COLUMNS[name][1:], values, strict=True):
                self._writer.add_scalar(f"{part}/{column}", value, step)
            self._writer.flush()

    def read(self, name):
        """The rows of a table, as lists of str."""
        path = self._path(name)
        if not path.exists():
            return []
        with open(path, encoding="utf-8", newline="") as file:
            return [row for row in csv.reader(file) if len(row) == len(COLUMNS[name])][1:]

    def _path(self, name):
        return self._folder / f"{name}.csv"


def _tensorboard_writer(folder):
    try:
        from tensorboard.summary import Writer
    except ImportError:
        raise ElmoError(
            'TensorBoard logs need a package: pip install "keras-elmo[tensorboard]"'
        ) from None
    return Writer(str(folder))
