import functools
import json
from types import SimpleNamespace

import numpy as np
import pytest

from tests import reference

pytestmark = pytest.mark.minimal

close = functools.partial(np.testing.assert_allclose, rtol=0)


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def trained(shared_data):
    """The trained model of fixtures-golden/C, with its softmax and its vocabulary."""
    folder = shared_data / "fixtures-golden" / "C-tf1-checkpoint"
    sampled = np.load(folder / "sampled_softmax.npz")
    words = (folder / "vocab.txt").read_text(encoding="utf-8").split()
    return SimpleNamespace(
        folder=folder,
        model=reference.read(folder / "options.json", folder / "weights.hdf5"),
        softmax=(sampled["W"].astype(float), sampled["b"].astype(float)),
        vocabulary={word: number for number, word in enumerate(words)},
    )


def test_sentence_log_probs(trained):
    for sentence in read_json(trained.folder / "sentence_logprobs_zero_state.json"):
        ids = reference.batch_to_ids([sentence["tokens"]])[0]
        unknown = trained.vocabulary["<UNK>"]
        words = [trained.vocabulary.get(word, unknown) for word in sentence["tokens"]]
        forward, backward = reference.sentence_log_probs(ids, words, trained.model, trained.softmax)
        close(forward, sentence["forward_logp"], atol=2e-6)
        close(backward[::-1], sentence["backward_logp"], atol=2e-6)


def held_out(trained):
    """Each held-out sentence: ids (T, K), word numbers (T,)."""
    unknown = trained.vocabulary["<UNK>"]
    for line in (trained.folder / "heldout.txt").read_text(encoding="utf-8").splitlines():
        words = line.split()
        yield (
            reference.batch_to_ids([words])[0],
            [trained.vocabulary.get(word, unknown) for word in words],
        )


def test_perplexity_of_single_sentences(trained):
    expected = read_json(trained.folder / "perplexity.json")["zero_state_per_sentence"]
    scores = [
        reference.sentence_log_probs(ids, words, trained.model, trained.softmax)
        for ids, words in held_out(trained)
    ]
    forward, backward = (-np.concatenate(side).mean() for side in zip(*scores, strict=True))
    close(np.exp(forward), expected["forward"], atol=1e-4)
    close(np.exp(backward), expected["backward"], atol=1e-4)
    close(np.exp((forward + backward) / 2), expected["mean_loss_perplexity"], atol=1e-4)


