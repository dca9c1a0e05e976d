"""Sentences or pairs of them with a label, from files of columns: GLUE, SNLI, your own."""

from collections import Counter

from keras_elmo.errors import ElmoError
from keras_elmo.tasks.labels import as_number
from keras_elmo.tasks.readers.lines import Faults
from keras_elmo.tasks.readers.lines import lines

# Columns of the text, the column of the label, and whether labels are numbers.
GLUE = {
    "CoLA": (["3"], "1", False),
    "SST-2": (["sentence"], "label", False),
    "MRPC": (["#1 String", "#2 String"], "Quality", False),
    "QQP": (["question1", "question2"], "is_duplicate", False),
    "STS-B": (["sentence1", "sentence2"], "score", True),
    "MNLI": (["sentence1", "sentence2"], "gold_label", False),
    "QNLI": (["question", "sentence"], "label", False),
    "RTE": (["sentence1", "sentence2"], "label", False),
    "WNLI": (["sentence1", "sentence2"], "label", False),
}


def read_glue(path, task, strict=True):
    """Reads train.tsv or dev.tsv of a GLUE task.

    Args:
        path: file, also `.gz`.
        task: one of CoLA, SST-2, MRPC, QQP, STS-B, MNLI, QNLI, RTE, WNLI.
        strict: bool, see `read_table`.

    Returns:
        As `read_table`.

    Example:
        >>> pairs, labels = read_glue("RTE/train.tsv", "RTE")
    """
    if task not in GLUE:
        raise ElmoError(f"unknown GLUE task {task!r}: use one of {', '.join(GLUE)}")
    texts, label, numbers = GLUE[task]
    return read_table(path, texts, label, numbers, strict)


def read_table(
    path, texts=("sentence",), label="label", numbers=False, strict=True, check=lambda row: None
):
    """Reads sentences, or pairs, and their labels from a file of columns set apart by tabs.

    There is no quoting, as in GLUE. Empty lines, and lines whose label is `-` (no annotators
    agreed, SNLI), are left out.

    Args:
        path: file, also `.gz`.
        texts: names of the one or two columns of text in the first line; or their numbers from
            0 as str ("3"), where the first line is data already.
        label: name or number of the column of the label.
        numbers: bool, whether labels are numbers (similarities).
        strict: bool. False leaves out lines with another number of columns, without a text or
            with a label that is no finite number, and those that `check` finds fault with.
        check: function from the list of texts of a line, and its label, to what is wrong with
            them, or `None`.

    Returns:
        A list of str, or of pairs of str; a list of str, or of float.

    Raises:
        ElmoError: at the first fault, with its line; if a column is missing or no line is left.

    Example:
        >>> sentences, labels = read_table("train.tsv")
        >>> pairs, labels = read_table("train.tsv.gz", ["premise", "hypothesis"])
    """
    rows = ((number, line.split("\t")) for number, line in lines(path) if line)
    first = next(rows, None)
    if first is None:
        raise ElmoError(f"{path}: is empty; expected texts and a label a line, with tabs between")
    wanted = [*texts, label]
    if all(name.isdigit() for name in wanted):
        rows = [first, *rows]
        width, columns = _numbered(path, rows, wanted)
    else:
        width, columns = _header(path, first[1], wanted)
    examples, labels = [], []
    with Faults(path, strict) as faults:
        for number, cells in rows:
            found = _row(cells, width, columns, numbers, lambda m, n=number: faults.add(n, *m))
            if found and (message := check(found)):
                faults.add(number, message, "left out")
            elif found and found[-1] != "-":
                examples.append(found[0] if len(texts) == 1 else tuple(found[:-1]))
                labels.append(found[-1])
    if not examples:
        raise ElmoError(f"{path}: holds no example, only a first line or faults")
    return examples, labels


def _header(path, names, wanted):
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ElmoError(
            f"{path}: no column {missing[0]!r} in the first line, only {names}; it must name the "
            f"columns {' and '.join(map(repr, wanted))}, with tabs between"
        )
    return len(names), [names.index(name) for name in wanted]


def _numbered(path, rows, wanted):
    """The usual number of columns, and those that are wanted."""
    columns = [int(name) for name in wanted]
    width = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    if width <= max(columns):
        message = f"{width} columns, but {max(columns) + 1} or more are needed"
        raise ElmoError(f"{path}, line {rows[0][0]}: {message}, set apart by tabs")
    return width, columns


def _row(cells, width, columns, numbers, fault):
    if len(cells) != width:
        fault((f"{len(cells)} columns where {width} belong", "left out"))
        return None
    row = [cells[column].strip() for column in columns]
    if not all(row):
        fault(("an empty text or label", "left out"))
        return None
    if numbers:
        number = as_number(row[-1])
        if number is None:
            fault((f"the label {row[-1]!r} is not a number", "left out"))
            return None
        row[-1] = number
    return row


def read_parallel(path, strict=True):
    """Reads translations: a sentence, a tab and its translation a line.

    Further columns are passed over where most lines have them, such as the authors in the files of
    Tatoeba.

    Args:
        path: file, also `.gz`.
        strict: bool. False leaves out lines with another number of tabs than most, or with an
            empty side.

    Returns:
        Two lists of str.

    Raises:
        ElmoError: at the first fault, with its line.

    Example:
        >>> english, russian = read_parallel("train.tsv")
    """
    return read_table(path, ["0"], "1", strict=strict)
