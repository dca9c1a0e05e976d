import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo.layers.attention import masked_max
from keras_elmo.layers.attention import masked_mean
from keras_elmo.layers.attention import masked_softmax
from keras_elmo.layers.attention_pooling import AttentionPooling
from keras_elmo.layers.bidirectional_attention import BidirectionalAttention
from keras_elmo.layers.bidirectional_lstm import BidirectionalLSTM
from tests.contract import arrays
from tests.contract import set_weights

MASK = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1]], bool)
QUERY_MASK = np.array([[1, 0], [1, 1], [1, 1]], bool)
RNG = np.random.default_rng(0)
CONTEXT = RNG.normal(size=(3, 3, 4)).astype("float32")
QUERY = RNG.normal(size=(3, 2, 4)).astype("float32")


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_masked_functions():
    weights, highest, mean = arrays(
        [
            masked_softmax(ops.convert_to_tensor(CONTEXT[..., 0]), MASK),
            masked_max(ops.convert_to_tensor(CONTEXT), ops.convert_to_tensor(MASK)),
            masked_mean(ops.convert_to_tensor(CONTEXT), ops.convert_to_tensor(MASK)),
        ]
    )
    for row, mask in enumerate(MASK):
        real = CONTEXT[row][mask]
        expected = softmax(real[:, 0]) if mask.any() else []
        np.testing.assert_allclose(weights[row][mask], expected, atol=1e-6)
        assert (weights[row][~mask] == 0).all()
        zeros = np.zeros(4)
        np.testing.assert_allclose(highest[row], real.max(0) if mask.any() else zeros, atol=1e-6)
        np.testing.assert_allclose(mean[row], real.mean(0) if mask.any() else zeros, atol=1e-6)


def test_pooling_agrees_with_numpy():
    layer = AttentionPooling(units=5)
    layer(CONTEXT, mask=ops.convert_to_tensor(MASK))
    set_weights(layer)
    pooled, weights = arrays(layer(CONTEXT, mask=ops.convert_to_tensor(MASK)))
    kernel, bias, score = (
        ops.convert_to_numpy(v)
        for v in (layer.hidden.kernel, layer.hidden.bias, layer.score.kernel)
    )
    for row, mask in enumerate(MASK):
        x = CONTEXT[row][mask]
        expected = softmax((np.tanh(x @ kernel + bias) @ score)[:, 0]) if mask.any() else []
        np.testing.assert_allclose(weights[row][mask], expected, atol=1e-5)
        np.testing.assert_allclose(pooled[row], expected @ x if mask.any() else 0, atol=1e-5)


def test_attention_flow_agrees_with_numpy():
    layer = BidirectionalAttention()
    masks = {"context_mask": ops.convert_to_tensor(MASK)}
    masks["query_mask"] = ops.convert_to_tensor(QUERY_MASK)
    layer(CONTEXT, QUERY, **masks)
    set_weights(layer)
    outputs, weights = arrays(layer(CONTEXT, QUERY, **masks))
    first, second, both = (
        ops.convert_to_numpy(getattr(layer.similarity, name))[:, 0]
        for name in ("first", "second", "both")
    )
    bias = float(ops.convert_to_numpy(layer.similarity.bias))
    for row in (0, 2):
        h, u = CONTEXT[row][MASK[row]], QUERY[row][QUERY_MASK[row]]
        scores = np.array([[first @ a + second @ b + both @ (a * b) + bias for b in u] for a in h])
        attended = softmax(scores) @ u
        summary = softmax(scores.max(axis=1)) @ h
        expected = np.concatenate([h, attended, h * attended, h * summary], axis=-1)
        np.testing.assert_allclose(outputs[row][MASK[row]], expected, atol=1e-5)
        np.testing.assert_allclose(
            weights[row][MASK[row]][:, QUERY_MASK[row]], softmax(scores), atol=1e-5
        )


@pytest.mark.parametrize("layers", [1, 2])
def test_bidirectional_lstm_skips_padding(layers):
    layer = BidirectionalLSTM(units=3, num_layers=layers)
    full = arrays(layer(CONTEXT, mask=ops.convert_to_tensor(MASK)))[0]
    assert full.shape == (3, 3, 6)
    assert (full[~MASK] == 0).all()
    alone = arrays(layer(CONTEXT[:1, :2]))[0]
    np.testing.assert_allclose(full[0, :2], alone[0], atol=1e-6)
    flipped = arrays(layer(CONTEXT[:1, 1::-1]))[0]
    assert np.abs(flipped[0, ::-1] - alone[0]).max() > 1e-3  # the directions have own weights


@pytest.mark.parametrize(
    "layer", [AttentionPooling(5), BidirectionalLSTM(3, 2, 0.1), BidirectionalAttention()]
)
def test_symbolic_and_config(layer):
    x = [keras.Input((None, 4)), keras.Input((None, 4))]
    x = x if isinstance(layer, BidirectionalAttention) else x[:1]
    model = keras.Model(x, layer(*x))
    values = [CONTEXT, QUERY][: len(x)]
    for symbol, array in zip(model.outputs, arrays(model(values)), strict=True):
        assert len(symbol.shape) == array.ndim
        assert symbol.shape[-1] in (None, array.shape[-1])
    config = json.loads(json.dumps(layer.get_config()))
    assert type(layer).from_config(config).get_config() == layer.get_config()
