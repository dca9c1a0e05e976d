"""From a file of sentences to a file of vectors."""

import os
import zlib
from collections import deque
from pathlib import Path

from keras import ops

from keras_elmo.embedding.journal import Journal
from keras_elmo.embedding.writers import writer_for
from keras_elmo.errors import ElmoError
from keras_elmo.files import check_space


def embed_file(
    embedder,
    sentences,
    output,
    compression=False,
    resume=False,
    overwrite=False,
    settings=None,
    progress=lambda sentences, arrays: None,
):
    """Embeds sentences into a file; a kill at any moment loses little and breaks nothing.

    The results grow in the folder `OUTPUT.partial`. At the end the output is written from them,
    and gets its name when it is whole. Begun again with `resume`, it ends in the same file.

    Args:
        embedder: an `Embedder`.
        sentences: iterable of `Sentence`.
        output: path that ends in .h5, .hdf5, .parquet or .npz.
        compression: bool, whether to compress.
        resume: bool, whether to go on with what a killed run left, if anything.
        overwrite: bool, whether an output, or what a killed run left, may be replaced.
        settings: dict of plain values, how the vectors are made; the same when it is resumed.
        progress: function that is called with a list of sentences that are done and that of their
            arrays, `None` for sentences that were done before.

    Raises:
        ElmoError: if the output exists, or resuming meets other settings or sentences.

    Example:
        >>> embed_file(Embedder(elmo), SentenceFile("text.txt", str.split), "vectors.h5")
    """
    output = Path(output)
    write = writer_for(output)
    partial = output.with_name(f"{output.name}.partial")
    temporary, log = partial / output.name, partial / "journal"
    if resume and output.is_file() and not log.exists():  # killed after it was done, or not at all
        _remove(partial, temporary, log)
        return
    _check(output, log, resume, overwrite)
    if not resume:
        _remove(partial, temporary, log)
    partial.mkdir(exist_ok=True)

    journal = Journal(log, settings or {})
    waiting = deque()
    unfinished = _after(journal, sentences, waiting, progress)
    try:
        for arrays in embedder.windows(unfinished, skip=journal.num_windows()):
            done = [waiting.popleft() for _ in arrays]
            journal.append(done, arrays)
            progress(done, arrays)
    except BaseException:
        if journal.num_windows() == 0:  # nothing to resume
            _remove(partial, temporary, log)
        raise
    needed = 0 if compression else log.stat().st_size
    check_space(output, needed, "make room and use --resume")
    write(temporary, journal.records(), compression)
    os.replace(temporary, output)
    _remove(partial, temporary, log)


def fingerprint(model):
    """A number that tells models apart: the CRC-32 of all weights."""
    checksum = 0
    for variable in model.variables:
        checksum = zlib.crc32(ops.convert_to_numpy(variable.value).tobytes(), checksum)
    return checksum


def _after(journal, sentences, waiting, progress):
    """The tokens of all sentences; those not in the journal also go to `waiting`."""
    before = journal.sentences()
    number = 0
    for number, sentence in enumerate(sentences, start=1):
        known = next(before, None)
        if known is None:
            waiting.append(sentence)
        elif known != sentence:
            raise ElmoError(
                f"sentence {number}: {sentence.text[:40]!r}, where the interrupted run had "
                f"{known.text[:40]!r}; give the same input, or --overwrite"
            )
        else:
            progress([sentence], None)
        yield sentence.tokens
    if next(before, None) is not None:
        raise ElmoError(
            f"the input ends after {number} sentences, the interrupted run had more; give the "
            "same input, or --overwrite"
        )


def _check(output, log, resume, overwrite):
    if output.is_dir():
        raise ElmoError(f"{output}: is a folder; give the name of a file")
    if not output.parent.is_dir():
        raise ElmoError(f"{output.parent}: no such folder; make it first")
    if output.exists() and not resume and not overwrite:
        raise ElmoError(f"{output}: exists; give another name, or --overwrite")
    if log.exists() and not resume and not overwrite:
        raise ElmoError(f"{log.parent}: left by an interrupted run; use --resume, or --overwrite")


def _remove(partial, temporary, log):
    temporary.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    if partial.is_dir():
        partial.rmdir()
