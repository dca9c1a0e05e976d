import json

import keras
import numpy as np
import pytest

from keras_elmo.convert.language_model import load_language_model
from keras_elmo.errors import ElmoError
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.word_embedding import WordEmbedding
from keras_elmo.models.language_model import LanguageModel
from keras_elmo.text.vocabulary_encoder import VocabularyEncoder
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.scoring import SentenceScorer
from keras_elmo.training.scoring import perplexity
from keras_elmo.training.scoring import perplexity_of
from keras_elmo.training.vocabulary import Vocabulary

SENTENCES = [["a", "cat", "sat"], ["b"], ["the", "dog", "sat", "a", "cat", "b"] * 4, ["cat", "?"]]


@pytest.fixture(scope="module")
def golden(shared_data):
    return shared_data / "fixtures-golden" / "C-tf1-checkpoint"


@pytest.fixture(scope="module")
def published(golden):
    pytest.importorskip("tensorflow")
    return load_language_model(golden / "checkpoint")


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary.build(SENTENCES[:3])


@pytest.fixture(params=["characters", "words"])
def model(request, vocabulary):
    keras.utils.set_random_seed(1)
    encoder = None
    embedding = CharCNNEmbedding([[1, 4], [3, 4]], projection_dim=6, char_embedding_dim=4)
    if request.param == "words":
        encoder = VocabularyEncoder(words=vocabulary.words)
        embedding = WordEmbedding(len(vocabulary) + 1, 6)
    bilm = BiLM(2, units=8, projection_dim=6, recurrent_initializer="orthogonal")
    return LanguageModel(embedding, bilm, len(vocabulary), batch_size=2, encoder=encoder)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{' '.join(sentence)}\n" for sentence in SENTENCES))
    return Corpus(path)


def test_log_probabilities_of_the_original(golden, published):
    expected = json.loads((golden / "sentence_logprobs_zero_state.json").read_text())
    scores = SentenceScorer(*published).score([entry["tokens"] for entry in expected])
    for entry, score in zip(expected, scores, strict=True):
        assert score.tokens == entry["tokens"]
        np.testing.assert_allclose(score.forward, entry["forward_logp"], atol=1e-5)
        *words, begin = entry["backward_logp"]
        np.testing.assert_allclose(score.backward, [*words[::-1], begin], atol=1e-5)


@pytest.mark.parametrize("carry_state", [True, False])
def test_perplexity_of_the_original(golden, published, carry_state):
    reported = json.loads((golden / "perplexity.json").read_text())
    reported = reported["test"][0] if carry_state else reported["zero_state_per_sentence"]
    found = perplexity(*published, Corpus(golden / "heldout.txt"), carry_state)
    assert found["predictions"] == reported["n_predictions_per_direction"]
    for name in ("forward", "backward"):
        assert found[name] == pytest.approx(reported[name], rel=1e-4)
    assert found["mean"] == pytest.approx(reported["mean_loss_perplexity"], rel=1e-4)


def test_probabilities_of_all_words_sum_to_one(model, vocabulary):
    last = [word for word in vocabulary.words if word not in ("<S>", "</S>")]
    scores = list(SentenceScorer(model, vocabulary).score([["a", word] for word in last]))
    # Neither marker stands inside a sentence: their probabilities come from the softmax itself.
    rest = sum(np.exp(score.forward[1]) for score in scores)
    end = np.exp(next(SentenceScorer(model, vocabulary).score([["a"]])).forward[1])
    begin = 1 - rest - end
    assert 0 < begin < 0.5
    kernel, bias = (keras.ops.convert_to_numpy(w) for w in model.softmax.weights)
    outputs = np.linspace(-1, 1, 3 * kernel.shape[1], dtype="float32").reshape(3, -1)
    inputs = np.repeat(outputs[:, None], len(kernel), axis=1)
    targets = np.tile(np.arange(len(kernel), dtype="int32"), (3, 1))
    probabilities = np.exp(keras.ops.convert_to_numpy(model.softmax(inputs, targets)))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("carry_state", [True, False])
def test_a_uniform_model_has_the_perplexity_of_its_vocabulary(model, vocabulary, text, carry_state):
    model.softmax.set_weights([np.zeros(weight.shape) for weight in model.softmax.weights])
    found = perplexity(model, vocabulary, text, carry_state)
    for name in ("forward", "backward", "mean"):
        assert found[name] == pytest.approx(len(vocabulary), rel=1e-5)
    assert found["predictions"] == sum(len(sentence) + 1 for sentence in SENTENCES)


def test_a_batch_of_nothing_is_refused(model, vocabulary):
    with pytest.raises(ElmoError, match="batch_size must be at least 1, not 0"):
        SentenceScorer(model, vocabulary, batch_size=0)


def test_perplexity_of_a_loss_that_no_float_holds():
    assert perplexity_of(800.0) == np.inf
    assert perplexity_of(1.0) == np.e
    assert np.isnan(perplexity_of(np.nan))


def test_a_score_depends_on_the_sentence_alone(model, vocabulary):
    together = SentenceScorer(model, vocabulary, batch_size=3).score(SENTENCES)
    for sentence, score in zip(SENTENCES, together, strict=True):
        (alone,) = SentenceScorer(model, vocabulary, batch_size=1).score([sentence])
        assert score.tokens == sentence
        np.testing.assert_allclose(score.forward, alone.forward, atol=1e-5)
        np.testing.assert_allclose(score.backward, alone.backward, atol=1e-5)
        assert len(score.forward) == len(score.backward) == len(sentence) + 1


def test_what_has_no_word_is_refused(model, vocabulary, tmp_path):
    with pytest.raises(ElmoError, match="no word"):
        list(SentenceScorer(model, vocabulary).score([["a"], []]))
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(ElmoError, match=r"empty.txt: no sentence"):
        perplexity(model, vocabulary, Corpus(tmp_path / "empty.txt"))
