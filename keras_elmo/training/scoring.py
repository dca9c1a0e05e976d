"""How likely sentences are, word by word, read from either end."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from keras import ops

from keras_elmo import backend
from keras_elmo.errors import ElmoError
from keras_elmo.errors import check_counts
from keras_elmo.layers.bilm import DIRECTIONS
from keras_elmo.text.characters import BOS
from keras_elmo.text.characters import EOS
from keras_elmo.training.windows import Windows
from keras_elmo.training.windows import round_up

SORTED_TOGETHER = 32  # batches, whose sentences are ordered by length
MAX_EXPONENT = 709
TIME_STEP, WORDS_STEP = 16, 256  # shapes are rounded up to these, so that few programs come up


def perplexity_of(loss):
    """The exponential of a mean loss, infinite where a float cannot hold it.

    Example:
        >>> perplexity_of(0.0)
        1.0
    """
    return math.inf if loss > MAX_EXPONENT else math.exp(loss)


@dataclass
class Score:
    """Natural log-probabilities of a sentence; words outside the vocabulary count as `<UNK>`.

    Attributes:
        tokens: list of n str.
        forward: (n + 1,), of each word after those before it, and of the sentence's end.
        backward: (n + 1,), of each word before those after it, and of the sentence's begin.
    """

    tokens: list
    forward: np.ndarray
    backward: np.ndarray

    @property
    def total(self):
        """Mean of the two directions' log-probabilities of the sentence."""
        return float(self.forward.sum() + self.backward.sum()) / 2


class SentenceScorer:
    """Scores sentences by a language model: the full softmax, and no state between sentences.

    Args:
        model: `LanguageModel`.
        vocabulary: `Vocabulary` of its softmax.
        batch_size: int, sentences a batch; changes no number.

    Raises:
        ElmoError: if `batch_size` is below 1.

    Example:
        >>> scorer = SentenceScorer(*load_language_model("my_elmo"))
        >>> good, bad = scorer.score([["The", "cats", "sleep"], ["The", "cats", "sleeps"]])
        >>> good.total > bad.total
        True

    Reference:
        Warstadt et al. (2020), BLiMP: the benchmark of linguistic minimal pairs.
    """

    def __init__(self, model, vocabulary, batch_size=32):
        check_counts(batch_size=batch_size)
        self._encoder, self._vocabulary = model.encoder, vocabulary
        self._batch_size = batch_size
        self._losses = backend.jit(lambda batch: model.losses(batch)[0], model)

    def score(self, sentences):
        """Scores sentences as they come, so they may be more than memory holds.

        Args:
            sentences: iterable of lists of str; none may be empty.

        Yields:
            A `Score` for each, in their order.

        Raises:
            ElmoError: if a sentence has no word.
        """
        sentences = iter(sentences)
        while chunk := list(itertools.islice(sentences, SORTED_TOGETHER * self._batch_size)):
            if not all(chunk):
                raise ElmoError("a sentence has no word; there is nothing to score in it")
            order = sorted(range(len(chunk)), key=lambda k: len(chunk[k]))
            scores = [None] * len(chunk)
            for start in range(0, len(order), self._batch_size):
                numbers = order[start : start + self._batch_size]
                for k, score in zip(numbers, self._score([chunk[k] for k in numbers]), strict=True):
                    scores[k] = score
            yield from scores

    def _score(self, sentences):
        losses = [ops.convert_to_numpy(part) for part in self._losses(self._batch(sentences))]
        for tokens, forward, backward in zip(sentences, *losses, strict=False):
            size = len(tokens) + 1
            # The backward stream reads wn .. w1 and <S>.
            words, begin = -backward[: size - 1][::-1], -backward[size - 1 : size]
            yield Score(tokens, -forward[:size], np.concatenate([words, begin]))

    def _batch(self, sentences):
        places = {}
        shape = self._batch_size, round_up(max(map(len, sentences)) + 1, TIME_STEP)
        inputs, targets = np.zeros((2, 2, *shape), np.int32)
        mask = np.zeros(shape, bool)
        for i, tokens in enumerate(sentences):
            size = len(tokens) + 1
            for k, words in enumerate(([BOS, *tokens, EOS], [EOS, *tokens[::-1], BOS])):
                ids = [places.setdefault(word, len(places)) for word in words]
                inputs[k, i, :size] = ids[:-1]
                targets[k, i, :size] = self._vocabulary.encode(words[1:])
            mask[i, :size] = True
        rows = round_up(len(places), WORDS_STEP)
        ids = np.zeros((rows, self._encoder.max_word_length), np.int32)
        ids[: len(places)] = self._encoder.encode_words(list(places))
        batch = {"char_ids": ids, "mask": mask}
        for direction, *arrays in zip(DIRECTIONS, inputs, targets, strict=True):
            batch[direction], batch[f"{direction}_targets"] = arrays
        return batch


def perplexity(model, vocabulary, corpus, carry_state=False, batch_size=32, unroll=50):
    """Perplexity on a text: `exp` of the mean negative log-likelihood of its true words.

    Args:
        model: `LanguageModel`.
        vocabulary: `Vocabulary` of its softmax.
        corpus: `Corpus`.
        carry_state: whether the LSTM state goes on from sentence to sentence, along each of the
            model's `batch_size` rows, as in training; without, each sentence stands alone.
        batch_size: int, sentences a batch where each stands alone; changes no number.
        unroll: int, tokens a step where the state is carried; changes no number with one row.

    Returns:
        A dict: `forward`, `backward`, `mean` (of the mean of the two losses), and `predictions`,
        how many each direction made.

    Raises:
        ElmoError: if the text is empty.

    Example:
        >>> perplexity(*load_language_model("my_elmo"), Corpus("heldout.txt"))["mean"]
        88.1
    """
    if not corpus.num_sentences():
        raise ElmoError(f"{', '.join(corpus.paths)}: no sentence in it, so no perplexity")
    predictions = corpus.num_predictions()
    if carry_state:
        losses = _carried_losses(model, vocabulary, corpus, unroll)
    else:
        scores = SentenceScorer(model, vocabulary, batch_size).score(corpus)
        sums = np.zeros(2)
        for score in scores:
            sums -= score.forward.sum(dtype="float64"), score.backward.sum(dtype="float64")
        losses = sums / predictions
    return {
        **{name: perplexity_of(loss) for name, loss in zip(DIRECTIONS, losses, strict=True)},
        "mean": perplexity_of(sum(losses) / 2),
        "predictions": predictions,
    }


def _carried_losses(model, vocabulary, corpus, unroll):
    windows = Windows(
        corpus,
        vocabulary,
        model.batch_size,
        unroll,
        widest_filter=model.embedding.max_width,
        complete=True,
        encoder=model.encoder,
    )
    losses = backend.jit(model.losses, model)
    state = [ops.convert_to_numpy(part) for part in model.bilm.get_initial_state(model.batch_size)]
    sums, count = np.zeros(2), 0
    for batch in windows:
        parts, state = losses(batch, state)
        sums += [ops.convert_to_numpy(part)[batch["mask"]].sum(dtype="float64") for part in parts]
        count += batch["mask"].sum()
    return sums / count
