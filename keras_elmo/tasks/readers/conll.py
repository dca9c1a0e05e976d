"""Sentences with a tag for each token: BIO files, CoNLL-2003 and the like, CoNLL-U."""

from collections import Counter
from itertools import chain
from pathlib import Path

from keras_elmo.errors import ElmoError
from keras_elmo.tasks.readers.lines import Faults
from keras_elmo.tasks.readers.lines import lines
from keras_elmo.tasks.tags import broken
from keras_elmo.tasks.tags import is_bio
from keras_elmo.tasks.tags import mended

DOCUMENT = "-DOCSTART-"
LEFT_OUT = "the sentence is left out"


def read_conll(path, token_column=None, tag_column=None, strict=True, scheme=None):
    """Reads sentences and their tags: a token a line, a blank line between sentences.

    Columns are separated by tabs, in lines without a tab by spaces. Lines of `-DOCSTART-` are
    left out. In CoNLL-U (`.conllu`, `.conllu.gz`) the tags are the universal parts of speech, and
    comments, multiword tokens and empty nodes are left out.

    Args:
        path: file, also `.gz`.
        token_column: int from 0; `None`: 0, in CoNLL-U 1.
        tag_column: int; `None`: the last one, in CoNLL-U 3.
        strict: bool. False mends an I- tag that nothing began (IOB1 has these) to a B- tag, and
            leaves out sentences with a line of another number of columns or a tag that is not of
            the scheme.
        scheme: `"bio"`: tags other than O, B-type and I-type are faults; `None`: any tags.

    Returns:
        A list of lists of tokens, and a list of lists of tags.

    Raises:
        ElmoError: at the first fault, with its line; if no sentence is left, or no entity is
            among tags of the scheme.

    Example:
        >>> sentences, tags = read_conll("train.bio", scheme="bio")
    """
    conllu = ".conllu" in Path(path).suffixes[-2:]
    token = token_column if token_column is not None else 1 if conllu else 0
    tag = tag_column if tag_column is not None else 3 if conllu else -1
    with Faults(path, strict) as faults:
        blocks = _checked(list(filter(None, _blocks(path, conllu))), token, tag, faults)
        if scheme == "bio":
            blocks = [block for block in blocks if _all_bio(block, tag, faults)]
        tags = [[columns[tag] for _, columns in block] for block in blocks]
        _check_left(path, tags, scheme)
        if is_bio(chain.from_iterable(tags)):
            for block, sentence in zip(blocks, tags, strict=True):
                for position in broken(sentence):
                    message = f"{sentence[position]} continues an entity that nothing began"
                    faults.add(block[position][0], message, "it begins one")
            tags = [mended(sentence) for sentence in tags]
    return [[columns[token] for _, columns in block] for block in blocks], tags


def _checked(blocks, token, tag, faults):
    """The sentences all of whose lines have the usual number of columns."""
    widths = Counter(len(columns) for block in blocks for _, columns in block)
    if not blocks:
        raise ElmoError(f"{faults.path}: holds no sentence; expected a token and its tag a line")
    width = widths.most_common(1)[0][0]
    if not -width <= min(token, tag) <= max(token, tag) < width or (token - tag) % width == 0:
        raise ElmoError(
            f"{faults.path}, line {blocks[0][0][0]}: {width} columns, but a token and its tag are "
            f"looked for in columns {token} and {tag}"
        )
    good = []
    for block in blocks:
        wrong = [(n, c) for n, c in block if len(c) != width or not (c[token] and _is_word(c[tag]))]
        if wrong:
            number, columns = wrong[0]
            same = len(columns) == width
            message = f"{len(columns)} columns where others have {width}"
            empty = "an empty token, or a tag that is not one word"
            faults.add(number, empty if same else message, LEFT_OUT)
        else:
            good.append(block)
    return good


def _is_word(tag):
    return len(tag.split()) == 1


def _all_bio(block, tag, faults):
    """Whether the tags of a sentence are of the BIO scheme."""
    for number, columns in block:
        if columns[tag] != "O" and not is_bio([columns[tag]]):
            message = f"the tag {columns[tag]!r} is not of BIO, which has O, B-type and I-type"
            faults.add(number, message, LEFT_OUT)
            return False
    return True


def _check_left(path, tags, scheme):
    if not tags:
        raise ElmoError(f"{path}: no sentence is left, each has a fault")
    if scheme == "bio" and not is_bio(chain.from_iterable(tags)):
        raise ElmoError(f"{path}: holds no entity, every tag is O")


def _blocks(path, conllu):
    block = []
    for number, line in lines(path):
        if not line.strip():
            yield block
            block = []
        elif line.startswith(DOCUMENT) or (conllu and line.startswith("#")):
            continue
        else:
            columns = line.split("\t") if "\t" in line else line.split()
            if not conllu or columns[0].isdigit():
                block.append((number, columns))
    yield block
