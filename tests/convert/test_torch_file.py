import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from keras_elmo.convert import torch_file
from keras_elmo.convert.torch_file import read_tensors
from tests.convert.fuzz import check_reader
from tests.convert.fuzz import fails

pytestmark = pytest.mark.minimal


class Code:
    """Pickles as a call of any function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def write_zip(path, contents, protocol=2):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(contents, protocol))
    return path


def write_sequential(path, contents):
    file = io.BytesIO()
    for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, contents, []):
        pickle.dump(part, file, 2)
    path.write_bytes(file.getvalue())
    return path


@pytest.mark.parametrize("write", [write_zip, write_sequential])
def test_runs_no_code(write, tmp_path):
    victim = tmp_path / "victim"
    path = write(tmp_path / "encoder.pkl", {"weight": Code(os.mkdir, str(victim))})
    fails(lambda: read_tensors(path), path, "mkdir", "nothing was run")
    path = write(tmp_path / "encoder.pkl", Code(eval, f"__import__('os').mkdir({str(victim)!r})"))
    fails(lambda: read_tensors(path), path, "eval", "nothing was run")
    assert not victim.exists()


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ([1, 2], "list"),
        ({"a": 1}, "'a' is not a tensor"),
        ({1: 2}, "1 is not a tensor"),
        ({"a": b"bytes"}, "nothing was run"),
        (None, "NoneType"),
    ],
)
def test_refuses_what_is_no_dict_of_tensors(contents, words, tmp_path):
    path = write_zip(tmp_path / "encoder.pkl", contents)
    fails(lambda: read_tensors(path), path, words)


def test_refuses_other_opcodes(tmp_path):
    path = write_zip(tmp_path / "encoder.pkl", {"a": 1}, protocol=4)
    fails(lambda: read_tensors(path), path, "opcode")


def test_refuses_other_files(tmp_path):
    path = tmp_path / "encoder.pkl"
    for data in (b"", b"PK", b"not a pickle", pickle.dumps(17)):
        path.write_bytes(data)
        fails(lambda: read_tensors(path), path)


def test_refuses_tensors_that_claim_too_much(shared_data, monkeypatch):
    """Any number of tensors may share their data: a small file, and no end of memory."""
    monkeypatch.setattr(torch_file, "INFLATION", 0.5)
    path = shared_data / "fixtures-efml" / "model_b" / "encoder.pkl"
    fails(lambda: read_tensors(path), path, "too many bytes", "refused")


@pytest.mark.parametrize("folder", ["model_a", "model_b"])  # the two containers
def test_broken_files_raise_our_error_only(folder, shared_data, tmp_path):
    path = tmp_path / "encoder.pkl"
    path.write_bytes((shared_data / "fixtures-efml" / folder / "encoder.pkl").read_bytes())
    check_reader(lambda: read_tensors(path), path, 150)


@pytest.mark.torch
@pytest.mark.parametrize("container", [True, False])
def test_reads_what_torch_writes(container, tmp_path):
    import torch

    base = torch.arange(24.0).reshape(4, 6)
    tensors = {
        "plain": base,
        "transposed": base.T,
        "part": base[1:3, ::2],
        "half": base.half(),
        "double": torch.ones(3, dtype=torch.float64),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "parameter": torch.nn.Parameter(base.clone()),
    }
    path = Path(tmp_path / "tensors.pkl")
    torch.save(tensors, path, _use_new_zipfile_serialization=container)
    found = read_tensors(path)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(found[name], tensor.detach().numpy())
