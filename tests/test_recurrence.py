import numpy as np
import pytest
from keras import ops

from keras_elmo import recurrence
from tests import reference

RNG = np.random.default_rng(0)
KERNEL, RECURRENT, BIAS, PROJECTION = (
    RNG.normal(0, 0.5, shape).astype("float32") for shape in ((3, 24), (4, 24), (24,), (6, 4))
)


def run(time, mask=None, clips=(0.4, 0.2), backwards=False, seed=1, **options):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, time, 3)).astype("float32")
    state = [rng.normal(0, 0.1, (2, size)).astype("float32") for size in (4, 6)]
    weights = [ops.convert_to_tensor(w) for w in (KERNEL, RECURRENT, BIAS, PROJECTION)]
    found = recurrence.lstm(
        ops.convert_to_tensor(x),
        None if mask is None else ops.convert_to_tensor(mask),
        [ops.convert_to_tensor(part) for part in state],
        weights,
        clips,
        backwards,
        **options,
    )
    return x, state, found


@pytest.mark.parametrize("hoisted", [True, False])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("clips", [(0.4, 0.2), (None, None)])
@pytest.mark.parametrize("time", [1, 5])
def test_agrees_with_the_reference(time, clips, backwards, hoisted):
    mask = np.array([[True] * time, [t != 2 for t in range(time)]])
    x, state, (outputs, final) = run(time, mask, clips, backwards, hoisted=hoisted)
    lstm = reference.LSTM(np.concatenate([KERNEL, RECURRENT]), BIAS, PROJECTION, *clips)
    for row in range(2):
        expected = reference.lstm_layer(
            x[row].astype(float), mask[row], state[0][row], state[1][row], lstm, backwards
        )
        found = [ops.convert_to_numpy(part)[row] for part in (outputs, *final)]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


def test_clips_bite():
    _, _, (outputs, (_, c)) = run(7)
    assert np.isclose(np.abs(ops.convert_to_numpy(outputs)), 0.2).mean() > 0.1
    assert np.abs(ops.convert_to_numpy(outputs)).max() <= 0.2 + 1e-7
    assert np.isclose(np.abs(ops.convert_to_numpy(c)), 0.4).mean() > 0.1


def test_large_weights_stay_within_the_clips():
    gates, c = 100.0 * ops.ones((2, 24)), 50 * ops.ones((2, 6))
    project = recurrence.projection(100 * PROJECTION)
    h, c = recurrence.lstm_step(gates, c, project, 3.0, 3.0)
    assert np.abs(ops.convert_to_numpy(c)).max() == 3.0
    assert np.abs(ops.convert_to_numpy(h)).max() == 3.0


def test_no_time_at_all():
    _, state, (outputs, final) = run(0)
    assert outputs.shape == (2, 0, 4)
    for before, after in zip(state, final, strict=True):
        np.testing.assert_array_equal(before, ops.convert_to_numpy(after))


@pytest.mark.jax
def test_the_program_does_not_grow_with_time_in_jax():
    import jax

    def equations(jaxpr):
        values = (value for e in jaxpr.eqns for value in e.params.values())
        inner = (getattr(value, "jaxpr", value) for value in values)
        return len(jaxpr.eqns) + sum(equations(p) for p in inner if hasattr(p, "eqns"))

    def program(time):
        x = np.zeros((2, time, 3), "float32")
        state, weights = (np.zeros((2, 4)), np.zeros((2, 6))), (KERNEL, RECURRENT, BIAS, PROJECTION)

        def function(x, weights):
            outputs, _ = recurrence.lstm(x, np.ones((2, time), bool), state, weights, (3.0, 3.0))
            return outputs.sum()

        return jax.make_jaxpr(jax.value_and_grad(function, argnums=1))(x, weights).jaxpr

    assert equations(program(5)) == equations(program(50)) > 20


@pytest.mark.tensorflow
@pytest.mark.parametrize("jit", [False, True])
def test_the_program_does_not_grow_with_time_in_tensorflow(jit):
    import tensorflow as tf

    weights = [tf.constant(w) for w in (KERNEL, RECURRENT, BIAS, PROJECTION)]

    @tf.function(jit_compile=jit)
    def function(x, mask):
        state = [tf.zeros((2, 4)), tf.zeros((2, 6))]
        with tf.GradientTape() as tape:
            tape.watch(weights)
            outputs, _ = recurrence.lstm(x, mask, state, weights, (3.0, 3.0))
            loss = tf.reduce_sum(outputs)
        return tape.gradient(loss, weights)

    def nodes(time):
        x, mask = tf.zeros((2, time, 3)), tf.ones((2, time), tf.bool)
        graph = function.get_concrete_function(x, mask).graph.as_graph_def()
        return len(graph.node) + sum(len(f.node_def) for f in graph.library.function)

    assert nodes(5) == nodes(50) > 20
    assert all(
        np.isfinite(g.numpy()).all() for g in function(tf.ones((2, 5, 3)), tf.ones((2, 5), tf.bool))
    )


@pytest.mark.jax
def test_a_second_call_compiles_nothing():
    run(5)
    before = recurrence.lstm._cache_size()
    run(5, seed=2)
    assert recurrence.lstm._cache_size() == before
