import numpy as np
import pytest

import keras_elmo
from keras_elmo.errors import ElmoError
from keras_elmo.export import openvino
from tests import fixtures

runtime = pytest.importorskip("openvino")
pytestmark = pytest.mark.tensorflow


def compiled(path):
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    return runtime.Core().compile_model(str(path), "CPU", options)


@pytest.fixture(scope="module")
def path(elmo, tmp_path_factory):
    path = tmp_path_factory.mktemp("openvino") / "elmo.xml"
    openvino.save(elmo, path)
    return path


@pytest.fixture(scope="module")
def model(path):
    return compiled(path)


def test_equals_the_model_at_any_batch_and_length(elmo, model):
    lengths = np.random.default_rng(0).permutation(200) % 23
    for start, stop in [(0, 1), (1, 100), (100, 200)]:
        char_ids = keras_elmo.batch_to_ids(fixtures.make_sentences(lengths[start:stop], start))
        expected, found = elmo(char_ids), model(char_ids)
        for name in ("elmo", "layers"):
            np.testing.assert_allclose(found[name], expected[name], atol=1e-4)
        np.testing.assert_array_equal(found["top"], found["layers"][:, -1])


def test_float16_halves_the_weights(elmo, path, tmp_path):
    half = tmp_path / "half.xml"
    openvino.save(elmo, half, outputs=["mix"], weights="float16")
    sizes = [file.with_suffix(".bin").stat().st_size for file in (path, half)]
    assert sizes[1] < 0.6 * sizes[0]
    char_ids = keras_elmo.batch_to_ids([["The", "cat"]])
    found = compiled(half)(char_ids)["elmo"]
    np.testing.assert_allclose(found, elmo(char_ids)["elmo"], atol=5e-2)


def test_refuses_what_it_cannot_do(elmo, tmp_path):
    (tmp_path / "taken.bin").touch()
    with pytest.raises(ElmoError, match=r"must end in \.xml"):
        openvino.save(elmo, tmp_path / "elmo")
    with pytest.raises(ElmoError, match=r"taken\.bin: exists already"):
        openvino.save(elmo, tmp_path / "taken.xml")
    with pytest.raises(ElmoError, match="float32, float16, not 'int8'"):
        openvino.save(elmo, tmp_path / "elmo.xml", weights="int8")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.bin"]
