import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import backend
from keras_elmo.layers.sampled_softmax import sampled_softmax_loss
from keras_elmo.training.sampler import LogUniformSampler

# JAX compiles a loop outside of compiled code anew in every call.
compiled_loss = backend.jit(sampled_softmax_loss, keras.layers.Layer())


def losses(inputs, targets, *rest):
    """Of each token alone."""
    return [loss(x[None], target[None], *rest) for x, target in zip(inputs, targets, strict=True)]


def loss(inputs, targets, sample, sampler, kernel, bias):
    candidates, draws = sample
    result = compiled_loss(
        ops.convert_to_tensor(inputs),
        ops.convert_to_tensor(targets),
        ops.convert_to_tensor(candidates),
        ops.convert_to_tensor(sampler.log_expected_count(targets, draws)),
        ops.convert_to_tensor(sampler.log_expected_count(candidates, draws)),
        ops.convert_to_tensor(kernel),
        ops.convert_to_tensor(bias),
    )
    return keras.ops.convert_to_numpy(result)


def full_loss(inputs, targets, kernel, bias):
    logits = inputs.astype("float64") @ kernel.T + bias
    return np.log(np.exp(logits).sum(1)) - logits[np.arange(len(targets)), targets]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    inputs, kernel = rng.normal(size=(30, 8)), rng.normal(size=(50, 8))
    targets = rng.integers(0, 50, 30)
    bias = rng.normal(size=50)
    return [
        x.astype("int32" if x.dtype == int else "float32") for x in (inputs, targets, kernel, bias)
    ]


def test_equals_tensorflow(shared_data):
    path = shared_data / "fixtures-golden" / "C-tf1-checkpoint" / "sampled_softmax.npz"
    golden = np.load(path)
    sampler = LogUniformSampler(len(golden["W"]), len(golden["sampled_ids"]))
    targets = golden["labels"][:, 0].astype("int32")
    sample = golden["sampled_ids"].astype("int32"), int(golden["num_tries"])
    for ids, name in ((targets[:, None], "true"), (sample[0], "sampled")):
        expected = golden[f"{name}_expected_count"]
        counts = np.exp(sampler.log_expected_count(ids, sample[1]))
        np.testing.assert_allclose(counts, expected, rtol=1e-5)
    result = losses(golden["inputs"], targets, sample, sampler, golden["W"], golden["b"])
    np.testing.assert_allclose(result, golden["loss"], atol=1e-5)
    sampler = LogUniformSampler(500, 500)
    sample = sampler.sample(None)
    result = losses(golden["inputs"], targets, sample, sampler, golden["W"], golden["b"])
    np.testing.assert_allclose(result, golden["full_softmax_loss"], atol=1e-5)


def test_sample_of_all_words_is_the_full_softmax(problem):
    inputs, targets, kernel, bias = problem
    sampler = LogUniformSampler(50, 1000)
    result = losses(inputs, targets, sampler.sample(None), sampler, kernel, bias)
    np.testing.assert_allclose(result, full_loss(inputs, targets, kernel, bias), atol=1e-5)


def test_a_candidate_that_is_the_target_does_not_compete(problem):
    inputs, _, kernel, bias = problem
    targets = np.full(30, 3, "int32")
    sampler = LogUniformSampler(50, 2)
    alone = losses(inputs, targets, (np.array([3, 7], "int32"), 5), sampler, kernel, bias)
    gap = (inputs @ (kernel[7] - kernel[3])) + bias[7] - bias[3]
    counts = sampler.log_expected_count(np.array([3, 7]), 5)
    np.testing.assert_allclose(alone, np.log1p(np.exp(gap - counts[1] + counts[0])), atol=1e-5)


def test_larger_samples_estimate_the_loss_better(problem):
    inputs, targets, kernel, bias = problem
    kernel, bias = kernel / 4, bias / 4
    expected = full_loss(inputs, targets, kernel, bias).mean()
    rng = np.random.default_rng(1)
    errors = []
    for num_samples in (10, 40):
        sampler = LogUniformSampler(50, num_samples)
        draws = [
            loss(inputs, targets, sampler.sample(rng), sampler, kernel, bias) for _ in range(200)
        ]
        errors.append(np.abs(np.array(draws) - expected).mean())
    assert errors[1] < errors[0] / 2


def test_samples_are_distinct_and_follow_the_expected_counts():
    sampler = LogUniformSampler(100, 20)
    rng = np.random.default_rng(2)
    hits, expected = np.zeros(100), np.zeros(100)
    for _ in range(2000):
        ids, draws = sampler.sample(rng)
        assert len(set(ids.tolist())) == 20
        assert draws >= 20
        hits[ids] += 1
        expected += np.exp(sampler.log_expected_count(np.arange(100), draws))
    np.testing.assert_allclose(hits[:10] / 2000, expected[:10] / 2000, atol=0.03)
    np.testing.assert_allclose(hits[50:].sum(), expected[50:].sum(), rtol=0.05)


def test_a_seed_decides_the_sample():
    sampler = LogUniformSampler(1000, 64)
    one, other = (sampler.sample(np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1] == other[1]


@pytest.mark.parametrize("tokens", [30, 600])
def test_gradient_is_that_of_the_formula(tokens):
    """Also for more tokens than are computed at once, and candidates that are targets."""
    rng = np.random.default_rng(2)
    x, kernel = rng.normal(size=(tokens, 8)), rng.normal(size=(50, 8))
    bias, wanted = rng.normal(size=50), np.full(tokens, 3 / tokens)
    targets, candidates = rng.integers(0, 50, tokens), rng.permutation(50)[:20]
    log_counts = rng.normal(size=50)  # of each word
    counts, candidate_counts = log_counts[targets], log_counts[candidates]
    ints = [array.astype("int32") for array in (targets, candidates)]

    def tripled(*tensors):
        found = sampled_softmax_loss(
            tensors[0],
            *(ops.convert_to_tensor(array) for array in ints),
            ops.convert_to_tensor(counts.astype("float32")),
            ops.convert_to_tensor(candidate_counts.astype("float32")),
            *tensors[1:],
        )
        return 3 * found, ()

    given = [ops.convert_to_tensor(array.astype("float32")) for array in (x, kernel, bias)]
    (value, _), _, found = backend.gradients(tripled, keras.Sequential(), [], given)

    true = np.exp((x * kernel[targets]).sum(1) + bias[targets] - counts)
    others = np.exp(x @ kernel[candidates].T + bias[candidates] - candidate_counts)
    others[targets[:, None] == candidates] = 0
    total = true + others.sum(1)
    np.testing.assert_allclose(value, 3 * np.mean(np.log(total / true)), rtol=1e-5)
    shares = others / total[:, None] * wanted[:, None]
    d_true = (true / total - 1) * wanted
    d_kernel, d_bias = np.zeros_like(kernel), np.zeros_like(bias)
    np.add.at(d_kernel, targets, d_true[:, None] * x)
    np.add.at(d_bias, targets, d_true)
    d_kernel[candidates] += shares.T @ x
    d_bias[candidates] += shares.sum(0)
    expected = d_true[:, None] * kernel[targets] + shares @ kernel[candidates], d_kernel, d_bias
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(one), other, rtol=1e-4, atol=1e-5)
