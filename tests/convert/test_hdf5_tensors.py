import zipfile

import h5py
import numpy as np
import pytest

from keras_elmo.convert.hdf5_tensors import read_hdf5
from tests.convert.fuzz import check_reader
from tests.convert.fuzz import fails

pytestmark = pytest.mark.minimal


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.hdf5"


def write(path, change):
    with h5py.File(path, "w") as file:
        file["group/tensor"] = np.arange(6.0).reshape(2, 3)
        change(file)


def test_names_and_values(path):
    write(path, lambda file: file.create_dataset("text", data="{}"))
    found = read_hdf5(path)
    assert found.keys() == {"group/tensor", "text"}
    np.testing.assert_array_equal(found["group/tensor"], [[0, 1, 2], [3, 4, 5]])


def test_inside_a_zip(path):
    write(path, lambda file: None)
    with zipfile.ZipFile(path.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, path.name)
    inside = zipfile.Path(path.with_suffix(".zip")) / path.name
    assert read_hdf5(inside).keys() == {"group/tensor"}
    fails(lambda: read_hdf5(inside.parent / "other.hdf5"), "other.hdf5", "no such")


@pytest.mark.parametrize("link", [h5py.ExternalLink("x.h5", "/y"), h5py.SoftLink("/group")])
def test_refuses_links(link, path):
    write(path, lambda file: file.__setitem__("a", link))
    fails(lambda: read_hdf5(path), path, "link", "refused")


def external(file):
    place = [("/etc/passwd", 0, h5py.h5f.UNLIMITED)]
    file.create_dataset("a", (3,), "i1", external=place)


def virtual(file):
    layout = h5py.VirtualLayout((3,), "f4")
    layout[:] = h5py.VirtualSource("other.h5", "a", (3,))
    file.create_virtual_dataset("a", layout)


def endless(file):
    file["group/inside"] = file["group"]


def bomb(file):
    file.create_dataset("a", (10**9, 10), "f4", chunks=(10**4, 10), compression=9)


def many_bombs(file):
    for k in range(100):
        file.create_dataset(f"a{k}", (10**5, 10), "f4", chunks=(10**4, 10), compression=9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (external, "another file"),
        (virtual, "another file"),
        (endless, "too deep"),
        (bomb, "claims"),
        (many_bombs, "claims"),
    ],
)
def test_refuses_tensors_that_lie_elsewhere_or_claim_too_much(change, words, path):
    write(path, change)
    fails(lambda: read_hdf5(path), path, words)


def test_broken_files_raise_our_error_only(published_model, tmp_path):
    path = tmp_path / "weights.hdf5"
    path.write_bytes(published_model("plain")[1].read_bytes())
    check_reader(lambda: read_hdf5(path), path, 150)
