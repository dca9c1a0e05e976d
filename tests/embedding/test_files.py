import gzip
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from keras_elmo.embedding import files
from keras_elmo.embedding.files import embed_file
from keras_elmo.embedding.journal import Journal
from keras_elmo.embedding.journal import Sentence
from keras_elmo.embedding.reading import SentenceFile
from keras_elmo.embedding.writers import WRITERS
from keras_elmo.embedding.writers import write_npz
from keras_elmo.embedding.writers import writer_for
from keras_elmo.errors import ElmoError

TEXTS = ["a / a .", "a / a .", ".", "x", "", "0", "sentence_to_index", "Grüße 😀"]
SENTENCES = [Sentence(text, text.split()) for text in TEXTS]


class Words:
    """Stands for an `Embedder`: two sentences a window, each token its length."""

    def __init__(self, fail_at=None):
        self.fail_at = fail_at
        self.computed = 0

    def windows(self, sentences, skip=0):
        window = []
        for number, tokens in enumerate(sentences):
            if number == self.fail_at:
                raise KeyboardInterrupt
            window.append(np.array([[[len(t)] * 4 for t in tokens]], "float32").reshape(1, -1, 4))
            if len(window) == 2:
                if number // 2 >= skip:
                    self.computed += 2
                    yield window
                window = []
        if window:
            self.computed += 1
            yield window


def records():
    for number, sentence in enumerate(SENTENCES):
        yield sentence, np.full((3, len(sentence.tokens), 4), number, "float32")


