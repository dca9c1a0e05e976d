import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer

import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import download
from tests.convert.fuzz import fails

pytestmark = pytest.mark.minimal

DATA = bytes(range(256)) * 100


class Handler(BaseHTTPRequestHandler):
    files = {}

    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path not in self.server.files:
            self.send_error(404)
            return
        data, behavior = self.server.files[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if behavior == "truncated":
            data = data[: len(data) // 2]
        half = len(data) // 2
        self.wfile.write(data[:half])
        if behavior in ("slow", "stalled"):
            self.wfile.flush()
            time.sleep({"slow": 0.3, "stalled": 3}[behavior])
        self.wfile.write(data[half:])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server on loopback: `files` maps a path to data and behavior; an empty cache."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(download.OFFLINE, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.files, server.requests = {}, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def cached(tmp_path):
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_fetched_once(server, tmp_path):
    server.files["/a/weights.hdf5"] = DATA, "good"
    url = f"{server.url}/a/weights.hdf5"
    path = download.fetch(url, hashlib.sha256(DATA).hexdigest())
    assert path.name == "weights.hdf5"
    assert path.read_bytes() == DATA
    assert download.fetch(url) == path
    assert server.requests == ["/a/weights.hdf5"]
    assert cached(tmp_path) == [path]


def test_a_file_in_the_cache_must_have_the_hash_too(server):
    server.files["/file"] = DATA, "good"
    path = download.fetch(f"{server.url}/file")
    sha256 = hashlib.sha256(DATA).hexdigest()
    assert download.fetch(f"{server.url}/file", sha256.upper()) == path
    path.write_bytes(DATA[:-1])
    fails(lambda: download.fetch(f"{server.url}/file", sha256), path, sha256, "remove it")


def test_a_slow_server_is_waited_for(server):
    server.files["/file"] = DATA, "slow"
    assert download.fetch(f"{server.url}/file").read_bytes() == DATA


@pytest.mark.parametrize("behavior", ["truncated", "stalled", "404", "wrong hash"])
def test_a_broken_download_leaves_nothing_and_can_be_tried_again(
    behavior, server, tmp_path, monkeypatch
):
    monkeypatch.setattr(download, "TIMEOUT", 0.5)
    url = f"{server.url}/file"
    if behavior != "404":
        server.files["/file"] = (DATA[::-1] if behavior == "wrong hash" else DATA), behavior
    sha256 = hashlib.sha256(DATA).hexdigest()
    fails(lambda: download.fetch(url, sha256), url, "could not be fetched")
    assert cached(tmp_path) == []
    server.files["/file"] = DATA, "good"
    assert download.fetch(url, sha256).read_bytes() == DATA


def test_a_dead_server(server):
    server.shutdown()
    server.server_close()
    fails(lambda: download.fetch(f"{server.url}/file"), server.url, "could not be fetched")


def test_offline(server, monkeypatch):
    server.files["/file"] = DATA, "good"
    monkeypatch.setenv(download.OFFLINE, "1")
    fails(lambda: download.fetch(f"{server.url}/file"), "not in the cache", "no network")
    assert server.requests == []
    monkeypatch.delenv(download.OFFLINE)
    path = download.fetch(f"{server.url}/file")
    monkeypatch.setenv(download.OFFLINE, "1")
    assert download.fetch(f"{server.url}/file") == path


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://host/file", "http://host/", "http://a/.."]
)
def test_other_addresses(url):
    fails(lambda: download.fetch(url), url)


def test_a_model_behind_urls(server, published_model):
    options, weights = published_model("plain")
    server.files["/options.json"] = options.read_bytes(), "good"
    server.files["/weights.hdf5"] = weights.read_bytes(), "good"
    urls = [f"{server.url}/{name}" for name in ("options.json", "weights.hdf5")]
    found = keras_elmo.load(urls).get_weights()
    expected = keras_elmo.load((options, weights)).get_weights()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
