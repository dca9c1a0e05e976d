import io
import tarfile
import zipfile

import pytest

import keras_elmo
from keras_elmo.convert import archive
from keras_elmo.convert.archive import opened
from tests.convert.fuzz import broken
from tests.convert.fuzz import fails
from tests.convert.fuzz import refusal

pytestmark = pytest.mark.minimal


def enter(path):
    with opened(path):
        pass


def write_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def write_tar(path, members):
    with tarfile.open(path, "w:gz") as file:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize(("write", "name"), [(write_zip, "m.zip"), (write_tar, "m.tar.gz")])
class TestBothKinds:
    def test_gives_the_innermost_folder(self, write, name, tmp_path):
        path = write(tmp_path / name, {"a/b/one.txt": b"1", "a/b/two.txt": b"2"})
        with opened(path) as folder:
            assert {item.name for item in folder.iterdir()} == {"one.txt", "two.txt"}
            assert (folder / "two.txt").read_bytes() == b"2"

    @pytest.mark.parametrize("member", ["../out.txt", "/out.txt", "a/../../out.txt", "..\\out.txt"])
    def test_refuses_names_that_lead_out(self, member, write, name, tmp_path):
        path = write(tmp_path / name, {member: b"1"})
        before = set(tmp_path.parent.rglob("out.txt"))
        fails(lambda: enter(path), path, "leads out", "refused")
        assert set(tmp_path.parent.rglob("out.txt")) == before

    def test_refuses_bombs(self, write, name, tmp_path, monkeypatch):
        monkeypatch.setattr(archive, "SMALL", 1 << 20)
        path = write(tmp_path / name, {"model.hdf5": bytes(20 << 20)})
        fails(lambda: enter(path), path, "bomb")

    def test_broken_files_raise_our_error_only(self, write, name, tmp_path):
        path = write(tmp_path / name, {"options.json": b"{}" * 500, "model.hdf5": b"abc" * 99})
        data = path.read_bytes()
        for seed in range(60):
            path.write_bytes(broken(data, seed))
            assert refusal(lambda: keras_elmo.load(path))


def test_refuses_links_in_a_tar(tmp_path):
    path = tmp_path / "m.tar"
    with tarfile.open(path, "w") as file:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc"
        file.addfile(info)
    fails(lambda: enter(path), path, "'link' is a link or a device; refused")


def test_looks_into_the_file_not_at_its_name(tmp_path):
    members = {"model/options.json": b"{}", "__MACOSX/model/._options.json": b"", ".DS_Store": b""}
    for write in (write_zip, write_tar):
        with opened(write(tmp_path / "3", members)) as folder:
            assert [item.name for item in folder.iterdir()] == ["options.json"]


def test_a_weights_file_or_a_keras_file_alone(published_model, tmp_path):
    _, weights = published_model("plain")
    fails(lambda: keras_elmo.load(weights), weights, "(options, weights)")
    members = {"config.json": b"{}", "metadata.json": b"{}", "model.weights.h5": b""}
    path = write_zip(tmp_path / "model.keras", members)
    fails(lambda: keras_elmo.load(path), "model.keras", "unpack it first")


def test_other_files(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(b"nothing")
    fails(lambda: enter(path), path, "neither a folder")
