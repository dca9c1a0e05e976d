"""Questions about a text, in the JSON of SQuAD."""

import dataclasses
import gzip
import json
from pathlib import Path

from keras_elmo.errors import ElmoError
from keras_elmo.files import GZIP_ERRORS
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
            leaves out answers that are empty or nowhere in it, and questions without one (SQuAD
            2.0).

    Returns:
        A list of `Question`.

    Raises:
        ElmoError: at the first fault, with the id of the question; if no question is left.

    Example:
        >>> questions = read_squad("dev-v1.1.json")
    """
    questions = []
    with Faults(path, strict) as faults:
        for question in _questions(path):
            if not question.answers:
                faults.add(None, f"question {question.id} has no answer", "left out")
            placed = [_placed(question, *answer, faults) for answer in question.answers]
            answers = [(text, start) for text, start in placed if start >= 0]
            if answers:
                questions.append(dataclasses.replace(question, answers=answers))
    if not questions:
        raise ElmoError(f"{path}: holds no question with an answer")
    return questions


def _questions(path):
    data = Path(path).read_bytes()
    try:
        contents = json.loads(gzip.decompress(data) if str(path).endswith(".gz") else data)
        return [
            _question(paragraph["context"], entry)
            for article in contents["data"]
            for paragraph in article["paragraphs"]
            for entry in paragraph["qas"]
        ]
    except GZIP_ERRORS as error:
        raise ElmoError(f"{path}: damaged .gz file ({error})") from None
    except (KeyError, TypeError) as error:
        message = f"no {error}" if isinstance(error, KeyError) else "an object is missing"
        raise ElmoError(f"{path}: not the JSON of SQuAD ({message})") from None
    except ValueError as error:
        raise ElmoError(f"{path}: not the JSON of SQuAD ({error})") from None


def _question(context, entry):
    name = str(entry["id"])
    try:
        question = entry["question"]
        answers = [(answer["text"], answer["answer_start"]) for answer in entry["answers"]]
    except KeyError as error:
        raise ValueError(f"question {name}: no {error}") from None
    if not all(isinstance(text, str) for text in (context, question, *(a for a, _ in answers))):
        raise ValueError(f"question {name}: a text that is no string")
    if not question.strip():
        raise ValueError(f"question {name}: it is empty")
    if not all(isinstance(start, int) for _, start in answers):
        raise ValueError(f"question {name}: an answer_start that is no whole number")
    return Question(name, question, context, answers)


def _placed(question, text, start, faults):
    """The answer, and its place in the context; -1: none."""
    if not text.strip():
        faults.add(None, f"question {question.id}: an empty answer", "left out")
        return text, -1
    if start >= 0 and question.context.startswith(text, start):
        return text, start
    found = question.context.find(text)
    where = "is elsewhere in its context" if found >= 0 else "isn't in its context"
    faults.add(
        None,
        f"question {question.id}: the answer {text[:40]!r} {where}, not at {start}",
        "put there" if found >= 0 else "left out",
    )
    return text, found
