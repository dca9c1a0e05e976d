import json
import re
import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler
from http.server import HTTPServer
from pathlib import Path

import numpy as np
import pytest

import keras_elmo
from keras_elmo.export import saved_model

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = re.findall(
    r"```python\n(.*?)```", (DOCS / "serving.md").read_text(encoding="utf-8"), re.DOTALL
)


def example(text):
    [found] = [code for code in EXAMPLES if text in code]
    return found


def run(code):
    names = {}
    exec(code, names)
    return names


@pytest.fixture(scope="module")
def signatures(elmo, tmp_path_factory):
    tf = pytest.importorskip("tensorflow")
    folder = tmp_path_factory.mktemp("models") / "elmo" / "1"
    saved_model.save(elmo, folder)
    return tf.saved_model.load(str(folder)).signatures


@pytest.fixture
def expected(elmo):
    return elmo(keras_elmo.batch_to_ids([["The", "cat", "sat"], ["Hello"]]))["elmo"].numpy()


@pytest.mark.tensorflow
def test_grpc_client(signatures, expected):
    tf = pytest.importorskip("tensorflow")
    grpc = pytest.importorskip("grpc")
    messages = pytest.importorskip("tensorflow_serving.apis.predict_pb2")
    services = pytest.importorskip("tensorflow_serving.apis.prediction_service_pb2_grpc")

    class Service(services.PredictionServiceServicer):
        def Predict(self, request, context):
            assert request.model_spec.name == "elmo"
            inputs = {k: tf.constant(tf.make_ndarray(v)) for k, v in request.inputs.items()}
            response = messages.PredictResponse()
            for name, value in signatures[request.model_spec.signature_name](**inputs).items():
                response.outputs[name].CopyFrom(tf.make_tensor_proto(value.numpy()))
            return response

    server = grpc.server(futures.ThreadPoolExecutor(1))
    services.add_PredictionServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("localhost:0")
    server.start()
    try:
        code = example("predict_pb2").replace("localhost:8500", f"localhost:{port}")
        names = run(code.replace("timeout=10", "timeout=300"))  # for slow machines
    finally:
        server.stop(None)
    np.testing.assert_allclose(names["vectors"], expected, atol=1e-4)
    assert names["lengths"].tolist() == [3, 1]


@pytest.mark.tensorflow
def test_rest_client(signatures, expected):
    tf = pytest.importorskip("tensorflow")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            assert self.path == "/v1/models/elmo:predict"
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            inputs = {name: tf.constant(value) for name, value in body["inputs"].items()}
            answer = signatures[body["signature_name"]](**inputs)
            outputs = {name: value.numpy().tolist() for name, value in answer.items()}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"outputs": outputs}).encode())

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("localhost", 0), Handler)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    try:
        names = run(example("urlopen").replace("localhost:8501", f"localhost:{server.server_port}"))
    finally:
        thread.join()
        server.server_close()
    np.testing.assert_allclose(names["vectors"], expected, atol=1e-4)
    assert names["lengths"] == [3, 1]


@pytest.mark.tensorflow
def test_litert_runner(tflite, tmp_path, monkeypatch):
    (tmp_path / "elmo.tflite").write_bytes(tflite.read_bytes())
    monkeypatch.chdir(tmp_path)
    run(example("LiteRTRunner"))


def test_ids_to_test_other_languages_with():
    vectors = json.loads((DOCS / "char_ids.json").read_text(encoding="utf-8"))
    assert len(vectors) >= 10
    for vector in vectors:
        assert keras_elmo.batch_to_ids([[vector["word"]]])[0, 0].tolist() == vector["ids"]


def test_every_python_example_is_valid():
    for code in EXAMPLES:
        compile(code, "serving.md", "exec")
