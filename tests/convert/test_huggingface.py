import base64
import json
import threading
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer

import pytest

import keras_elmo
from keras_elmo import presets
from tests.convert.fuzz import fails

pytest.importorskip("huggingface_hub", reason="needs huggingface_hub")

COMMIT = "0" * 40


class Hub(BaseHTTPRequestHandler):
    """As much of the hub's interface as a small repository needs."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        files = self.server.files
        path = self.path.split("?")[0]
        if path.startswith("/api/models/user/model"):
            names = [{"rfilename": name} for name in files]
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": "1" * 40}
                for name, data in files.items()
            ]
            found = {"id": "user/model", "sha": COMMIT, "siblings": names}
            self.answer(json.dumps(tree if "/tree/" in path else found).encode())
        elif "/resolve/" in path and path.split(f"/{COMMIT}/")[-1] in files:
            self.answer(files[path.split(f"/{COMMIT}/")[-1]])
        else:
            self.answer(b"{}", 404)

    def do_POST(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if self.path.endswith("/preupload/main"):
            names = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": n, "uploadMode": "regular", "shouldIgnore": False} for n in names]
            self.answer(json.dumps({"files": modes}).encode())
        elif self.path.endswith("/commit/main"):
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    data = base64.b64decode(line["value"]["content"])
                    self.server.files[line["value"]["path"]] = data
            url = f"{self.server.url}/user/model/commit/{COMMIT}"
            answer = {"success": True, "commitOid": COMMIT, "commitUrl": url}
            self.answer(json.dumps(answer).encode())
        elif self.path.endswith("/repos/create"):
            self.answer(json.dumps({"url": f"{self.server.url}/user/model"}).encode())
        else:
            self.answer(b"{}")

    def answer(self, data, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hash(data) & 0xFFFFFFFF:x}"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def hub(tmp_path, monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.files = {}
    server.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", "hf_none")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_push_and_load(hub, published_model):
    elmo = keras_elmo.load(published_model("plain"))
    presets.save_to_preset(elmo, "hf://user/model")
    assert {"config.json", "model.weights.h5", "README.md"} <= hub.files.keys()
    assert b'keras_elmo.load("hf://user/model")' in hub.files["README.md"]
    again = keras_elmo.load("hf://user/model")
    for one, other in zip(again.get_weights(), elmo.get_weights(), strict=True):
        assert (one == other).all()


def test_nothing_there(hub):
    fails(lambda: keras_elmo.load("hf://other/model"), "hf://other/model", "hub")
