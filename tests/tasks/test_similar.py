import numpy as np
import pytest
from click.testing import CliRunner

import keras_elmo
from keras_elmo import ElmoError
from keras_elmo.cli import main
from keras_elmo.convert import folder
from keras_elmo.tasks import projector
from keras_elmo.tasks.similar import similar

SENTENCE = ["He", "sat", "on", "the", "river", "bank", "."]
CORPUS = [
    "The bank lends money .",
    "",
    "no such word",
    "a river bank , a Bank",
    "He sat on the river bank",
    "He sat on the river bank .",
]


def test_agrees_with_all_cosines(make_elmo):
    elmo = make_elmo()
    sentences = [text.split() for text in CORPUS]
    uses = similar(elmo, SENTENCE, "bank", sentences, count=3)
    embedder = keras_elmo.Embedder(elmo, layers="top")
    wanted = embedder.embed([SENTENCE])[0][5]
    expected = []
    for tokens, vectors in zip(sentences[:-1], embedder.embed(sentences[:-1]), strict=True):
        for k, token in enumerate(tokens):
            if token.lower() == "bank":
                norms = np.linalg.norm(wanted) * np.linalg.norm(vectors[k])
                expected.append((float(wanted @ vectors[k] / norms), tokens, k))
    expected.sort(reverse=True)
    assert len(expected) == 4
    assert [use.similarity for use in uses] == pytest.approx([e[0] for e in expected[:3]])
    assert [(use.tokens, use.position) for use in uses] == [(e[1], e[2]) for e in expected[:3]]


def test_any_word(make_elmo):
    uses = similar(make_elmo(), ["a", "b"], "a", [["a", "b", "c"]], count=10, same_word=False)
    assert sorted(use.position for use in uses) == [0, 1, 2]


@pytest.mark.parametrize(
    ("word", "message"),
    [("shore", "has no token 'shore'"), ("sat", "no other sentence with 'sat'")],
)
def test_wrong_words(make_elmo, word, message):
    with pytest.raises(ElmoError, match=message):
        similar(make_elmo(), SENTENCE, word, [["bank"]])


def test_command(make_elmo, tmp_path):
    folder.save(make_elmo(), tmp_path / "elmo")
    (tmp_path / "text.txt").write_text("\n".join(CORPUS) + "\n")
    arguments = ["similar", " ".join(SENTENCE), "--corpus", str(tmp_path / "text.txt")]
    arguments += ["--model", str(tmp_path / "elmo"), "--count", "2", "--word"]
    done = CliRunner().invoke(main, [*arguments, "bank"])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert len(lines) == 2
    assert all("[bank]" in line or "[Bank]" in line for line in lines)
    assert CliRunner().invoke(main, [*arguments, "shore"]).exit_code == 2


def test_projector(tmp_path):
    vectors = np.arange(6.0).reshape(2, 3)
    projector.write(tmp_path / "p", vectors, [("a\tb", "x\ny"), ("c", "z")])
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "p" / "vectors.tsv"), vectors)
    rows = (tmp_path / "p" / "metadata.tsv").read_text().splitlines()
    assert rows == ["token\tsentence", "a b\tx y", "c\tz"]
    assert "metadata.tsv" in (tmp_path / "p" / "projector_config.pbtxt").read_text()
