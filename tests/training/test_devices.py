import json
import os
import shutil
import socket
import subprocess
import sys

import h5py
import keras
import numpy as np
import pytest

from keras_elmo.errors import ElmoError
from keras_elmo.models.batch_rows import BY_ROW
from keras_elmo.training.parts import take_part
from keras_elmo.training.pretrain import pretrain
from keras_elmo.training.recipe import Recipe
from tests.training.test_pretrain import ROOT
from tests.training.test_pretrain import TINY
from tests.training.test_pretrain import write_text

SETTINGS = {**TINY, "dropout": 0.0, "max_vocabulary": 14}
STEPS, EARLY = 6, 2
ALONE = [sys.executable, "-m", "keras_elmo"]
TORCHRUN = [*ALONE[:2], "torch.distributed.run", "--standalone", "--nproc-per-node=2", *ALONE[1:]]
TWO_CPUS = """
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from keras_elmo.cli import main
main()
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    return [write_text(folder / f"{k}.txt", 60, k) for k in range(2)]


class Copy(keras.callbacks.Callback):
    """Keeps the folder of a run as it is after an early step."""

    def __init__(self, folder, target):
        super().__init__()
        self.folder, self.target = folder, target

    def on_train_batch_end(self, batch, logs=None):
        if batch + 1 == EARLY:
            shutil.copytree(self.folder, self.target)


@pytest.fixture(scope="module")
def one_device(text, tmp_path_factory):
    """The folder of a whole run on one device, and that of its first steps alone."""
    folder = tmp_path_factory.mktemp("one")
    whole = folder / "whole"
    settings = {"checkpoint_steps": 1, "callbacks": [Copy(whole, folder / "early")]}
    recipe = Recipe(**SETTINGS, max_steps=STEPS)
    pretrain(text[0], whole, recipe, text[1], **settings, report=lambda line: None)
    return folder


def losses(folder):
    rows = [line.split(",") for line in (folder / "training" / "log.csv").read_text().splitlines()]
    return {int(row[0]): float(row[1]) for row in rows[1:]}


def run(start, text, folder, *options, environments=({},)):
    """Runs the command in a process for each environment and returns what the first one says."""
    arguments = ["pretrain", text[0], "--output", folder, *options]
    for key, value in {**SETTINGS, "filters": "1:4,2:4", "max_steps": STEPS}.items():
        arguments += [f"--{key.replace('_', '-')}", str(value)]
    arguments += ["--checkpoint-steps", "1"]
    processes = [
        subprocess.Popen(
            [*start, *arguments],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for environment in environments
    ]
    found = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), found
    return found[0][0]


def trained_weights(folder):
    """All of a checkpoint, but for what a validation left, if there was one."""
    with h5py.File(folder / "training" / "checkpoint.h5") as file:
        named = {key: file[key] for key in file if key != "progress"}
        return {key: x[()] for key, x in named.items() if "/test_" not in x.attrs["path"]}


def check(folder, one_device):
    """The curve and the weights of a run are those of one device."""
    expected = losses(one_device / "whole")
    found = losses(folder)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([*found.values()], [*expected.values()], atol=1e-4)
    assert (folder / "config.json").exists()
    expected, found = trained_weights(one_device / "whole"), trained_weights(folder)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, atol=1e-4, err_msg=key)


def check_validation(folder, one_device):
    files = [f / "training" / "validation.csv" for f in (folder, one_device / "whole")]
    np.testing.assert_allclose(*(np.genfromtxt(f, delimiter=",")[1:] for f in files), 1e-4)


def two_addresses():
    sockets = [socket.socket() for _ in range(2)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses


def on_two_devices(start, text, one_device, folder, environment):
    options = "--validation", text[1], "--distribute", "data"
    said = run(start, text, folder, *options, environments=[environment])
    assert "on each of 2 devices" in said
    check(folder, one_device)
    check_validation(folder, one_device)


def goes_on_from_one(start, text, one_device, folder, environments, kind="data"):
    shutil.copytree(one_device / "early", folder)
    said = run(start, text, folder, "--distribute", kind, environments=environments)
    assert f"going on from step {EARLY}" in said
    check(folder, one_device)


@pytest.mark.jax
def test_two_devices_of_jax(text, one_device, tmp_path):
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    on_two_devices(ALONE, text, one_device, tmp_path / "model", environment)


@pytest.mark.jax
def test_two_processes_of_jax_divide_the_softmax(text, one_device, tmp_path):
    hosts = {
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": two_addresses()[0],
        "KERAS_DISTRIBUTION_NUM_PROCESSES": "2",
    }
    environments = [{**hosts, "KERAS_DISTRIBUTION_PROCESS_ID": str(k)} for k in range(2)]
    goes_on_from_one(ALONE, text, one_device, tmp_path / "model", environments, "vocabulary")


@pytest.mark.tensorflow
def test_two_devices_of_tensorflow(text, one_device, tmp_path):
    start = [sys.executable, "-c", TWO_CPUS]
    on_two_devices(start, text, one_device, tmp_path / "model", {})


@pytest.mark.tensorflow
def test_two_workers_of_tensorflow(text, one_device, tmp_path):
    cluster = {"worker": two_addresses()}
    tasks = [{"type": "worker", "index": k} for k in range(2)]
    environments = [{"TF_CONFIG": json.dumps({"cluster": cluster, "task": t})} for t in tasks]
    goes_on_from_one(ALONE, text, one_device, tmp_path / "model", environments)


@pytest.mark.torch
def test_two_processes_of_torch(text, one_device, tmp_path):
    on_two_devices(TORCHRUN, text, one_device, tmp_path / "model", {})


@pytest.mark.torch
def test_two_processes_of_torch_go_on_from_one(text, one_device, tmp_path):
    goes_on_from_one(TORCHRUN, text, one_device, tmp_path / "model", [{}])


def test_what_cannot_be_shared_is_refused(text, tmp_path):
    recipe = Recipe(**SETTINGS)
    with pytest.raises(ElmoError, match="distribute must be one of data, vocabulary, not model"):
        pretrain(text[0], tmp_path, recipe, distribute="model")
    if keras.config.backend() != "jax":
        with pytest.raises(ElmoError, match="this runs on jax"):
            pretrain(text[0], tmp_path, recipe, distribute="vocabulary")
    if keras.config.backend() == "torch":
        with pytest.raises(ElmoError, match="start with torchrun"):
            pretrain(text[0], tmp_path, recipe, distribute="data")


def test_the_parts_of_a_batch_hold_its_rows_and_only_their_words():
    rng = np.random.default_rng(0)
    words = {"char_ids_16": rng.random((8, 16)), "char_ids_50": rng.random((4, 50))}
    batch = {
        **words,
        "forward": rng.integers(0, 12, (4, 3)),
        "backward": rng.integers(0, 8, (4, 3)),
        "forward_target_rows": np.arange(12).reshape(4, 3),
        "forward_candidate_rows": np.arange(5),
    }
    vectors = np.array([row[0] for name in words for row in words[name]])
    parts = [take_part(batch, number, 2) for number in range(2)]
    for name in batch:
        rows = [part[name] for part in parts]
        if name in ("forward", "backward"):
            own = [np.array([x[0] for n in words for x in part[n]]) for part in parts]
            found = np.concatenate([v[r] for v, r in zip(own, rows, strict=True)])
            np.testing.assert_array_equal(found, vectors[batch[name]])
            assert all(len(v) < len(vectors) for v in own)
        elif name.endswith(BY_ROW):
            np.testing.assert_array_equal(np.concatenate(rows), batch[name])
        elif name not in words:
            assert all(one is batch[name] for one in rows)
