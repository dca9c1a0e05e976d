import functools
import json
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from tests import reference
from tests.goldens import ALLENNLP
from tests.goldens import SIMPLE_ELMO

pytestmark = pytest.mark.minimal

# Folder under fixtures-golden -> largest difference its README allows.
GOLDENS = {f"A-allennlp/{name}": 1e-5 for name in ALLENNLP}
GOLDENS["A-allennlp/m2_tanh_hw1_l1_noclip"] = 1e-4
GOLDENS |= {f"A-simple_elmo/{name}": 1e-5 for name in SIMPLE_ELMO}
GOLDENS["C-tf1-checkpoint"] = 1e-5
ALLENNLP_RUNS = [name for name in GOLDENS if not name.startswith("A-simple_elmo")]
# Outputs of bilm-tf -> the folder with their model.
BILM_TF_RUNS = {f"A-simple_elmo/{name}/golden.npz": f"A-simple_elmo/{name}" for name in SIMPLE_ELMO}
BILM_TF_RUNS |= {
    f"B-simple_elmo/{name}/simple_elmo.npz": f"A-allennlp/{name}"
    for name in ("m1_relu_hw2_l2", "m4_tanh_hw2_l2_clipbites")
}
BILM_TF_RUNS["C-tf1-checkpoint/simple_elmo.npz"] = "C-tf1-checkpoint"
MIX = np.array([0.3, -0.2, 0.7, 0.1])
GAMMA = 1.7

close = functools.partial(np.testing.assert_allclose, rtol=0)


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


@functools.cache
def four_calls(folder):
    """The four calls that every golden holds, the state carried from each to the next."""
    golden = dict(np.load(folder / "golden.npz"))
    sentences = read_json(folder / "sentences.json")
    width = read_json(folder / "options.json")["char_cnn"]["max_characters_per_token"]
    model = reference.read(folder / "options.json", folder / "weights.hdf5")
    state = reference.zero_state(model, len(sentences))
    calls = {}
    for number, rows in enumerate((slice(0, 9), slice(0, 9), slice(2, 5), slice(0, 9)), start=1):
        ids = reference.batch_to_ids(sentences[rows], width)
        # A smaller batch uses and moves the first rows of the state.
        first = [part[: len(ids)] for part in state]
        result = reference.elmo(ids, model, keep_boundaries=True, state=first)
        parts = zip(result["state"], state, strict=True)
        state = [np.concatenate([new, old[len(ids) :]]) for new, old in parts]
        calls[number] = {**result, "ids": ids, "state": state}
    return SimpleNamespace(golden=golden, model=model, calls=calls)


@pytest.fixture(params=GOLDENS)
def golden(request, shared_data):
    return SimpleNamespace(
        **vars(four_calls(shared_data / "fixtures-golden" / request.param)),
        bilm_tf=request.param.startswith("A-simple_elmo"),
        tolerance=GOLDENS[request.param],
    )


def test_charmap(shared_data):
    charmap = read_json(shared_data / "fixtures-golden/A-allennlp/charmap.json")
    ids = [reference.word_to_ids(word) for word in charmap["words"]]
    np.testing.assert_array_equal(ids, charmap["ids"])


def test_ids(golden):
    for prefix, call in (("", golden.calls[1]), ("call3/", golden.calls[3])):
        np.testing.assert_array_equal(golden.golden[f"{prefix}mask"], call["mask"])
        if f"{prefix}char_ids" in golden.golden:
            np.testing.assert_array_equal(golden.golden[f"{prefix}char_ids"], call["ids"])
        else:
            bounded = golden.golden[f"{prefix}char_ids_with_boundaries"]
            np.testing.assert_array_equal(bounded, reference.add_boundaries(call["ids"]))


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_layers(golden, number):
    call = golden.calls[number]
    count = call["layers"].shape[1]
    assert f"call{number}/act{count}" not in golden.golden
    for k in range(count):
        expected = golden.golden[f"call{number}/act{k}"]
        if k == 0 and golden.bilm_tf:
            # bilm-tf leaves the vector of an all-zero token on the padding of layer 0.
            expected = np.where(call["mask"][..., None], expected, 0.0)
        close(call["layers"][:, k], expected, atol=golden.tolerance)
    assert not call["layers"].swapaxes(1, 2)[~call["mask"]].any()


@pytest.mark.parametrize("number", [1, 2, 4])
def test_state(golden, number):
    for part, value in zip("hc", golden.calls[number]["state"], strict=True):
        expected = golden.golden[f"call{number}/state_{part}"].swapaxes(0, 1)
        close(value, expected, atol=golden.tolerance)


