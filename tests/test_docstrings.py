import doctest
import inspect

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.errors import ElmoError


def examples():
    """Every public function, class and method of a class whose docstring has an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in keras_elmo.__all__:
        thing = getattr(keras_elmo, name)
        if callable(thing) and thing is not ElmoError:
            yield from (test for test in finder.find(thing, name) if test.examples)


EXAMPLES = {test.name: test for test in examples()}


class Checker(doctest.OutputChecker):
    """Compares outputs where a shape prints as a tuple; elsewhere it is enough that they run."""

    def check_output(self, want, got, optionflags):
        same = super().check_output(want, got, optionflags)
        return same or keras.backend.backend() != "jax"


@pytest.fixture
def names():
    embedding = keras_elmo.CharCNNEmbedding(filters=[[1, 8], [3, 8]], projection_dim=16)
    elmo = keras_elmo.Elmo(embedding, keras_elmo.BiLM(num_layers=2, units=32, projection_dim=16))
    public = {name: getattr(keras_elmo, name) for name in keras_elmo.__all__}
    return {**public, "elmo": elmo, "keras": keras, "keras_elmo": keras_elmo, "np": np}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, names, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("The first sentence .\nAnd a second one .\n")
    EXAMPLES[name].globs = names
    runner = doctest.DocTestRunner(Checker(), optionflags=doctest.NORMALIZE_WHITESPACE)
    failures, _ = runner.run(EXAMPLES[name])
    assert failures == 0, capsys.readouterr().out


def test_every_public_class_has_an_example():
    classes = {n for n in keras_elmo.__all__ if inspect.isclass(getattr(keras_elmo, n))}
    assert classes - {"ElmoError"} <= set(EXAMPLES)
