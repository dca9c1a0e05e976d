"""Pictures for a person: how the mix moves, which layer knows what, what is mixed up.

Each function writes one file; its ending says the format (.png, .svg, .pdf).
"""

from collections import Counter

import numpy as np

from keras_elmo.tasks.metrics import require

LABELED = 12  # points of a picture that have their label beside them


def _figure(width=6.0, height=4.0):
    figure = require("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def training(history, path):
    """The loss, and the score of the held-out examples, after each epoch.

    Args:
        history: what `fit` returned.
        path: file to write.
    """
    figure, axes = _figure()
    epochs = [1 + epoch for epoch in history.epoch]
    axes.plot(epochs, history.history["loss"], "o-", color="tab:gray", label="loss")
    axes.set(xlabel="epoch", ylabel="loss")
    _whole_epochs(axes)
    name = next((name for name in history.history if name.startswith("val_")), None)
    if name is not None:
        right = axes.twinx()
        right.plot(epochs, history.history[name], "o-", color="tab:blue", label=name[4:])
        right.set_ylabel(f"held-out {name[4:]}")
    figure.legend(loc="outside upper center", ncols=2)
    figure.savefig(path)


def mixes(history, path):
    """The shares of ELMo's layers after each epoch, one panel for each place.

    Args:
        history: what `fit` returned.
        path: file to write.
    """
    places = {place: np.array(shares) for place, shares in history.mixes.items()}
    figure = require("matplotlib.figure").Figure(
        figsize=(5.0 * max(1, len(places)), 3.5), layout="constrained"
    )
    panels = figure.subplots(1, max(1, len(places)), squeeze=False)[0]
    for axes, (place, shares) in zip(panels, places.items(), strict=False):
        for layer, line in enumerate(shares.T):
            # The later ones are thinner, so that equal shares all show.
            width = 2 * len(shares.T) - 2 * layer
            axes.plot(1 + np.arange(len(line)), line, "o-", lw=width, label=f"layer {layer}")
        axes.set(xlabel="epoch", ylabel="share", title=f"ELMo at the {place}", ylim=(-0.05, 1.05))
        _whole_epochs(axes)
        axes.legend()
    figure.savefig(path)


def bars(scores, path, ylabel="score"):
    """A bar for each entry: the F1 of each type, or the score of each layer.

    Args:
        scores: dict from name to number.
        path: file to write.
        ylabel: what the numbers are.
    """
    figure, axes = _figure(max(4.0, 0.9 * len(scores)))
    drawn = axes.bar(list(scores), list(scores.values()), color="tab:blue")
    axes.bar_label(drawn, fmt="%.1f")
    axes.margins(y=0.1)
    axes.set_ylabel(ylabel)
    axes.set_xticks(range(len(scores)), list(scores), rotation=30, ha="right")
    figure.savefig(path)


def confusion(truths, predictions, path):
    """How often each label was taken for which, in shares of the true label's number.

    Args:
        truths: list of labels, or of lists of labels.
        predictions: the same for the answers.
        path: file to write.
    """
    pairs = Counter()
    for truth, prediction in zip(truths, predictions, strict=True):
        if isinstance(truth, str):
            pairs[truth, prediction] += 1
        else:
            pairs.update(zip(truth, prediction, strict=True))
    labels = sorted({label for pair in pairs for label in pair})
    counts = np.array([[pairs[a, b] for b in labels] for a in labels], dtype=float)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    size = max(4.0, 0.5 * len(labels))
    figure, axes = _figure(size + 1, size)
    _heat(figure, axes, shares, labels, labels)
    axes.set(xlabel="answer", ylabel="truth")
    figure.savefig(path)


def attention(weights, rows, columns, path):
    """Which words of a question each word of a text looks at.

    Args:
        weights: (rows, columns) array.
        rows: list of str, words of the text.
        columns: list of str, words of the question.
        path: file to write.
    """
    figure, axes = _figure(1.5 + 0.35 * len(columns), 1.5 + 0.25 * len(rows))
    _heat(figure, axes, np.asarray(weights), rows, columns)
    figure.savefig(path)


def neighbors(vectors, labels, groups, path, title=""):
    """Vectors in the plane of their two largest principal components.

    A few points of each group have their label beside them: more could not be read.

    Args:
        vectors: (points, D) array.
        labels: list of str, written beside the points.
        groups: list of str, one color each.
        path: file to write.
        title: str, above the picture.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    centered = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)
    plane = centered @ directions[:2].T
    plane = np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))  # a single point has no directions
    figure, axes = _figure(8.0, 6.0)
    for group in dict.fromkeys(groups):
        chosen = [k for k, name in enumerate(groups) if name == group]
        axes.scatter(*plane[chosen].T, label=group)
        for k in chosen[: max(2, LABELED // len(set(groups)))]:
            axes.annotate(
                labels[k], plane[k], fontsize=7, xytext=(3, 3), textcoords="offset points"
            )
    axes.set_title(title)
    axes.margins(x=0.2)
    axes.legend()
    figure.savefig(path)


def _whole_epochs(axes):
    axes.xaxis.get_major_locator().set_params(integer=True)


def _heat(figure, axes, values, rows, columns):
    figure.colorbar(axes.imshow(values, cmap="Blues", vmin=0, aspect="auto"))
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(rows)), rows)
