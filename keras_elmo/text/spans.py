"""Words and marks of raw text, with their places in it."""

import re

# Contractions are split as in the Penn Treebank, and so in what the models were trained on.
_TOKEN = re.compile(r"\w+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|\w+|[^\w\s]", re.IGNORECASE)


def spans_of(text):
    """The words and single marks of a text, as `(start, end)` offsets.

    Example:
        >>> spans_of("It's 5.")
        [(0, 2), (2, 4), (5, 6), (6, 7)]
    """
    return [match.span() for match in _TOKEN.finditer(text)]


def split_words(text):
    """The words and single marks of a text; apostrophes are straight.

    Example:
        >>> split_words("They don’t.")
        ['They', 'do', "n't", '.']
    """
    return _TOKEN.findall(text.replace("’", "'"))