def test_perplexity_of_a_stream(trained):
    """As the trainer reads it: <S> w1 .. wn, <S> ..; backward </S> wn .. w1, </S> ..."""
    golden = np.load(trained.folder / "heldout_stream_logprobs.npz")
    begin = reference.word_to_ids("<S>")[None]
    end = reference.word_to_ids("</S>")[None]
    inputs, targets = {"fwd": [], "bwd": []}, {"fwd": [], "bwd": []}
    for ids, words in held_out(trained):
        inputs["fwd"] += [begin, ids]
        inputs["bwd"] += [end, ids[::-1]]
        targets["fwd"] += [*words, 1]
        targets["bwd"] += [*reversed(words), 0]
    tops = {}
    for side, lstms in (("fwd", trained.model.forward), ("bwd", trained.model.backward)):
        vectors = reference.char_cnn(np.concatenate(inputs[side]), trained.model.char_cnn)
        h, c = reference.zero_state(trained.model, 1)
        state = h[0, :, : h.shape[-1] // 2], c[0, :, : c.shape[-1] // 2]
        real = np.ones(len(vectors), bool)
        tops[side] = reference.lstm_stack(vectors, real, state, lstms, True)[0][-1]
        np.testing.assert_array_equal(targets[side], golden[f"{side}_target"])
        logs = reference.log_probs(tops[side], np.array(targets[side]), trained.softmax)
        close(logs, golden[f"{side}_logp"], atol=1e-5)
    arguments = (*tops.values(), *map(np.array, targets.values()), trained.softmax)
    loss = reference.language_model_loss(*arguments)
    close(np.exp(loss), 18.372898517898353, rtol=1e-5)


@pytest.mark.parametrize("step", [1, 2])
def test_training_loss(trained, step):
    """Losses and states of the trainer: from the start, and with the weights after step 1."""
    golden = dict(np.load(trained.folder / "train_step.npz"))
    model, softmax = trained.model, trained.softmax
    if step == 2:
        model, softmax = after_step_1(trained, golden)
    tops, targets = [], []
    for number, (suffix, lstms) in enumerate([("", model.forward), ("_reverse", model.backward)]):
        ids = golden[f"step{step}/batch/tokens_characters{suffix}"].astype(int) + 1
        targets.append(golden[f"step{step}/batch/next_token_id{suffix}"].astype(int))
        vectors = reference.char_cnn(ids, model.char_cnn)
        layers = [f"step{step}/state/dir{number}/layer{k}" for k in range(2)]
        state = [np.zeros((4, 2, 16)), np.zeros((4, 2, 32))]
        if step == 2:
            before = [name.replace("step2", "step1") for name in layers]
            state = [np.stack([golden[f"{k}/{part}"] for k in before], axis=1) for part in "hc"]
        rows = []
        for row, xs in enumerate(vectors):
            start = state[0][row], state[1][row]
            outputs, end = reference.lstm_stack(xs, np.ones(7, bool), start, lstms, True)
            rows.append(outputs[-1])
            for part, value in zip("hc", end, strict=True):
                expected = [golden[f"{name}/{part}"][row] for name in layers]
                close(value, expected, atol=1e-5)
        tops.append(np.array(rows))
        loss = -reference.log_probs(tops[-1], targets[-1], softmax).mean()
        close(loss, golden[f"step{step}/loss_forward_backward"][number], atol=1e-5)
    both = reference.language_model_loss(*tops, *targets, softmax)
    close(both, golden[f"step{step}/loss_forward_backward"].mean(), atol=1e-5)


def after_step_1(trained, golden):
    options = read_json(trained.folder / "options.json")
    lines = (trained.folder / "dump_names.txt").read_text(encoding="utf-8").splitlines()
    names = dict(line.split() for line in lines)
    arrays = {
        published: golden[f"step1/var/{variable.removesuffix(':0')}"]
        for variable, published in names.items()
    }
    softmax = golden["step1/var/lm/softmax/W"], golden["step1/var/lm/softmax/b"]
    return reference.build(options, arrays), softmax


def test_sampled_softmax(trained):
    golden = dict(np.load(trained.folder / "sampled_softmax.npz"))
    labels, sampled = golden["labels"][:, 0], golden["sampled_ids"]
    counts = golden["true_expected_count"][:, 0], golden["sampled_expected_count"]
    hidden = golden["inputs"].astype(float)
    for ids, count in ((labels, counts[0]), (sampled, counts[1])):
        own = reference.log_uniform_expected_count(ids, 500, int(golden["num_tries"]))
        close(own, count, rtol=1e-5)
    loss = reference.sampled_softmax_loss(hidden, labels, trained.softmax, sampled, *counts)
    close(loss, golden["loss"], atol=1e-5)
    full = -reference.log_probs(hidden, labels, trained.softmax)
    close(full, golden["full_softmax_loss"], atol=1e-5)


def test_sampling_every_class_is_the_full_softmax():
    rng = np.random.default_rng(0)
    hidden, labels = rng.normal(size=(5, 4)), np.array([0, 3, 8, 8, 1])
    softmax = rng.normal(size=(9, 4)), rng.normal(size=9)
    ones = np.ones(5), np.ones(9)
    sampled = reference.sampled_softmax_loss(hidden, labels, softmax, np.arange(9), *ones)
    close(sampled, -reference.log_probs(hidden, labels, softmax), atol=1e-14)
