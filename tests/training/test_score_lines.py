import keras
import pytest
from click.testing import CliRunner

import keras_elmo
from keras_elmo.cli import main
from keras_elmo.convert import bilm_hdf5
from keras_elmo.convert import language_model
from keras_elmo.errors import ElmoError
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.models.language_model import LanguageModel
from keras_elmo.training.scoring import SentenceScorer
from keras_elmo.training.vocabulary import Vocabulary

WORDS = ["<S>", "</S>", "<UNK>", "a", "cat", "sat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of a random model with its softmax."""
    keras.utils.set_random_seed(2)
    embedding = CharCNNEmbedding([[1, 4]], projection_dim=4, char_embedding_dim=4)
    model = LanguageModel(embedding, BiLM(1, units=4, projection_dim=4), len(WORDS))
    folder = tmp_path_factory.mktemp("model")
    language_model.write(model, Vocabulary(WORDS), folder)
    return folder


def run(*arguments, text=None):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=text)


def scores(folder, *sentences):
    scorer = SentenceScorer(*language_model.load_language_model(folder))
    return list(scorer.score([sentence.split() for sentence in sentences]))


def test_a_line_a_sentence(folder):
    result = run("score", "-", "--model", folder, text="a cat sat\n\na dog\n")
    assert result.exit_code == 0, result.output
    head, *lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert head == ["forward", "backward", "mean", "sentence"]
    for line, score in zip(lines, scores(folder, "a cat sat", "a dog"), strict=True):
        *values, sentence = line
        expected = score.forward.sum(), score.backward.sum(), score.total
        assert [float(value) for value in values] == pytest.approx(expected, abs=1e-3)
        assert sentence == " ".join(score.tokens)


def test_a_line_a_word(folder):
    result = run("score", "-", "--model", folder, "--tokens", text="a cat\n")
    lines = [line.split("\t") for line in result.stdout.splitlines()[1:-1]]
    (score,) = scores(folder, "a cat")
    assert [line[-1] for line in lines] == ["<S>", "a", "cat", "</S>"]
    assert [line[0] for line in lines] == ["", *(f"{value:.4f}" for value in score.forward)]
    *words, begin = score.backward
    assert [line[1] for line in lines] == [*(f"{value:.4f}" for value in (begin, *words)), ""]


def test_pairs(folder):
    text = "a cat\ta sat\na sat\ta cat\n"
    result = run("score", "-", "--model", folder, "--pairs", text=text)
    assert result.exit_code == 0, result.output
    _, one, other, last = result.stdout.splitlines()
    assert one.split("\t")[-1] == other.split("\t")[-1]
    assert float(one.split("\t")[2]) == -float(other.split("\t")[2]) != 0
    assert last == "first likelier, of 2: forward 1, backward 1, mean 1"
    result = run("score", "-", "--model", folder, "--pairs", text="a cat\n")
    assert result.exit_code == 2
    assert "line 1: must hold two sentences" in result.stderr
    result = run("score", "-", "--model", folder, "--pairs", "--tokens", text="a cat\ta sat\n")
    assert result.exit_code == 2
    assert "--tokens is for sentences" in result.stderr


@pytest.mark.parametrize("options", [[], ["--carry-state", "--batch-size", "1"]])
def test_perplexities(folder, tmp_path, options):
    (tmp_path / "text.txt").write_text("a cat sat\na dog\n")
    result = run("evaluate", tmp_path / "text.txt", "--model", folder, *options)
    assert result.exit_code == 0, result.output
    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert names == ["predictions", "forward", "backward", "mean"]
    assert "7 a direction, 6 words" in result.stdout


def test_a_model_without_softmax_cannot_score(folder, tmp_path):
    published = tmp_path / "options.json", tmp_path / "weights.hdf5"
    bilm_hdf5.save(keras_elmo.load(folder), *published)
    result = run("score", "-", "--model", tmp_path, text="a cat\n")
    assert result.exit_code == 2
    assert "the model has no softmax" in result.stderr
    (folder / "softmax.weights.h5").rename(tmp_path / "softmax")
    with pytest.raises(ElmoError, match="the model has no softmax"):
        language_model.load_language_model(folder)
    (tmp_path / "softmax").rename(folder / "softmax.weights.h5")