@pytest.mark.parametrize("golden", ALLENNLP_RUNS, indirect=True)
@pytest.mark.parametrize("keep", [False, True], ids=["words", "boundaries"])
@pytest.mark.parametrize("norm", [False, True], ids=["plain", "norm"])
@pytest.mark.parametrize("number", [1, 2])
def test_allennlp_mix(golden, number, norm, keep):
    ids, count = golden.calls[number]["ids"], golden.calls[number]["layers"].shape[1]
    state = golden.calls[1]["state"] if number == 2 else None
    kind = "allennlp" if norm else None
    result = reference.elmo(ids, golden.model, MIX[:count], GAMMA, kind, keep, state)
    mask = result["mask"]
    expected = golden.golden[f"call{number}/elmo_ln{norm:d}_keep{keep:d}"]
    # With the boundaries and the norm, AllenNLP leaves numbers on padding; ours are 0.
    close(result["elmo"][mask], expected[mask], atol=golden.tolerance)
    assert not result["elmo"][~mask].any()


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("run", BILM_TF_RUNS)
def test_bilm_tf_outputs(shared_data, run, number):
    """All layers without the boundaries, and the mixes, as bilm-tf gives them."""
    folder = shared_data / "fixtures-golden"
    golden, calls = np.load(folder / run), four_calls(folder / BILM_TF_RUNS[run])
    state = calls.calls[1]["state"] if number == 2 else None
    for norm, kind in enumerate([None, "bilm"]):
        ids, weights = calls.calls[number]["ids"], MIX[: calls.calls[1]["layers"].shape[1]]
        result = reference.elmo(ids, calls.model, weights, GAMMA, kind, state=state)
        mask = result["mask"]
        mixed = golden[f"call{number}/elmo_ln{norm}_keep0"]
        close(result["elmo"][mask], mixed[mask], atol=1e-5)
    layers = golden[f"call{number}/lm_embeddings"].swapaxes(1, 2)
    close(result["layers"].swapaxes(1, 2)[mask], layers[mask], atol=1e-5)
    np.testing.assert_array_equal(mask, golden["mask_nobound"])


def test_allennlp_token_embeddings(shared_data):
    folder = shared_data / "fixtures-allennlp"
    model = reference.read(folder / "options.json", folder / "lm_weights.hdf5")
    words = (folder / "vocab_test.txt").read_text(encoding="utf-8").split("\n")
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][()]
    ids = reference.batch_to_ids([words[: len(expected)]])[0]
    close(reference.char_cnn(ids, model.char_cnn), expected, atol=1e-5)


def test_allennlp_top_layer_with_carried_state(shared_data):
    folder = shared_data / "fixtures-allennlp"
    model = reference.read(folder / "options.json", folder / "lm_weights.hdf5")
    streams = read_json(folder / "sentences.json")
    goldens = []
    for number in range(len(streams)):
        with h5py.File(folder / f"lm_embeddings_{number}.hdf5") as file:
            goldens.append({key: values[()] for key, values in file.items()})
    state = None
    for number, batch in enumerate(zip(*streams, strict=True)):
        ids = reference.batch_to_ids([sentence.split() for sentence in batch])
        result = reference.elmo(ids, model, state=state)
        state = result["state"]
        for row, golden in enumerate(goldens):
            top = result["layers"][row, -1][result["mask"][row]]
            forward, backward = golden[str(number)]  # (T, P) each
            close(top, np.concatenate([forward, backward], axis=-1), atol=1e-5)


@pytest.mark.parametrize("signature", ["tokens", "default"])
def test_tf_hub_module(shared_data, signature):
    folder = shared_data / "fixtures-golden" / "D-tfhub"
    golden, inputs = np.load(folder / "golden.npz"), read_json(folder / "inputs.json")
    if signature == "tokens":
        rows = zip(inputs["tokens"], inputs["sequence_len"], strict=True)
        sentences = [row[:length] for row, length in rows]
    else:
        sentences = [text.split() for text in inputs["strings"]]
    ids = reference.batch_to_ids(sentences)
    for row, sentence in enumerate(sentences):
        for t, word in enumerate(sentence):  # the module spells "<S>" too
            ids[row, t] = reference.spell(word.encode())
    model = four_calls(shared_data / "fixtures-golden/A-allennlp/m1_relu_hw2_l2").model
    result = reference.elmo(ids, model, MIX[:3], GAMMA)
    lengths = result["mask"].sum(axis=1)
    np.testing.assert_array_equal(lengths, golden[f"{signature}/sequence_len"])
    mean = result["elmo"].sum(axis=1) / np.maximum(lengths, 1)[:, None]
    outputs = {
        "word_emb": result["layers"][:, 0, :, : golden["tokens/word_emb"].shape[-1]],
        "lstm_outputs1": result["layers"][:, 1],
        "lstm_outputs2": result["layers"][:, 2],
        "elmo": result["elmo"],
        "default": mean,
    }
    for name, value in outputs.items():
        close(value, golden[f"{signature}/{name}"], atol=1e-5)
