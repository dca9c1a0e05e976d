"""Questions about a text, in the JSON of SQuAD."""

import dataclasses
import gzip
import json
from pathlib import Path

from keras_elmo.errors import ElmoError
from keras_elmo.tasks.readers.lines import Faults


@dataclasses.dataclass(frozen=True)
class Question:
    """A question, the text with its answer, and the answers people gave.

    Attributes:
        id: str.
        question: str.
        context: str.
        answers: list of `(text, start)`, start: offset of the first character in the context.
    """

    id: str
    question: str
    context: str
    answers: list = dataclasses.field(default_factory=list)


def read_squad(path, strict=True):
    """Reads a file of SQuAD 1.1 or of the same format, such as XQuAD.

    Args:
        path: JSON file, also `.gz`.
        strict: bool. False looks for an answer that is not at its offset elsewhere in the text,
            leaves out answers that are nowhere in it, and questions without one (SQuAD 2.0).

    Returns:
        A list of `Question`.

    Raises:
        ElmoError: at the first fault, with the id of the question.

    Example:
        >>> questions = read_squad("dev-v1.1.json")
    """
    questions = []
    with Faults(path, strict) as faults:
        for context, entry in _entries(path):
            answers = [
                (text, start)
                for answer in entry["answers"]
                for text, start in [_placed(context, answer, entry["id"], faults)]
                if start >= 0
            ]
            if answers:
                questions.append(Question(entry["id"], entry["question"], context, answers))
            else:
                faults.add(None, f"question {entry['id']} has no answer", "left out")
    return questions


def _entries(path):
    data = gzip.decompress(Path(path).read_bytes()) if str(path).endswith(".gz") else None
    try:
        contents = json.loads(Path(path).read_bytes() if data is None else data)
        return [
            (paragraph["context"], {key: entry[key] for key in ("id", "question", "answers")})
            for article in contents["data"]
            for paragraph in article["paragraphs"]
            for entry in paragraph["qas"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        message = f"{type(error).__name__}: {error}"
        raise ElmoError(f"{path}: not the JSON of SQuAD ({message})") from None


def _placed(context, answer, name, faults):
    text, start = answer["text"], answer["answer_start"]
    if context[start : start + len(text)] == text:
        return text, start
    found = context.find(text)
    where = "is elsewhere in its context" if found >= 0 else "isn't in its context"
    faults.add(
        None,
        f"question {name}: the answer {text[:40]!r} {where}, not at {start}",
        "put there" if found >= 0 else "left out",
    )
    return text, found
