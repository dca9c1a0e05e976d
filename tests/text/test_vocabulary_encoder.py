import numpy as np
import pytest

from keras_elmo import ElmoError
from keras_elmo.text.character_encoder import CharacterEncoder
from keras_elmo.text.characters import batch_to_ids
from keras_elmo.text.characters import boundary_ids
from keras_elmo.text.vocabulary_encoder import VocabularyEncoder

pytestmark = pytest.mark.minimal

MARKERS = ("<bos>", "<eos>", "<oov>")
WORDS = ["<bos>", "<eos>", "<oov>", "cat", "ca"]
CHARACTERS = ["<pad>", "<bow>", "<eow>", *MARKERS, "c", "a", "t", "\u3000", "é"]
PAD, BOW, EOW, BOS, EOS, OOV, C, A, T = range(1, 10)


def both(**arguments):
    arguments = {"words": WORDS, "characters": CHARACTERS, "max_characters": 7} | arguments
    return VocabularyEncoder(markers=MARKERS, **arguments)


def test_rows():
    rows = both().encode_words(["cat", "dog", "<eos>", "", "cat\u0301catcat"])
    assert rows.dtype == np.int32
    assert rows.tolist() == [
        [4, EOW, C, A, T, BOW, PAD, PAD],
        [3, EOW, OOV, OOV, OOV, BOW, PAD, PAD],
        [2, EOW, EOS, BOW, PAD, PAD, PAD, PAD],
        [3, EOW, BOW, PAD, PAD, PAD, PAD, PAD],
        [3, EOW, C, A, T, OOV, C, BOW],  # five code points are left
    ]


def test_a_cut_word_is_looked_up_as_it_is_cut():
    assert both(max_characters=4).encode_words(["cats"])[0, 0] == 5


def test_one_half_alone():
    assert both(words=None).encode_words(["ca"]).tolist() == [[EOW, C, A, BOW, PAD, PAD, PAD]]
    encoder = VocabularyEncoder(words=["<S>", "</S>", "<UNK>", "a" * 99])
    assert encoder.encode_words(["a" * 99, "b"]).tolist() == [[4], [3]]
    assert encoder.boundary_ids == [[1], [2]]
    assert encoder.pad_id is None


@pytest.mark.parametrize("encoder", [both(), CharacterEncoder(9)])
def test_batches(encoder):
    sentences = [["cat", "dog"], [], ["ca"]]
    ids = encoder.encode_batch(sentences)
    assert ids.shape == (3, 2, encoder.max_word_length)
    for row, sentence in zip(ids, sentences, strict=True):
        np.testing.assert_array_equal(row[: len(sentence)], encoder.encode_words(sentence))
        assert not row[len(sentence) :].any()
    assert encoder.encode_batch([]).shape == (0, 0, encoder.max_word_length)
    with pytest.raises(TypeError, match="list of tokens"):
        encoder.encode_batch(["a string"])
    with pytest.raises(TypeError, match="list of sentences"):
        encoder.encode_batch("a string")


def test_the_character_encoder_is_batch_to_ids():
    encoder = CharacterEncoder()
    sentences = [["The", "cat"], ["кошка"]]
    np.testing.assert_array_equal(encoder.encode_batch(sentences), batch_to_ids(sentences))
    np.testing.assert_array_equal(encoder.boundary_ids, boundary_ids())


def test_vocabularies_are_files(tmp_path):
    encoder = both()
    encoder.save_assets(tmp_path / "assets")
    assert sorted(p.name for p in (tmp_path / "assets").iterdir()) == sorted(encoder.assets)
    again = VocabularyEncoder.from_config(encoder.get_config())
    assert again.boundary_ids == encoder.boundary_ids
    again.load_assets(tmp_path / "assets")
    words = ["cat", "é", "\u3000"]
    np.testing.assert_array_equal(again.encode_words(words), encoder.encode_words(words))
    (tmp_path / "assets" / "words.txt").unlink()
    with pytest.raises(ElmoError, match="words.txt"):
        again.load_assets(tmp_path / "assets")


def test_missing_entries():
    with pytest.raises(ElmoError, match="words has no entry <oov>"):
        both(words=["cat"])
    with pytest.raises(ElmoError, match="characters has no entry <pad>"):
        both(characters=CHARACTERS[1:])
