import pytest

from keras_elmo.errors import ElmoError
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.vocabulary import Vocabulary


def test_order_is_markers_then_falling_frequency():
    vocabulary = Vocabulary.build([["b", "b", "b", "a", "a", "c"]])
    assert vocabulary.words == ["<S>", "</S>", "<UNK>", "b", "a", "c"]


def test_equal_counts_are_ordered_by_the_word():
    one = Vocabulary.build([["z", "é", "A", "a"]])
    other = Vocabulary.build([["a", "A", "é", "z"]])
    assert one.words == other.words == ["<S>", "</S>", "<UNK>", "A", "a", "z", "é"]


def test_min_count_and_max_size():
    sentences = [["b", "b", "b", "a", "a", "c", "c", "d"]]
    assert Vocabulary.build(sentences, min_count=2).words[3:] == ["b", "a", "c"]
    assert Vocabulary.build(sentences, max_size=5).words[3:] == ["b", "a"]


def test_markers_in_the_text_are_not_counted_twice():
    vocabulary = Vocabulary.build([["<UNK>", "a", "<S>"]])
    assert vocabulary.words == ["<S>", "</S>", "<UNK>", "a"]


def test_write_and_read(tmp_path):
    vocabulary = Vocabulary.build([["ü", "日本", "a\xa0b", "x"]])
    vocabulary.write(tmp_path / "vocabulary.txt")
    assert (tmp_path / "vocabulary.txt").read_bytes().startswith(b"<S>\n</S>\n<UNK>\n")
    assert Vocabulary.read(tmp_path / "vocabulary.txt").words == vocabulary.words


def test_crlf_and_byte_order_mark(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_bytes("\ufeff<S>\r\n</S>\r\n<UNK>\r\na\r\n".encode())
    assert Vocabulary.read(path).words == ["<S>", "</S>", "<UNK>", "a"]


def test_last_of_two_equal_lines_counts(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("<S>\n</S>\n<UNK>\na\nb\na\n")
    vocabulary = Vocabulary.read(path)
    assert len(vocabulary) == 6
    assert vocabulary.encode(["a", "b", "?"]).tolist() == [5, 4, 2]


@pytest.mark.parametrize("marker", ["<S>", "</S>", "<UNK>"])
def test_missing_marker_is_named(tmp_path, marker):
    path = tmp_path / "vocabulary.txt"
    path.write_text("\n".join({"<S>", "</S>", "<UNK>", "a"} - {marker}))
    with pytest.raises(ElmoError, match=f"vocabulary.txt.*{marker}"):
        Vocabulary.read(path)


@pytest.mark.parametrize(("line", "words"), [(b"\xff", "UTF-8"), (b"  ", "blank")])
def test_bad_line_is_named(tmp_path, line, words):
    path = tmp_path / "vocabulary.txt"
    path.write_bytes(b"<S>\n</S>\n<UNK>\n" + line + b"\na\n")
    with pytest.raises(ElmoError, match=f"line 4: .*{words}"):
        Vocabulary.read(path)


def test_published_file(shared_data):
    folder = shared_data / "fixtures-golden" / "C-tf1-checkpoint"
    vocabulary = Vocabulary.read(folder / "vocab.txt")
    assert len(vocabulary) == 500
    assert (vocabulary.bos, vocabulary.eos, vocabulary.unk) == (0, 1, 2)
    counts = [0] * 500
    for sentence in Corpus(folder / "heldout.txt"):
        for i in vocabulary.encode(sentence):
            counts[i] += 1
    assert counts[2] > 0
    assert sum(counts) == 3866 - 200
