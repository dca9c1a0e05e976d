import pytest

from keras_elmo.info import describe

NOTHING = {"softmax": "no", "optimizer": "no"}
KINDS = {
    "fixtures-golden/A-allennlp/m1_relu_hw2_l2": {"format": "published", **NOTHING},
    "fixtures-golden/C-tf1-checkpoint/checkpoint": {
        "format": "tf_checkpoint",
        "softmax": "yes",
        "optimizer": "Adagrad",
    },
    "fixtures-golden/D-tfhub/module": {"format": "tf_hub", **NOTHING},
    "fixtures-efml/model_a": {
        "format": "many_langs",
        "vocabulary of words": "73",
        "vocabulary of characters": "100",
        **NOTHING,
    },
}


@pytest.mark.parametrize("name", KINDS)
def test_says_of_each_kind_what_is_there(name, shared_data):
    if "tf" in name:
        pytest.importorskip("tensorflow")
    lines = describe(shared_data / name)
    assert lines.items() >= KINDS[name].items()
    assert {"parameters", "words", "filters", "LSTM", "units", "clips"} <= lines.keys()
    assert lines["vectors"].startswith("3 layers of ")


@pytest.mark.minimal
def test_of_a_pair_and_of_the_bundled_model(published_model):
    assert describe(published_model("plain"))["format"] == "files"
    lines = describe()
    assert lines["format"] == "keras_elmo"
    assert lines["softmax"] == "yes"
    assert int(lines["parameters"].replace(",", "")) > 1e6
