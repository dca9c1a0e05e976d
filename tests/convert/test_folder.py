import json
import shutil

import h5py
import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import ElmoError
from keras_elmo import load
from keras_elmo.convert import folder
from tests import fixtures
from tests.convert import fuzz
from tests.convert.fuzz import check_reader
from tests.convert.fuzz import fails
from tests.models.test_elmo import GAMMA
from tests.models.test_elmo import IDS
from tests.models.test_elmo import MASK
from tests.models.test_elmo import MIX
from tests.models.test_elmo import make
from tests.models.test_elmo import numbers
from tests.models.test_elmo import set_mix


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model and its folder, which tests leave as it is."""
    elmo = make(layer_norm="allennlp")
    set_mix(elmo.scalar_mix)
    path = tmp_path_factory.mktemp("folder") / "model"
    folder.save(elmo, path, language="English")
    return elmo, path


@pytest.fixture
def broken(saved, tmp_path):
    """A copy of that folder, to break."""
    return shutil.copytree(saved[1], tmp_path / "model")


def test_there_and_back(saved):
    elmo, path = saved
    other = load(path)
    assert json.dumps(other.get_config()) == json.dumps(elmo.get_config())
    expected = numbers(elmo(IDS))
    for name, values in numbers(other(IDS)).items():
        np.testing.assert_array_equal(values, expected[name])
    assert len(other.trainable_variables) == 2


def test_metadata(saved):
    elmo, path = saved
    metadata = folder.read_metadata(path)
    assert metadata["language"] == "English"
    assert metadata["parameter_count"] == elmo.count_params()
    assert metadata["keras_version"] == keras.__version__
    assert folder.read_metadata(path.parent) == {}


def test_with_other_options(saved):
    elmo, path = saved
    expected = numbers(elmo(IDS))["layers"]
    other = load(path, keep_boundaries=True, layer_norm=None, dropout=0.5, trainable_bilm=True)
    found = numbers(other(IDS))
    inner = np.where(MASK[:, None, :, None], found["layers"][:, :, 1:-1], 0.0)
    np.testing.assert_allclose(inner, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(other.scalar_mix.get_weights()[0], MIX[:3], rtol=1e-6)
    assert float(ops.convert_to_numpy(other.scalar_mix.gamma)) == np.float32(GAMMA)
    assert len(other.trainable_variables) > 2
    with pytest.raises(TypeError, match="unknown"):
        load(path, unknown=1)


def test_with_another_number_of_mixes(saved):
    elmo, path = saved
    other = load(path, num_representations=2)
    found = numbers(other(IDS))
    np.testing.assert_array_equal(found["layers"], numbers(elmo(IDS))["layers"])
    for mix in (other.scalar_mix_0, other.scalar_mix_1):
        assert not mix.get_weights()[0].any()
    assert len(other.trainable_variables) == 4


def test_stateful(saved):
    elmo, path = saved
    other = load(path, stateful=True, batch_size=5)
    first, second = (numbers(other(IDS))["layers"] for _ in range(2))
    np.testing.assert_allclose(first, numbers(elmo(IDS))["layers"], rtol=0, atol=1e-6)
    assert np.abs(first - second).max() > 1e-3
    other.reset_state()
    np.testing.assert_allclose(numbers(other(IDS))["layers"], first, rtol=0, atol=1e-6)
    with pytest.raises(ElmoError, match="needs a fixed batch size"):
        load(path, stateful=True)


def test_in_half_precision(saved, tmp_path):
    elmo, path = saved
    folder.save(elmo, tmp_path / "half", dtype="float16")
    other = load(tmp_path / "half")
    for one, whole in zip(other.get_weights(), elmo.get_weights(), strict=True):
        assert one.dtype == np.float32
        np.testing.assert_array_equal(one, whole.astype("float16").astype("float32"))
    sizes = [(p / folder.WEIGHTS).stat().st_size for p in (tmp_path / "half", path)]
    assert sizes[0] < sizes[1]
    assert load(path, dtype="mixed_bfloat16").bilm.compute_dtype == "bfloat16"


def test_a_published_model_keeps_its_options(published_model, tmp_path):
    elmo = load(published_model("tanh"))
    folder.save(elmo, tmp_path / "model")
    assert load(tmp_path / "model").source == elmo.source
    ids = fixtures.make_char_ids()
    expected = numbers(elmo(ids))["elmo"]
    np.testing.assert_array_equal(numbers(load(tmp_path / "model")(ids))["elmo"], expected)


def test_nothing_is_left_when_saving_fails(tmp_path, monkeypatch):
    elmo = make()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "old").write_text("old")

    def fail(*arguments, **options):
        raise OSError("No space left on device")

    monkeypatch.setattr(elmo, "save_weights", fail)
    with pytest.raises(OSError, match="No space left"):
        folder.save(elmo, tmp_path / "model")
    assert [p.name for p in tmp_path.rglob("*")] == ["model", "old"]


def rewrite(name, value):
    def change(path):
        with h5py.File(path / folder.WEIGHTS, "r+") as file:
            values = file[name][...]
            values[...] = value
            file[name][...] = values

    return change


def remove(name):
    def change(path):
        with h5py.File(path / folder.WEIGHTS, "r+") as file:
            del file[name]

    return change


def truncate(path):
    data = (path / folder.WEIGHTS).read_bytes()
    (path / folder.WEIGHTS).write_bytes(data[: len(data) // 2])


def write_config(text):
    return lambda path: (path / folder.CONFIG).write_text(text)


KERNEL = "layers/bi_lm/forward_0/vars/0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (rewrite(KERNEL, np.nan), rf"weights\.h5: tensor {KERNEL} holds NaN"),
        (rewrite(KERNEL, 0), rf"weights\.h5: tensor {KERNEL} is all zeros"),
        (remove(KERNEL), r"weights\.h5: does not hold the weights of this model"),
        (truncate, r"weights\.h5: truncated, or not an HDF5 file"),
        (lambda path: (path / folder.WEIGHTS).unlink(), r"weights\.h5: no such file"),
        (write_config("{"), r"config\.json: not a JSON file"),
        (write_config("[]"), r"config\.json: must hold a JSON object"),
        (write_config("{}"), r"config\.json: not a model of keras_elmo"),
    ],
)
def test_says_what_is_wrong(change, message, broken):
    change(broken)
    with pytest.raises(ElmoError, match=rf"^[^\n]*{message}[^\n]*$"):
        folder.load(broken)


@pytest.mark.parametrize("part", ["embedding", "bilm", "encoder"])
def test_makes_nothing_but_our_own_classes(part, broken):
    path = broken / folder.CONFIG
    config = json.loads(path.read_text())
    foreign = {"module": "os", "class_name": "system", "registered_name": "system"}
    config["config"][part] = {**foreign, "config": {"command": "true"}}
    path.write_text(json.dumps(config))
    fails(lambda: load(broken), "config.json", f"{part} is system")


def test_broken_files_raise_our_error_only(broken):
    path = broken / folder.WEIGHTS
    elmo = load(broken)
    check_reader(lambda: folder.load_weights(elmo, path), path, 40)
    path = broken / folder.CONFIG
    data = path.read_bytes()
    for seed in range(12):
        path.write_bytes(fuzz.broken(data, seed))
        fuzz.refusal(lambda: load(broken))


def test_the_weights_of_another_model(broken, tmp_path):
    path = broken / folder.CONFIG
    config = json.loads(path.read_text())
    config["config"]["bilm"]["config"]["units"] = 9
    path.write_text(json.dumps(config))
    with pytest.raises(ElmoError, match=r"^[^\n]*weights\.h5: does not hold the weights[^\n]*$"):
        folder.load(broken)
    config["config"]["bilm"]["config"]["surprise"] = 9
    path.write_text(json.dumps(config))
    with pytest.raises(ElmoError, match=r"^[^\n]*config\.json: cannot be read[^\n]*$"):
        folder.load(broken)
