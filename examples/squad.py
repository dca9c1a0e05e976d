"""Questions about a text: exact match and F1 of SQuAD.

    python examples/squad.py --train train-v1.1.json --dev dev-v1.1.json --test dev-v1.1.json

SQuAD 1.1 is at rajpurkar.github.io/SQuAD-explorer; any file of the same JSON will do.
"""

from runner import Task
from runner import command

from keras_elmo import tasks
from keras_elmo.tasks import plots
from keras_elmo.text.spans import split_words

TINY = [
    ("Who sang?", "On Monday Anna sang in Paris.", "Anna"),
    ("Where did she sing?", "On Monday Anna sang in Paris.", "Paris"),
    ("When did it rain?", "It rained on Friday.", "Friday"),
]


def read(path, strict):
    """Questions and their answers."""
    questions = tasks.read_squad(path, strict)
    return questions, [question.answers for question in questions]


def tiny():
    """A few questions."""
    pairs = [(question, text) for question, text, _ in TINY]
    return pairs, [[(answer, text.index(answer))] for _, text, answer in TINY]


def sentences(example):
    """The tokens of the question and of its text."""
    texts = example if isinstance(example, tuple) else (example.question, example.context)
    return list(map(split_words, texts))


def finish(model, examples, folder):
    """Which words of the first question its text looks at."""
    text = model.read(examples[:1])[0]
    weights = model.attention_of(text)
    plots.attention(weights[:40], text["context"][:40], text["question"], folder / "attention.png")


TASK = Task(
    read=read,
    make=lambda features, answers, units=64: tasks.SpanExtractor(features, units=units),
    tiny=tiny,
    sentences=sentences,
    finish=finish,
    epochs=5,
    small={"units": 8},
)
main = command(TASK, __doc__)


if __name__ == "__main__":
    main()
