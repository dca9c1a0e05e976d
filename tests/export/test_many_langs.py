"""Models that read words and code points, exported like any other."""

import json

import numpy as np
import pytest

import keras_elmo

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def model(shared_data):
    return keras_elmo.load(shared_data / "fixtures-efml" / "model_a")


@pytest.fixture(scope="module")
def sentence(shared_data):
    text = (shared_data / "fixtures-efml" / "sentences.json").read_text(encoding="utf-8")
    return json.loads(text)["sentences"][0]["tokens"]


@pytest.fixture(scope="module")
def ids(model, sentence):
    return model.encoder.encode_batch([sentence])


@pytest.fixture(scope="module")
def layers(model, ids):
    return model(ids)["layers"].numpy()[0]  # (L + 1, tokens, 2P)


def assert_close(found, expected):
    np.testing.assert_allclose(np.squeeze(found), np.squeeze(expected), rtol=0, atol=1e-4)


def test_saved_model(model, sentence, layers, tmp_path):
    from keras_elmo.export import saved_model

    saved_model.save(model, tmp_path / "model")
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    tokens = tf.constant([sentence]), tf.constant([len(sentence)])
    answer = loaded.signatures["tokens"](tokens=tokens[0], sequence_len=tokens[1])
    assert_close(answer["lstm_outputs2"], layers[2])


def test_litert(model, ids, layers, tmp_path):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    from keras_elmo.export import litert

    litert.save(model, tmp_path / "model.tflite", weights="float32")
    runner = interpreter.Interpreter(str(tmp_path / "model.tflite")).get_signature_runner()
    assert_close(runner(char_ids=ids)["layers"], layers)


def test_onnx(model, ids, layers, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    from keras_elmo.export import onnx

    onnx.save(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    (found,) = session.run(["layers"], {"char_ids": ids})
    assert_close(found, layers)


def test_openvino(model, ids, layers, tmp_path):
    openvino = pytest.importorskip("openvino")
    from keras_elmo.export import openvino as export

    export.save(model, tmp_path / "model.xml")
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(str(tmp_path / "model.xml"), "CPU", options)
    assert_close(compiled({"char_ids": ids})["layers"], layers)
