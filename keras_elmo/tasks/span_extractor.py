"""Answers to questions: spans of a text."""

import dataclasses

import keras
import numpy as np
from keras import ops

from keras_elmo.errors import ElmoError
from keras_elmo.layers.attention import masked_softmax
from keras_elmo.layers.bidirectional_attention import BidirectionalAttention
from keras_elmo.layers.bidirectional_attention import TrilinearSimilarity
from keras_elmo.layers.bidirectional_lstm import BidirectionalLSTM
from keras_elmo.tasks import metrics
from keras_elmo.tasks.batches import Batches
from keras_elmo.tasks.features import exact_matches
from keras_elmo.tasks.readers.squad import Question
from keras_elmo.tasks.task_model import TaskModel
from keras_elmo.tasks.task_model import checked_pair
from keras_elmo.text.spans import spans_of
from keras_elmo.text.spans import split_words

NEVER = -1e4
CANDIDATES = 20  # spans of a window that are kept


@dataclasses.dataclass(frozen=True)
class Answer:
    """A span of a text: `text[start:end]`, and how well it fits (higher is better)."""

    text: str
    start: int
    end: int
    score: float


@keras.saving.register_keras_serializable(package="keras_elmo")
class SpanExtractor(TaskModel):
    """Answers a question by a span of a text: attention flow, then attention to itself.

        t, q = BiLSTM([x ; is the word in the other text?]);  g = relu(BiDAF(t, q) W)
        s = BiLSTM(g) self-attended, added to g;  start = BiLSTM(s) w1;  end = BiLSTM(...) w2

    Examples are `Question`s or pairs `(question, text)` of str, targets lists of
    `(answer, offset)`, of which the first is learned. A text longer than `window` tokens is read
    in windows that overlap by half.

    Args:
        features: `TokenFeatures`, or an `Elmo`.
        units: int, size of each direction of the BiLSTMs.
        dropout: float in [0, 1).
        window: int, tokens of the text that are read at once.
        longest: int, tokens of the longest answer.
        **kwargs: `name` of every Keras model.

    Example:
        >>> extractor = SpanExtractor(keras_elmo.load())
        >>> extractor.predict([("Who sang?", "On Monday Anna sang.")])[0].text
        'Anna'

    Reference:
        Clark and Gardner (2018), Simple and effective multi-paragraph reading comprehension,
        section 2; Peters et al. (2018), section 4 (question answering).
    """

    texts = ("context", "question")
    compares = True

    def __init__(self, features, units=64, dropout=0.2, window=300, longest=17, **kwargs):
        super().__init__(features, **kwargs)
        self.units, self.dropout = units, dropout
        self.window, self.longest = window, longest
        self.lstm = BidirectionalLSTM(units, dropout=dropout, name="lstm")
        self.flow = BidirectionalAttention(name="flow")
        self.flow_dense = keras.layers.Dense(2 * units, activation="relu", name="flow_dense")
        self.modeling = BidirectionalLSTM(units, dropout=dropout, name="modeling")
        self.similarity = TrilinearSimilarity(name="similarity")
        self.self_dense = keras.layers.Dense(2 * units, activation="relu", name="self_dense")
        self.start_lstm = BidirectionalLSTM(units, dropout=dropout, name="start_lstm")
        self.end_lstm = BidirectionalLSTM(units, dropout=dropout, name="end_lstm")
        self.start = keras.layers.Dense(1, name="start")
        self.end = keras.layers.Dense(1, name="end")
        self._make_weights()

    def call(self, inputs, training=None):
        asked, answered = exact_matches(inputs["context"], inputs["question"])
        context, mask = self._words(inputs["context"], training, asked)
        question, question_mask = self._words(inputs["question"], training, answered)
        flow, weights = self.flow(context, question, context_mask=mask, query_mask=question_mask)
        x = self.flow_dense(flow)
        x = x + self._self_attend(self.modeling(x, mask=mask, training=training), mask)
        first = self.start_lstm(x, mask=mask, training=training)
        last = self.end_lstm(ops.concatenate([x, first], axis=-1), mask=mask, training=training)
        return {
            "start": _masked(self.start(first)[..., 0], mask),
            "end": _masked(self.end(last)[..., 0], mask),
            "attention": weights,
        }

    def _self_attend(self, x, mask):
        time = ops.shape(x)[1]
        others = ops.logical_not(ops.eye(time, dtype="bool"))
        allowed = ops.logical_and(mask[:, None, :], others)
        attended = ops.matmul(masked_softmax(self.similarity(x, x), allowed), x)
        return self.self_dense(ops.concatenate([x, attended, x * attended], axis=-1))

    def losses_of(self, targets, outputs):
        """Negative log-likelihood of the start and of the end, (batch,)."""
        return sum(
            keras.losses.sparse_categorical_crossentropy(
                targets["span"][:, k], outputs[name], from_logits=True
            )
            for k, name in enumerate(("start", "end"))
        )

    # Texts and windows

    def read(self, examples):
        """The windows of each text, with the offsets of their tokens."""
        windows = []
        for number, example in enumerate(examples):
            question, context = _parts(example)
            spans, words, asked = spans_of(context), split_words(context), split_words(question)
            last = max(1, len(spans) - self.window // 2)
            for first in range(0, last, max(1, self.window // 2)):
                here = slice(first, first + self.window)
                windows.append(
                    {
                        "context": words[here],
                        "question": asked,
                        "spans": spans[here],
                        "text": context,
                        "example": number,
                    }
                )
        return windows

    def expand(self, examples, texts, targets):
        """Where the first answer lies in each window: a span, nowhere in the text, or elsewhere."""
        targets = super().expand(examples, examples, targets)
        answers = [(text, targets[text["example"]]) for text in texts]
        places = [_place(text, *found[0]) if found else None for text, found in answers]
        held = {t["example"] for t, place in zip(texts, places, strict=True) if place}
        return [
            place or (None if text["example"] in held else ())
            for text, place in zip(texts, places, strict=True)
        ]

    def check_truths(self, examples, texts, targets):
        super().check_truths(examples, texts, targets)
        for number, answers in enumerate(targets):
            if not answers:
                raise ElmoError(f"question {number} has no answer to be scored by")

    def encode_target(self, text, target, number):
        """First and last token of the answer."""
        if not target:
            raise ElmoError(
                f"question {' '.join(text['question'])[:60]!r}: its first answer is missing, or "
                "isn't in the text at its offset"
            )
        return np.array(target, dtype=np.int32)

    def stack_targets(self, targets):
        """Spans of a batch, (batch, 2)."""
        return {"span": np.stack(targets)}

    # Answers

    def decode(self, output, text):
        """The best spans of one window."""
        spans = text["spans"]
        start, end = (output[name][: len(spans)] for name in ("start", "end"))
        scores = start[:, None] + end[None, :]
        length = np.subtract.outer(np.arange(len(spans)), np.arange(len(spans)))
        scores = np.where((length <= 0) & (length > -self.longest), scores, -np.inf)
        order = np.argsort(-scores, axis=None)[:CANDIDATES]
        places = zip(*np.unravel_index(order, scores.shape), strict=True)
        found = ((spans[a][0], spans[b][1], float(scores[a, b])) for a, b in places)
        return [
            Answer(text["text"][a:b], a, b, score) for a, b, score in found if np.isfinite(score)
        ]

    def merge(self, examples, texts, answers):
        return [found[0] for found in self._merged(examples, texts, answers)]

    def predict_best(self, examples, count=5, batch_size=32):
        """The best answers to each question, the best first.

        Args:
            examples: as for `predict`.
            count: int, how many, at most 20.
            batch_size: int.

        Returns:
            A list of lists of `Answer`.
        """
        texts = self.read(examples)
        answers = self.answers(Batches(self, texts, batch_size=batch_size))
        return [found[:count] for found in self._merged(examples, texts, answers)]

    def _merged(self, examples, texts, answers):
        best = [{} for _ in examples]
        for text, found in zip(texts, answers, strict=True):
            for answer in found:
                best[text["example"]].setdefault((answer.start, answer.end), []).append(answer)
        merged = []
        for spans in best:
            kept = [max(same, key=lambda answer: answer.score) for same in spans.values()]
            kept.sort(key=lambda answer: -answer.score)
            merged.append(kept or [Answer("", 0, 0, NEVER)])
        return merged

    def attention_of(self, text):
        """The weights of a question's words for each word of one window, from `read`."""
        outputs = self.predict_on_batch(Batches(self, [text], batch_size=1)[0][0])
        return outputs["attention"][0, : len(text["context"]), : len(text["question"])]

    def score(self, truths, predictions):
        """`f1` and `exact_match` of SQuAD, in percent."""
        texts = [[text for text, _ in answers] for answers in truths]
        return metrics.squad(texts, [answer.text for answer in predictions])

    def get_config(self):
        config = super().get_config()
        del config["tokenizer"]  # offsets need one of its own
        names = ("units", "dropout", "window", "longest")
        return {**config, **{name: getattr(self, name) for name in names}}


def _parts(example):
    """The question and the text of a `Question` or a pair."""
    if isinstance(example, Question):
        return example.question, example.context
    return checked_pair(example)


def _place(text, answer, offset):
    """First and last token of an answer in a window, or `None`."""
    end = offset + len(answer)
    spans = text["spans"]
    if not answer or text["text"][offset:end] != answer or not spans:
        return None
    if offset < spans[0][0] or end > spans[-1][1]:
        return None
    inside = [k for k, (a, b) in enumerate(spans) if a < end and b > offset]
    return (inside[0], inside[-1]) if inside else None


def _masked(logits, mask):
    return ops.where(mask, logits, ops.full_like(logits, NEVER))
