import itertools

import numpy as np
import pytest

from keras_elmo import tasks
from keras_elmo.tasks import Seq2Seq
from keras_elmo.tasks.beam_search import LENGTH_PENALTY
from keras_elmo.tasks.beam_search import beam_search
from keras_elmo.tasks.seq2seq import text_of
from keras_elmo.tasks.seq2seq import words_of

SOURCES = ["It rains", "It snows", "He sings"]
TARGETS = ["Il pleut.", "Il neige.", "Il chante, lui."]
WORDS = ["Il", "pleut", "neige", "chante", "lui", ",", "."]


@pytest.mark.parametrize("writer", [False, True])
def test_learns_by_heart(make_features, make_elmo, tmp_path, writer):
    model = Seq2Seq(
        make_features("both", "both"),
        WORDS,
        units=16,
        word_dim=8,
        dropout=0.0,
        language_model=make_elmo() if writer else None,
        beam=2,
        longest=8,
    )
    model.fit(SOURCES, TARGETS, epochs=60, batch_size=3, learning_rate=0.03, verbose=0)
    assert model.predict(SOURCES, batch_size=3) == TARGETS
    assert model.evaluate(SOURCES, TARGETS, 3)["chrf"] == pytest.approx(100)
    model.save(tmp_path / "model")
    again = tasks.load(tmp_path / "model")
    assert again.predict(SOURCES, batch_size=3) == TARGETS


def test_a_wide_beam_finds_the_best_sequence():
    """Against all sequences of a random model of two words, whose next depends on the last."""
    rng = np.random.default_rng(0)
    table = np.log(rng.dirichlet(np.ones(4), size=(3, 4)))  # row, last, next; 0 begin, 1 end

    def step(ids, memory, mask, rows):
        return table[rows, ids].astype("float32"), [rows]

    rows = np.arange(3)
    memory = np.zeros((3, 1, 1))
    found = beam_search(step, memory, memory[..., 0] > -1, [rows], 40, 4, 0, 1, never=[0])
    for row in rows:

        def score(words, row=row):
            ids = [0, *words, 1] if len(words) < 4 else [0, *words]
            total = sum(table[row, a, b] for a, b in itertools.pairwise(ids))
            return total / ((5 + len(ids) - 1) / 6) ** LENGTH_PENALTY

        every = itertools.chain.from_iterable(itertools.product([2, 3], repeat=n) for n in range(5))
        assert tuple(found[row]) == max(every, key=score)


def test_the_search_ends_where_nothing_better_can_come():
    calls = []

    def step(ids, memory, mask):
        calls.append(ids)
        begun = [1e-9, 0.9, 0.05, 0.05], [1e-9, 1e-9, 0.5, 0.5]  # what is not empty never ends
        return np.log([begun[int(k > 0)] for k in ids]), []

    memory = np.zeros((2, 1, 1))
    assert beam_search(step, memory, memory[..., 0] > -1, [], 3, 50, 0, 1, never=[0]) == [[], []]
    assert len(calls) < 5


@pytest.mark.parametrize(
    "text", ["Il pleut.", "«Кто там?» спросил он.", "Don't go (now)!", "Лошади опасные, да…"]
)
def test_words_and_text(text):
    assert text_of(words_of(text)) == text
