"""Tags of the BIO scheme: what may follow what, and how to mend what may not."""


def is_bio(tags):
    """Whether all tags are O, B-type or I-type, and not all of them O.

    Example:
        >>> is_bio(["O", "B-PER"]), is_bio(["NOUN", "VERB"])
        (True, False)
    """
    tags = set(tags)
    return tags != {"O"} and all(tag == "O" or tag[:2] in ("B-", "I-") for tag in tags)


def may_follow(tag, before):
    """Whether a tag may stand behind another one, or (`before=None`) at the beginning."""
    if not tag.startswith("I-"):
        return True
    return before is not None and before[1:] == tag[1:] and before[0] in "BI"


def broken(tags):
    """Positions of the tags that may not follow the one before.

    Example:
        >>> broken(["O", "I-PER", "I-PER", "I-LOC"])
        [1, 3]
    """
    before = [None, *tags[:-1]]
    return [k for k, tag in enumerate(tags) if not may_follow(tag, before[k])]


def mended(tags):
    """The tags, where one that is broken begins an entity of its own.

    Example:
        >>> mended(["O", "I-PER", "I-PER", "I-LOC"])
        ['O', 'B-PER', 'I-PER', 'B-LOC']
    """
    wrong = set(broken(tags))
    return [f"B{tag[1:]}" if k in wrong else tag for k, tag in enumerate(tags)]


def constraints(labels):
    """What a CRF over these labels allows.

    Args:
        labels: list of K tags.

    Returns:
        `allowed_transitions` (K, K) and `allowed_starts` (K,), nested lists of bool.

    Example:
        >>> constraints(["O", "B-PER", "I-PER"])[1]
        [True, True, False]
    """
    transitions = [[may_follow(tag, before) for tag in labels] for before in labels]
    return transitions, [may_follow(tag, None) for tag in labels]
