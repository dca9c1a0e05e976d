"""Parts of speech: accuracy.

    python examples/pos.py --train train.conllu --dev dev.conllu --test test.conllu

Any treebank of universaldependencies.org will do, such as UD_English-EWT, or a file with a token
and its tag a line.
"""

from ner import plot
from runner import Task
from runner import command

from keras_elmo import tasks

TINY = [
    ("The cat sat .", "DET NOUN VERB PUNCT"),
    ("A dog barks .", "DET NOUN VERB PUNCT"),
    ("It sat", "PRON VERB"),
    ("The dog sees it .", "DET NOUN VERB PRON PUNCT"),
]


def tiny():
    """A few tagged sentences."""
    return [text.split() for text, _ in TINY], [tags.split() for _, tags in TINY]


TASK = Task(
    read=lambda path, strict: tasks.read_conll(path, strict=strict),
    make=lambda features, tags, units=128: tasks.TokenClassifier(
        features, tags, units=units, decoder="softmax"
    ),
    tiny=tiny,
    plot=plot,
    epochs=8,
    small={"units": 8},
)
main = command(TASK, __doc__)


if __name__ == "__main__":
    main()
