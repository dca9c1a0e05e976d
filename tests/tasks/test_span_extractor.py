import pytest

from keras_elmo import ElmoError
from keras_elmo import tasks
from keras_elmo.tasks import SpanExtractor
from keras_elmo.tasks.readers.squad import Question

TEXT = "On Monday, Anna sang in Paris."
QUESTIONS = [("Who sang?", TEXT), ("Where did she sing?", TEXT)]
ANSWERS = [[("Anna", 11)], [("Paris", 24)]]
LONG = "It rained. " * 8 + TEXT


@pytest.fixture
def make(make_features):
    def make(**arguments):
        return SpanExtractor(make_features("both"), units=8, dropout=0.0, **arguments)

    return make


def test_learns_by_heart(make, tmp_path):
    model = make()
    model.fit(QUESTIONS, ANSWERS, epochs=30, batch_size=2, learning_rate=0.03, verbose=0)
    answers = model.predict(QUESTIONS, batch_size=2)
    assert [answer.text for answer in answers] == ["Anna", "Paris"]
    assert all(TEXT[a.start : a.end] == a.text for a in answers)
    assert model.evaluate(QUESTIONS, ANSWERS, 2) == {"f1": 100.0, "exact_match": 100.0}
    best = model.predict_best(QUESTIONS, count=3, batch_size=2)
    assert [len(found) for found in best] == [3, 3]
    assert all(found[0].score >= found[1].score >= found[2].score for found in best)
    assert model.attention_of(model.read(QUESTIONS)[0]).shape == (8, 3)
    model.save(tmp_path / "model")
    again = tasks.load(tmp_path / "model").predict(QUESTIONS, batch_size=2)
    assert [answer.text for answer in again] == ["Anna", "Paris"]


def test_long_texts_are_read_in_windows(make):
    model = make(window=10)
    question = Question("1", "Who sang?", LONG, [("Anna", LONG.index("Anna"))])
    windows = model.read([question])
    tokens = [token for window in windows for token in window["context"]]
    assert {"rained", "Anna", "Paris"} <= set(tokens)
    assert max(len(window["context"]) for window in windows) == 10
    targets = model.expand([question], windows, [question.answers])
    inside = [w["context"][t[0]] for w, t in zip(windows, targets, strict=True) if t]
    assert inside
    assert set(inside) == {"Anna"}
    (answer,) = model.predict([question])
    assert LONG[answer.start : answer.end] == answer.text
    assert len(model.predict_best([question], count=20)[0]) == 20


@pytest.mark.parametrize("answers", [[], [("Anna", 3)], [("", 3)], [("Peter", 11)]])
def test_an_answer_that_is_not_there(make, answers):
    model = make()
    with pytest.raises(ElmoError, match="its first answer is missing, or isn't in the text"):
        model.fit(QUESTIONS[:1], [answers])


def test_what_is_no_question_with_a_text(make):
    with pytest.raises(TypeError, match="expected a pair of texts, got 'Who sang"):
        make().predict(["Who sang?"])


def test_an_empty_text_has_an_empty_answer(make):
    assert make().predict([("Who?", "")])[0].text == ""


def test_a_question_without_an_answer_cannot_be_scored(make):
    with pytest.raises(ElmoError, match="question 0 has no answer to be scored by"):
        make().evaluate(QUESTIONS[:1], [[]])
