"""Words to the bytes that the published models read."""

import keras

from keras_elmo.text.characters import MAX_WORD_LENGTH
from keras_elmo.text.characters import PAD_CHAR
from keras_elmo.text.characters import batch_to_ids
from keras_elmo.text.characters import boundary_ids
from keras_elmo.text.characters import words_to_char_ids


@keras.saving.register_keras_serializable(package="keras_elmo")
class CharacterEncoder:
    """Words to rows of character ids, as `keras_elmo.batch_to_ids` makes them.

    Attributes of every encoder: `max_word_length`, ids a row; `boundary_ids`, the rows of the
    begin and the end of a sentence; `pad_id`, which fills a row behind the word; `assets`, the
    names of its files.

    Args:
        max_word_length: int, ids a word.

    Example:
        >>> CharacterEncoder().encode_batch([["The", "cat"]]).shape
        (1, 2, 50)

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 3.4.
    """

    pad_id = PAD_CHAR
    assets = ()

    def __init__(self, max_word_length=MAX_WORD_LENGTH):
        self.max_word_length = max_word_length
        self.boundary_ids = [row.tolist() for row in boundary_ids(max_word_length)]

    def encode_words(self, words):
        """Ids of a list of words, int32 of shape (len(words), max_word_length)."""
        return words_to_char_ids(words, self.max_word_length)

    def encode_batch(self, sentences):
        """Ids of lists of words, int32 of shape (batch, longest, max_word_length), padded by 0."""
        return batch_to_ids(sentences, self.max_word_length)

    def get_config(self):
        return {"max_word_length": self.max_word_length}

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def save_assets(self, folder):
        """Writes the vocabularies into a folder: none here."""

    def load_assets(self, folder):
        """Reads them back."""
