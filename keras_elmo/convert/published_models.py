"""Names of published models and where they lie. Their licences are their authors' to tell."""

from typing import NamedTuple

_ALLENNLP = "https://s3-us-west-2.amazonaws.com/allennlp/models/elmo/"


class PublishedModel(NamedTuple):
    """A published model: its files, and what is known of it."""

    urls: tuple  # options and weights, or one archive
    text: str
    parameters: str
    output_dim: int


def _english(name, text, parameters, output_dim):
    place = f"{_ALLENNLP}{name}/elmo_{name}"
    urls = (f"{place}_options.json", f"{place}_weights.hdf5")
    return PublishedModel(urls, text, parameters, output_dim)


def _contributed(options, weights, text):
    place = f"{_ALLENNLP}contributed/"
    return PublishedModel((place + options, place + weights), text, "93.6M", 1024)


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
        ("https://rostlab.org/~deepppi/seqvec.zip",), "Proteins, UniRef50", "93.6M", 1024
    ),
}
