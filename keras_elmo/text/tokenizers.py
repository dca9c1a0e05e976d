"""Raw text to tokens: the tokenizers that have a name."""

from keras_elmo.errors import ElmoError
from keras_elmo.text.spans import split_words

# The marks that the Penn Treebank, and with it the text ELMo was trained on, has in ASCII.
_STRAIGHT = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": " - ", "—": " -- ", "…": " ... "}
)


def get_tokenizer(tokenizer=None):
    """A function that turns one sentence of raw text into its tokens.

    - `"whitespace"`: `str.split`, for text that is tokenized already.
    - `"treebank"`: Penn-Treebank style, as the published models were trained on: contractions and
      punctuation split off, quotes straight, dashes and ellipses in ASCII. NLTK's word tokenizer,
      which needs no data. Feed it one sentence at a time: only a final period is split off.
    - `"words"`: words and single marks, contractions split as in the Penn Treebank; for any
      language with spaces between words. Needs no package.
    - `"tensorflow-text"`: splits on whitespace and Unicode script, the same as in a graph
      (`keras_elmo.text.tokenizer.split_sentences`).

    Args:
        tokenizer: one of these names, any function from str to a list of str, or None for
            `"whitespace"`.

    Returns:
        A function from str to a list of str.

    Raises:
        ElmoError: if the name is unknown.

    Example:
        >>> get_tokenizer("treebank")("“They’re here,” he said.")
        ['"', 'They', "'re", 'here', ',', '"', 'he', 'said', '.']
    """
    if callable(tokenizer):
        return tokenizer
    factory = _NAMED.get("whitespace" if tokenizer is None else tokenizer)
    if factory is None:
        raise ElmoError(
            f"Unknown tokenizer {tokenizer!r}: use a function, or one of {', '.join(_NAMED)}."
        )
    return factory()


def _treebank():
    try:
        from nltk.tokenize import NLTKWordTokenizer
    except ImportError as error:
        raise ElmoError(
            'The treebank tokenizer needs NLTK: pip install "keras-elmo[text]"'
        ) from error

    split = NLTKWordTokenizer().tokenize

    def tokenize(text):
        tokens = split(text.translate(_STRAIGHT))
        return ['"' if token in ("``", "''") else token for token in tokens]

    return tokenize


def _tensorflow_text():
    from keras_elmo.text.tokenizer import unicode_script_tokenizer

    split = unicode_script_tokenizer().tokenize
    return lambda text: [token.decode() for token in split(text).numpy()]


_NAMED = {
    "tensorflow-text": _tensorflow_text,
    "treebank": _treebank,
    "whitespace": lambda: str.split,
    "words": lambda: split_words,
}
