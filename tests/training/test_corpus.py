import gzip

import pytest

from keras_elmo.errors import ElmoError
from keras_elmo.training import corpus as corpus_module
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.corpus import SentenceStream


@pytest.fixture
def files(tmp_path):
    for name in "abcd":
        lines = [f"{name}{i} x" for i in range(25)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_files_patterns_and_gzip(files):
    with gzip.open(files / "e.txt.gz", "wt") as file:
        file.write("e0 x\n")
    corpus = Corpus([files / "b.txt", f"{files}/[ae].txt*"])
    assert [path[-6:] for path in corpus.paths] == ["/b.txt", "/a.txt", "txt.gz"]
    assert len(list(corpus)) == 51
    assert list(corpus)[-1] == ["e0", "x"]


def test_blank_lines_crlf_and_byte_order_mark(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("\ufeffA cat\r\n\r\n  \r\nsat \x85 down\x0bthere\r\n".encode())
    corpus = Corpus(path)
    assert list(corpus) == [["A", "cat"], ["sat", "down", "there"]]
    assert corpus.counts() == [(2, 5)]
    assert corpus.num_predictions() == 7


def test_no_such_file(tmp_path):
    with pytest.raises(ElmoError, match="missing.txt: no such file"):
        Corpus(tmp_path / "missing.txt")


def test_bad_utf8_names_the_line(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"good\n\nb\xffd\n")
    with pytest.raises(ElmoError, match="text.txt, line 3: not valid UTF-8"):
        Corpus(path).counts()


def test_damaged_gzip(tmp_path):
    path = tmp_path / "text.txt.gz"
    path.write_bytes(gzip.compress(b"a sentence\n" * 1000)[:-20])
    with pytest.raises(ElmoError, match="text.txt.gz: damaged"):
        list(Corpus(path))


def test_without_a_seed_the_order_is_that_of_the_files(files, monkeypatch):
    monkeypatch.setattr(corpus_module, "BLOCK_SENTENCES", 10)
    corpus = Corpus(f"{files}/*.txt")
    assert list(SentenceStream(corpus)) == list(corpus)


def test_blocks_mix_all_files_in_equal_shares(files, monkeypatch):
    monkeypatch.setattr(corpus_module, "BLOCK_SENTENCES", 20)
    corpus = Corpus(f"{files}/*.txt")
    stream = SentenceStream(corpus, seed=1)
    sentences = [sentence[0] for sentence in stream]
    assert sorted(sentences) == sorted(sentence[0] for sentence in corpus)
    for start in range(0, 100, 20):
        names = [word[0] for word in sentences[start : start + 20]]
        assert all(names.count(name) == 5 for name in "abcd")


def test_every_pass_has_its_own_order(files):
    corpus = Corpus(f"{files}/*.txt")
    stream = SentenceStream(corpus, seed=1, repeat=True)
    passes = [[next(stream)[0] for _ in range(100)] for _ in range(2)]
    assert passes[0] != passes[1]
    assert sorted(passes[0]) == sorted(passes[1])


@pytest.mark.parametrize("seed", [None, 7])
def test_goes_on_from_any_position(files, monkeypatch, seed):
    monkeypatch.setattr(corpus_module, "BLOCK_SENTENCES", 12)
    monkeypatch.setattr(corpus_module, "OPEN_FILES", 3)
    corpus = Corpus(f"{files}/*.txt")
    stream = SentenceStream(corpus, seed, repeat=True)
    for _ in range(150):
        position = stream.position
        again = SentenceStream(corpus, seed, True, position)
        assert next(again) == next(stream)


def test_a_file_that_became_shorter_is_named(files):
    corpus = Corpus(f"{files}/a.txt")
    corpus.counts()
    (files / "a.txt").write_text("only one\n")
    with pytest.raises(ElmoError, match="a.txt: the file has become shorter"):
        list(SentenceStream(corpus))
