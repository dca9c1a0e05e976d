import pytest

from keras_elmo import Elmo
from keras_elmo import ElmoError
from keras_elmo import load
from keras_elmo import presets
from keras_elmo.convert import folder
from tests.models.test_elmo import make


def test_every_kind_of_source(published_model, tmp_path, monkeypatch):
    options, weights = published_model("plain")
    for source in ((options, weights), [str(options), str(weights)], options.parent):
        assert isinstance(load(source), Elmo)
    folder.save(make(), tmp_path / "mine")
    assert isinstance(load(str(tmp_path / "mine")), Elmo)
    monkeypatch.chdir(tmp_path / "mine")
    assert isinstance(load("."), Elmo)


def test_a_preset_by_its_name(tmp_path, monkeypatch):
    folder.save(make(name="small"), tmp_path / "small_en")
    monkeypatch.setattr(presets, "PRESETS_FOLDER", tmp_path)
    monkeypatch.setattr(presets, "BUNDLED", "small_en")
    assert load("small_en").name == load().name == "small"
    with pytest.raises(ElmoError, match=r"^nothing: no such[^\n]*small_en"):
        load("nothing")


def test_options_reach_the_model(published_model):
    elmo = load(published_model("plain"), num_representations=2, layer_norm=True, dropout=0.5)
    assert elmo.num_representations == 2
    assert elmo.layer_norm == "allennlp"
    assert elmo.dropout == 0.5
    assert load(published_model("plain"), dtype="mixed_bfloat16").bilm.compute_dtype == "bfloat16"


def test_wrong_sources(tmp_path):
    with pytest.raises(ElmoError, match=r"^a pair \(options, weights\) was expected"):
        load([])
    with pytest.raises(ElmoError, match=rf"^{tmp_path}: no kind of ELMo model"):
        load(tmp_path)
    with pytest.raises(ElmoError, match="^nothing/here: no such file or folder"):
        load("nothing/here")
    with pytest.raises(TypeError):
        load(5)
