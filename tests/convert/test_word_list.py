import gzip
import zipfile

import pytest

from keras_elmo.convert import word_list
from tests.convert.fuzz import check_reader
from tests.convert.fuzz import fails

pytestmark = pytest.mark.minimal

TEXT = "<S>\n</S>\n<UNK>\nthe\nжук\n"
WORDS = ["<S>", "</S>", "<UNK>", "the", "жук"]


def test_forms(tmp_path):
    path = tmp_path / "vocab.txt"
    for data in (TEXT.encode(), TEXT.replace("\n", "\r\n").encode("utf-8-sig")):
        path.write_bytes(data)
        assert word_list.read_lines(path) == WORDS
    packed = tmp_path / "vocab.txt.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert word_list.read_lines(str(packed)) == WORDS
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(packed, packed.name)
    assert word_list.read_lines(zipfile.Path(tmp_path / "a.zip") / packed.name) == WORDS


def test_found_in_a_folder_or_beside_it(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    assert word_list.vocabulary_in(folder) is None
    (tmp_path / "vocab.txt").touch()
    assert word_list.vocabulary_in(folder) == tmp_path / "vocab.txt"
    (folder / "vocab.txt.gz").touch()
    assert word_list.vocabulary_in(folder) == folder / "vocab.txt.gz"


def test_what_goes_wrong(tmp_path, monkeypatch):
    path = tmp_path / "vocab.txt"
    fails(lambda: word_list.read_lines(path), path, "no such file")
    path.write_bytes(b"\xff\xfe")
    fails(lambda: word_list.read_lines(path), path, "not a text")
    monkeypatch.setattr(word_list, "SMALL", 1000)
    packed = tmp_path / "vocab.txt.gz"
    packed.write_bytes(gzip.compress(bytes(1 << 20)))
    fails(lambda: word_list.read_lines(packed), packed, "bomb")


def test_broken_files_raise_our_error_only(tmp_path):
    packed = tmp_path / "vocab.txt.gz"
    packed.write_bytes(gzip.compress(TEXT.encode() * 20))
    check_reader(lambda: word_list.read_lines(packed), packed, 150)
