"""How good answers are, by the official definition of each task."""

import importlib
import math
import re
import string
import warnings
from collections import Counter

from keras_elmo.errors import ElmoError


def require(package):
    """Imports a package of the extra `examples`, or says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.split(".")[0]
        raise ElmoError(f'this needs {name}: pip install "keras-elmo[examples]"') from None


def tokens(truths, predictions):
    """Share of tokens whose tag is right, in percent.

    Example:
        >>> tokens([["DET", "NOUN"]], [["DET", "VERB"]])
        {'accuracy': 50.0}
    """
    rows = zip(truths, predictions, strict=True)
    right = [a == b for row in rows for a, b in zip(*row, strict=True)]
    return {"accuracy": 100.0 * sum(right) / max(1, len(right))}


def entities(truths, predictions):
    """F1, precision and recall of entities, and F1 of each type, in percent, by seqeval.

    An entity counts only where its type and both its ends are right (the CoNLL-2003 measure).

    Example:
        >>> entities([["B-PER", "O"]], [["B-PER", "O"]])["f1_PER"]
        100.0
    """
    report = require("seqeval.metrics").classification_report
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a type nobody predicted has precision 0
        found = report(truths, predictions, output_dict=True, zero_division=0)
    total = found.pop("micro avg")
    names = {"f1": "f1-score", "precision": "precision", "recall": "recall"}
    scores = {name: 100.0 * float(total[key]) for name, key in names.items()}
    for kind, values in found.items():
        if not kind.endswith(" avg"):
            scores[f"f1_{kind}"] = 100.0 * float(values["f1-score"])
    return scores


def classes(truths, predictions, names=("accuracy",)):
    """Scores of classes or of numbers as GLUE defines them, in percent.

    Args:
        truths: list of str, or of float.
        predictions: the same for the answers.
        names: of `accuracy`; `f1` of the last class in sorted order ("1", "yes"), `accuracy_f1`,
            their mean (MRPC, QQP); `matthews` (CoLA); `pearson`, `spearman` and
            `pearson_spearman`, their mean (STS-B).

    Returns:
        A dict from name to number.

    Example:
        >>> classes(["0", "1"], ["0", "0"], ["accuracy", "f1"])
        {'accuracy': 50.0, 'f1': 0.0}

    Reference:
        Wang et al. (2019), GLUE, table 1.
    """
    unknown = [name for name in names if name not in _SCORES]
    if unknown:
        raise ElmoError(f"unknown metric {unknown[0]!r}: use {', '.join(_SCORES)}")
    return {name: 100.0 * float(_SCORES[name](truths, predictions)) for name in names}


def _accuracy(truths, predictions):
    return sum(a == b for a, b in zip(truths, predictions, strict=True)) / max(1, len(truths))


def _f1(truths, predictions):
    f1_score = require("sklearn.metrics").f1_score
    return f1_score(truths, predictions, pos_label=max(truths), zero_division=0)


def _matthews(truths, predictions):
    return require("sklearn.metrics").matthews_corrcoef(truths, predictions)


def _correlation(name):
    def score(truths, predictions):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant answers correlate with nothing
            found = getattr(require("scipy.stats"), name)(truths, predictions)[0]
        return 0.0 if math.isnan(found) else found

    return score


def _mean(*functions):
    return lambda *lists: sum(function(*lists) for function in functions) / len(functions)


_PEARSON, _SPEARMAN = _correlation("pearsonr"), _correlation("spearmanr")
_SCORES = {
    "accuracy": _accuracy,
    "f1": _f1,
    "accuracy_f1": _mean(_accuracy, _f1),
    "matthews": _matthews,
    "pearson": _PEARSON,
    "spearman": _SPEARMAN,
    "pearson_spearman": _mean(_PEARSON, _SPEARMAN),
}


def squad(truths, predictions):
    """Exact match and F1 over words of answers, as SQuAD defines them, in percent.

    Lower case; punctuation, the articles a, an, the, and extra white space do not count. Of
    several true answers the nearest counts.

    Args:
        truths: list of lists of str, the answers people gave.
        predictions: list of str.

    Example:
        >>> squad([["the cat"]], ["A cat!"])
        {'f1': 100.0, 'exact_match': 100.0}

    Reference:
        Rajpurkar et al. (2016), SQuAD, section 6.1.
    """
    f1 = exact = 0.0
    for answers, prediction in zip(truths, predictions, strict=True):
        words = normalized_answer(prediction).split()
        others = [normalized_answer(answer).split() for answer in answers]
        exact += max(words == other for other in others)
        f1 += max(_overlap(words, other) for other in others)
    count = max(1, len(truths)) / 100.0
    return {"f1": f1 / count, "exact_match": exact / count}


def normalized_answer(text):
    """An answer without what SQuAD does not count.

    Example:
        >>> normalized_answer("The  U.S. army")
        'us army'
    """
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def _overlap(words, other):
    same = (Counter(words) & Counter(other)).total()
    if same == 0:
        return 0.0
    precision, recall = same / len(words), same / len(other)
    return 2 * precision * recall / (precision + recall)


def translations(references, hypotheses):
    """BLEU and chrF by sacrebleu.

    Args:
        references: list of str, the true translations.
        hypotheses: list of str.

    Example:
        >>> translations(["The cat sat ."], ["The cat sat ."])["chrf"]
        100.0
    """
    sacrebleu = require("sacrebleu")
    return {
        "bleu": sacrebleu.corpus_bleu(hypotheses, [references]).score,
        "chrf": sacrebleu.corpus_chrf(hypotheses, [references]).score,
    }
