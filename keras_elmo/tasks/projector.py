"""Vectors for the embedding projector of TensorBoard."""

import csv
from pathlib import Path

import numpy as np

from keras_elmo.files import replaced

CONFIG = 'embeddings {\n  tensor_path: "vectors.tsv"\n  metadata_path: "metadata.tsv"\n}\n'


def write(folder, vectors, rows, header=("token", "sentence")):
    """Writes vectors and their labels, for `tensorboard --logdir FOLDER`.

    Args:
        folder: path; an old folder of that name is replaced.
        vectors: (points, D) array.
        rows: list of tuples of str, the labels of each point.
        header: what the entries of a tuple are.

    Example:
        >>> write("projector", vectors, [("bank", "the river bank"), ("bank", "a bank loan")])
    """
    with replaced(folder) as temporary:
        Path(temporary).mkdir()
        np.savetxt(temporary / "vectors.tsv", vectors, fmt="%.6g", delimiter="\t")
        with open(temporary / "metadata.tsv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, dialect="excel-tab", lineterminator="\n")
            writer.writerows([header, *(map(_one_line, row) for row in rows)])
        (temporary / "projector_config.pbtxt").write_text(CONFIG, encoding="utf-8")


def _one_line(text):
    return " ".join(str(text).split())
