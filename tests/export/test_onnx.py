import numpy as np
import pytest

import keras_elmo
from keras_elmo.errors import ElmoError
from keras_elmo.export import onnx
from tests import fixtures

pytest.importorskip("tf2onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def session(elmo, tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "elmo.onnx"
    onnx.save(elmo, path)
    return onnxruntime.InferenceSession(str(path))


def answer(session, char_ids):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"char_ids": char_ids}), strict=True))


def test_equals_the_model_at_any_batch_and_length(elmo, session):
    lengths = np.random.default_rng(0).permutation(200) % 23
    for start, stop in [(0, 1), (1, 100), (100, 200)]:
        char_ids = keras_elmo.batch_to_ids(fixtures.make_sentences(lengths[start:stop], start))
        expected, found = elmo(char_ids), answer(session, char_ids)
        assert found.keys() == {"elmo", "layers", "top"}
        for name in ("elmo", "layers"):
            np.testing.assert_allclose(found[name], expected[name], atol=1e-4)
        np.testing.assert_array_equal(found["top"], found["layers"][:, -1])


def test_a_reader_sees_the_shapes(session):
    assert [(i.name, i.shape[-1], i.type) for i in session.get_inputs()] == [
        ("char_ids", 50, "tensor(int32)")
    ]


def test_refuses_what_it_cannot_do(elmo, tmp_path):
    with pytest.raises(ElmoError, match=r"must end in \.onnx"):
        onnx.save(elmo, tmp_path / "elmo.bin")
    with pytest.raises(ElmoError, match="outputs: use mix, top, all, not 'elmo'"):
        onnx.save(elmo, tmp_path / "elmo.onnx", outputs=["elmo"])
    assert list(tmp_path.iterdir()) == []