def read(path):
    """Arrays by name."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            return {name: file[name] for name in file.files if name != "sentences"}
    if path.suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = parquet.read_table(path).to_pylist()
        dtype = parquet.read_schema(path).field("vectors").type.value_type.to_pandas_dtype()
        return {
            str(n): np.array(row["vectors"], dtype).reshape(row["shape"])
            for n, row in enumerate(rows)
        }
    with h5py.File(path) as file:
        return {name: file[name][...] for name in file if name != "sentence_to_index"}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("compression", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_every_format_holds_every_sentence(suffix, compression, dtype, tmp_path):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"vectors{suffix}"
    writer_for(path)(path, ((s, v.astype(dtype)) for s, v in records()), compression)
    found = read(path)
    assert sorted(found) == [str(n) for n in range(len(TEXTS))]
    for number, (_, vectors) in enumerate(records()):
        assert found[str(number)].dtype == dtype
        np.testing.assert_array_equal(found[str(number)], vectors)


@pytest.mark.parametrize("suffix", WRITERS)
def test_no_sentence_at_all(suffix, tmp_path):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"vectors{suffix}"
    writer_for(path)(path, iter([]))
    assert read(path) == {}


def test_hdf5_is_that_of_allennlp(tmp_path):
    path = tmp_path / "vectors.hdf5"
    writer_for(path)(path, records())
    with h5py.File(path) as file:
        index = json.loads(file["sentence_to_index"][0])
        assert index["x"] == "3"
        assert index["a / a ."] == "1"
        assert index["sentence_to_index"] == "6"
        assert file["3"].shape == (3, 1, 4)


def test_compression_saves_space(tmp_path):
    vectors = np.repeat(np.arange(50.0, dtype="float32"), 200).reshape(1, -1, 10)
    for compression in (False, True):
        for suffix in (".h5", ".npz"):
            path = tmp_path / f"{compression}{suffix}"
            writer_for(path)(path, [(SENTENCES[0], vectors)] * 5, compression)
    for suffix in (".h5", ".npz"):
        plain, small = ((tmp_path / f"{c}{suffix}").stat().st_size for c in (False, True))
        assert small < 0.5 * plain


def test_npz_needs_no_pickle_and_knows_the_texts(tmp_path):
    write_npz(tmp_path / "vectors.npz", records())
    with np.load(tmp_path / "vectors.npz", allow_pickle=False) as file:
        assert file["sentences"].tolist() == TEXTS


def test_parquet_columns(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "vectors.parquet"
    writer_for(path)(path, records())
    row = parquet.read_table(path).to_pylist()[0]
    assert (row["text"], row["tokens"]) == ("a / a .", ["a", "/", "a", "."])


def test_unknown_ending(tmp_path):
    with pytest.raises(ElmoError, match=r"vectors.txt: the name must end in one of .h5"):
        embed_file(Words(), SENTENCES, tmp_path / "vectors.txt")


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_elmo.embedding.writers.find_spec", lambda name: None)
    with pytest.raises(ElmoError, match=r'pip install "keras-elmo\[parquet\]"'):
        writer_for(tmp_path / "vectors.parquet")


@pytest.mark.parametrize("cut", range(0, 400, 7))
def test_journal_cut_anywhere_holds_whole_windows(cut, tmp_path):
    path = tmp_path / "journal"
    journal = Journal(path, {"a": 1})
    pairs = list(records())
    for first in (0, 3):
        journal.append(*map(list, zip(*pairs[first : first + 3], strict=True)))
    whole = path.read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    again = Journal(path, {"a": 1})
    kept = list(again.records())
    assert len(kept) in (0, 3, 6)
    assert len(kept) == 3 * again.num_windows() == len(list(again.sentences()))
    assert (len(kept) == 6) == (cut == 0)
    for (sentence, vectors), (expected, other) in zip(kept, pairs, strict=False):
        assert sentence == expected
        np.testing.assert_array_equal(vectors, other)
    again.append([SENTENCES[0]], [np.ones((1, 4, 2), "float32")])
    assert len(list(Journal(path, {"a": 1}).records())) == len(kept) + 1


@pytest.mark.parametrize("fail_at", [0, 1, 3, 7])
@pytest.mark.parametrize("suffix", [".h5", ".npz"])
def test_resumed_is_uninterrupted(fail_at, suffix, tmp_path):
    whole, output = tmp_path / f"whole{suffix}", tmp_path / f"vectors{suffix}"
    embed_file(Words(), SENTENCES, whole)
    with pytest.raises(KeyboardInterrupt):
        embed_file(Words(fail_at), SENTENCES, output)
    assert not output.exists()
    assert Path(f"{output}.partial").exists() == (fail_at > 1)
    again = Words()
    embed_file(again, SENTENCES, output, resume=True)
    assert output.read_bytes() == whole.read_bytes()
    assert again.computed == len(SENTENCES) - fail_at // 2 * 2
    embed_file(Words(fail_at=0), SENTENCES, output, resume=True)  # there is nothing left to do
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([whole.name, output.name])


def test_failure_while_writing_loses_nothing(tmp_path, monkeypatch):
    output = tmp_path / "vectors.h5"

    def full_disk(path, records, compression):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(files, "writer_for", lambda path: full_disk)
        with pytest.raises(OSError, match="No space left"):
            embed_file(Words(), SENTENCES, output)
    assert not output.exists()
    again = Words()
    embed_file(again, SENTENCES, output, resume=True)
    assert again.computed == 0
    assert len(read(output)) == len(SENTENCES)


def test_no_space_for_the_output(tmp_path, monkeypatch):
    output = tmp_path / "vectors.h5"
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=10))
        with pytest.raises(ElmoError, match=r"vectors.h5: no space left .* use --resume"):
            embed_file(Words(), SENTENCES, output)
    embed_file(Words(fail_at=99), SENTENCES, output, resume=True)
    assert len(read(output)) == len(SENTENCES)


def interrupted(tmp_path, **arguments):
    with pytest.raises(KeyboardInterrupt):
        embed_file(Words(fail_at=5), SENTENCES, tmp_path / "vectors.h5", **arguments)
    return tmp_path / "vectors.h5"


def test_resuming_with_other_settings(tmp_path):
    output = interrupted(tmp_path, settings={"layers": "top"})
    with pytest.raises(ElmoError, match="begun with layers=top, now layers=all"):
        embed_file(Words(), SENTENCES, output, resume=True, settings={"layers": "all"})


def test_resuming_with_other_sentences(tmp_path):
    output = interrupted(tmp_path)
    with pytest.raises(ElmoError, match="sentence 1: 'x', where the interrupted run had 'a / a .'"):
        embed_file(Words(), SENTENCES[3:], output, resume=True)
    with pytest.raises(ElmoError, match="the input ends after 1 sentences"):
        embed_file(Words(), SENTENCES[:1], output, resume=True)


def test_output_in_the_way(tmp_path):
    output = tmp_path / "vectors.h5"
    output.write_text("old")
    with pytest.raises(ElmoError, match=r"vectors.h5: exists; .*--overwrite"):
        embed_file(Words(), SENTENCES, output)
    assert output.read_text() == "old"
    embed_file(Words(), SENTENCES, output, overwrite=True)
    assert len(read(output)) == len(SENTENCES)
    (tmp_path / "folder.h5").mkdir()
    with pytest.raises(ElmoError, match=r"folder.h5: is a folder"):
        embed_file(Words(), SENTENCES, tmp_path / "folder.h5", overwrite=True)
    with pytest.raises(ElmoError, match=r"none: no such folder"):
        embed_file(Words(), SENTENCES, tmp_path / "none" / "vectors.h5")


def test_what_a_killed_run_left_is_not_thrown_away(tmp_path):
    output = interrupted(tmp_path)
    with pytest.raises(ElmoError, match="left by an interrupted run; use --resume"):
        embed_file(Words(), SENTENCES, output)
    again = Words()
    embed_file(again, SENTENCES, output, overwrite=True)
    assert again.computed == len(SENTENCES)


def sentence_file(tmp_path, name, data, **arguments):
    path = tmp_path / name
    path.write_bytes(data)
    return SentenceFile(path, str.split, **arguments)


def test_text(tmp_path):
    data = "\ufeffThe cat\r\n  sat\t. \nlast".encode()
    compressed = sentence_file(tmp_path, "text.txt.gz", gzip.compress(data))
    for source in (sentence_file(tmp_path, "text.txt", data), compressed):
        assert [s.tokens for s in source] == [["The", "cat"], ["sat", "."], ["last"]]
        assert source.tokens == 5
    assert source.position() == source.size


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b\nc\n")))
    source = SentenceFile("-", str.split)
    assert [sentence.tokens for sentence in source] == [["a", "b"], ["c"]]
    assert (source.size, source.position()) == (None, 0)


@pytest.mark.parametrize("name", ["text.txt", "text.txt.gz"])
def test_not_utf8(name, tmp_path):
    data = b"good\n" * 6 + b"bad \xff here\n"
    data = gzip.compress(data) if name.endswith("gz") else data
    with pytest.raises(ElmoError, match=rf"{name}, line 7: not UTF-8 \(byte 0xff in column 5\)"):
        list(sentence_file(tmp_path, name, data))


def test_blank_line(tmp_path):
    data = b"a\nb\n \t\nc\n"
    with pytest.raises(ElmoError, match=r"text.txt, line 3: no token .*--allow-empty"):
        list(sentence_file(tmp_path, "text.txt", data))
    allowed = sentence_file(tmp_path, "text.txt", data, allow_empty=True)
    assert [sentence.tokens for sentence in allowed] == [["a"], ["b"], [], ["c"]]


@pytest.mark.parametrize(
    "data",
    [b"no gzip at all", gzip.compress(b"a b\n" * 9999)[:-20]],
    ids=["another kind", "truncated"],
)
def test_broken_gz(data, tmp_path):
    with pytest.raises(ElmoError, match=r"text.gz, line \d+: broken .gz file"):
        list(sentence_file(tmp_path, "text.gz", data))


CONLLU = """# text = don't stop
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\t_\t_\t_\t_\t_\t_\t_\t_
2\tn't\t_\t_\t_\t_\t_\t_\t_\t_
2.1\tever\t_\t_\t_\t_\t_\t_\t_\t_
3\tstop\t_\t_\t_\t_\t_\t_\t_\t_


