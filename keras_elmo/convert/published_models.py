"""Names of published models: where they lie, and what is known of them.

The addresses are those that their authors gave. Nobody published a hash of any of these files.
"""

from typing import NamedTuple

_ALLENNLP = "https://s3-us-west-2.amazonaws.com/allennlp/models/elmo/"
_NLPL = "http://vectors.nlpl.eu/repository/11/"
# In the order of their archives there, from number 136 on.
_LANGUAGES = (
    "ar bg ca cs cu da de el en es et eu fa fi fr ga gl grc he hi hr hu id it ja ko la lv nl nb nn "
    "pl pt ro ru sk sl sv tr ug uk ur vi zh"
)
UNKNOWN = "unknown"
MANY_LANGS = "many_langs_"


class PublishedModel(NamedTuple):
    """A published model: its files, and what is known of it."""

    urls: tuple  # options and weights, or one archive
    text: str
    parameters: str
    output_dim: int
    license: str


def _english(name, text, parameters, output_dim):
    place = f"{_ALLENNLP}{name}/elmo_{name}"
    urls = (f"{place}_options.json", f"{place}_weights.hdf5")
    license = "none; its authors impose no restrictions (issue 1462 of allenai/allennlp)"
    return PublishedModel(urls, text, parameters, output_dim, license)


def _contributed(options, weights, text):
    place = f"{_ALLENNLP}contributed/"
    return PublishedModel((place + options, place + weights), text, "93.6M", 1024, UNKNOWN)


def _many_langs():
    """The models of ELMoForManyLangs; issue 64 of HIT-SCIR/ELMoForManyLangs tells the licence."""
    text = "20 million words of Wikipedia and Common Crawl"
    for number, language in enumerate(_LANGUAGES.split(), 136):
        urls = (f"{_NLPL}{number}.zip",)
        yield MANY_LANGS + language, PublishedModel(urls, text, UNKNOWN, 1024, "MIT")


PUBLISHED = {
    "elmo_small_en": _english(
        "2x1024_128_2048cnn_1xhighway", "English, 1 Billion Word Benchmark", "13.6M", 256
    ),
    "elmo_medium_en": _english(
        "2x2048_256_2048cnn_1xhighway", "English, 1 Billion Word Benchmark", "28.0M", 512
    ),
    "elmo_original_en": _english(
        "2x4096_512_2048cnn_2xhighway", "English, 1 Billion Word Benchmark", "93.6M", 1024
    ),
    "elmo_original_5_5b_en": _english(
        "2x4096_512_2048cnn_2xhighway_5.5B",
        "English, 5.5 billion words of Wikipedia and news",
        "93.6M",
        1024,
    ),
    "elmo_pubmed_en": _contributed(
        "pubmed/elmo_2x4096_512_2048cnn_2xhighway_options.json",
        "pubmed/elmo_2x4096_512_2048cnn_2xhighway_weights_PubMed_only.hdf5",
        "English, PubMed",
    ),
    "elmo_pt": _contributed("pt/elmo_pt_options.json", "pt/elmo_pt_weights.hdf5", "Portuguese"),
    "seqvec": PublishedModel(
        ("https://rostlab.org/~deepppi/seqvec.zip",),
        "proteins, UniRef50",
        "93.6M",
        1024,
        "MIT, that of its repository",
    ),
    **dict(_many_langs()),
}
