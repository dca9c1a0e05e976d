"""Models of tasks on top of ELMo: trained, scored, saved and exported as one."""

from keras_elmo.tasks.adaptation import adapt
from keras_elmo.tasks.features import TokenFeatures
from keras_elmo.tasks.features import frequent_words
from keras_elmo.tasks.folder import load
from keras_elmo.tasks.pair_classifier import PairClassifier
from keras_elmo.tasks.readers.conll import read_conll
from keras_elmo.tasks.readers.squad import read_squad
from keras_elmo.tasks.readers.tables import read_glue
from keras_elmo.tasks.readers.tables import read_parallel
from keras_elmo.tasks.readers.tables import read_table
from keras_elmo.tasks.seq2seq import Seq2Seq
from keras_elmo.tasks.similar import similar
from keras_elmo.tasks.span_extractor import SpanExtractor
from keras_elmo.tasks.text_classifier import TextClassifier
from keras_elmo.tasks.token_classifier import TokenClassifier

__all__ = [
    "PairClassifier",
    "Seq2Seq",
    "SpanExtractor",
    "TextClassifier",
    "TokenClassifier",
    "TokenFeatures",
    "adapt",
    "frequent_words",
    "load",
    "read_conll",
    "read_glue",
    "read_parallel",
    "read_squad",
    "read_table",
    "similar",
]