1\tYes\t_\t_\t_\t_\t_\t_\t_\t_"""


@pytest.mark.parametrize("name", ["tree.conllu", "tree.conllu.gz"])
def test_conllu(name, tmp_path):
    data = CONLLU.encode()
    source = sentence_file(tmp_path, name, gzip.compress(data) if name.endswith("gz") else data)
    assert list(source) == [("do n't stop", ["do", "n't", "stop"]), ("Yes", ["Yes"])]


@pytest.mark.parametrize(
    ("line", "message"),
    [("1\tdo", "CoNLL-U has 10 columns, here are 2"), ("x" + "\t_" * 9, "'x' is not the number")],
)
def test_not_conllu(line, message, tmp_path):
    with pytest.raises(ElmoError, match=rf"bad.conllu, line 2: {message}"):
        list(sentence_file(tmp_path, "bad.conllu", f"# text\n{line}\n".encode()))


SLOW = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.embedding.test_files import SENTENCES, Words, embed_file

def slowly():
    for sentence in SENTENCES:
        time.sleep(0.2)
        yield sentence

print("ready", flush=True)
embed_file(Words(), slowly(), Path("vectors.h5"))
"""


def test_killed_process(tmp_path):
    root = str(Path(__file__).resolve().parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW.format(root=root)], cwd=tmp_path, stdout=subprocess.PIPE
    )
    process.stdout.readline()
    log = tmp_path / "vectors.h5.partial" / "journal"
    while not (log.exists() and log.stat().st_size > 100):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "vectors.h5").exists()
    again = Words()
    embed_file(again, SENTENCES, tmp_path / "vectors.h5", resume=True)
    assert 0 < again.computed < len(SENTENCES)
    embed_file(Words(), SENTENCES, tmp_path / "whole.h5")
    assert (tmp_path / "vectors.h5").read_bytes() == (tmp_path / "whole.h5").read_bytes()
