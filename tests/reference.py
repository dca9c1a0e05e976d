"""ELMo in float64 NumPy loops: the specification every backend is tested against.

Written from the formulas, for reading rather than for speed, and without the package under test.

Letters in shapes: B sentences, T tokens, K characters a token, P projection size, U LSTM units,
L LSTM layers, D = 2 * P features of both directions, V words of the vocabulary, N predictions.
"""

import json
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

# Bytes are 0..255; five more "characters" follow. All ids are shifted by one: 0 is "no token here".
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = 256, 257, 258, 259, 260
NORM_EPSILON = {"allennlp": 1e-13, "bilm": 1e-12}


class CharCNN(NamedTuple):
    """The token embedding: character vectors, convolutions, highways, projection."""

    characters: np.ndarray  # (262, E), row 0 all zero
    filters: list  # of (kernel (width, E, n), bias (n,)), in the order of the options
    highways: list  # of (W_carry (F, F), b_carry (F,), W_transform (F, F), b_transform (F,))
    projection: tuple | None  # (W (F, P), b (P,))
    activation: str  # "relu" or "tanh"


class LSTM(NamedTuple):
    """One layer of one direction. The gates lie in the order i, j, f, o."""

    kernel: np.ndarray  # (P + P, 4 * U): input weights stacked on recurrent weights
    bias: np.ndarray  # (4 * U,), the forget gate's 1.0 not in it
    projection: np.ndarray | None  # (U, P); None: the output is the hidden vector, P = U
    cell_clip: float | None  # None or 0: no clip
    projection_clip: float | None


class Model(NamedTuple):
    """A whole biLM."""

    char_cnn: CharCNN
    forward: list  # of L LSTM
    backward: list  # of L LSTM
    skip_connections: bool


# Words to character ids


def spell(characters, max_characters=50):
    """The characters (0..257) of one token -> ids (K,)."""
    inner = list(characters)[: max_characters - 2]
    padding = [PADDING] * (max_characters - 2 - len(inner))
    return np.array([BEGIN_WORD, *inner, END_WORD, *padding]) + 1


def word_to_ids(word, max_characters=50):
    """A word -> ids (K,): its UTF-8 bytes; lone surrogates have none and are left out."""
    if word in ("<S>", "</S>"):
        return spell([BEGIN_SENTENCE if word == "<S>" else END_SENTENCE], max_characters)
    return spell(word.encode("utf-8", "ignore"), max_characters)


def batch_to_ids(sentences, max_characters=50):
    """Lists of words -> ids (B, T, K), zero behind the end of a sentence."""
    ids = np.zeros((len(sentences), max(map(len, sentences), default=0), max_characters), int)
    for row, sentence in enumerate(sentences):
        for t, word in enumerate(sentence):
            ids[row, t] = word_to_ids(word, max_characters)
    return ids


def token_mask(ids):
    """Ids (..., K) -> (...) bool: is there a token."""
    return (ids > 0).any(axis=-1)


def add_boundaries(ids):
    """Ids (B, T, K) -> (B, T + 2, K): <S> just before the first token, </S> just after the last.

    Token t comes to t + 1, wherever it stands; a sentence without tokens is <S> </S>.
    """
    batch, length, width = ids.shape
    bounded = np.zeros((batch, length + 2, width), int)
    for row in range(batch):
        tokens = np.flatnonzero(token_mask(ids[row]))
        first, last = (tokens[0], tokens[-1]) if len(tokens) else (0, -1)
        bounded[row, 1:-1] = ids[row]
        bounded[row, first] = spell([BEGIN_SENTENCE], width)
        bounded[row, last + 2] = spell([END_SENTENCE], width)
    return bounded


def remove_boundaries(values, mask):
    """Values (B, ..., T + 2, D) -> (B, ..., T, D), 0 where `mask` (B, T) has no token."""
    rows = zip(values, mask, strict=True)
    return np.array([np.where(real[:, None], v[..., 1:-1, :], 0.0) for v, real in rows])


# Character CNN


def sigmoid(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def relu(x):
    return np.maximum(x, 0.0)


def highway(x, carry, carry_bias, transform, transform_bias):
    """x (F,) -> (F,): g = sigmoid(x Wc + bc); g * relu(x Wt + bt) + (1 - g) * x."""
    gate = sigmoid(x @ carry + carry_bias)
    return gate * relu(x @ transform + transform_bias) + (1.0 - gate) * x


def embed_word(ids, cnn):
    """Ids (K,) of one token -> (P,)."""
    activation = {"relu": relu, "tanh": np.tanh}[cnn.activation]
    vectors = cnn.characters[ids]  # (K, E)
    features = []
    for kernel, bias in cnn.filters:
        width = len(kernel)
        windows = [vectors[start : start + width] for start in range(len(ids) - width + 1)]
        convolved = np.tensordot(np.array(windows), kernel, 2) + bias  # (windows, n)
        features.append(activation(convolved.max(axis=0)))
    x = np.concatenate(features)  # (F,)
    for weights in cnn.highways:
        x = highway(x, *weights)
    if cnn.projection is not None:
        weights, bias = cnn.projection
        x = x @ weights + bias
    return x


def char_cnn(ids, cnn):
    """Ids (..., K) -> (..., P). An all-zero token gets the vector of its zeros."""
    words, index = np.unique(ids.reshape(-1, ids.shape[-1]), axis=0, return_inverse=True)
    table = np.array([embed_word(word, cnn) for word in words])
    return table[index.reshape(ids.shape[:-1])]


# Projected LSTM and biLM


def clip(x, limit):
    return np.clip(x, -limit, limit) if limit else x


def lstm_step(x, h, c, lstm):
    """One token: x (P,), h (P,), c (U,) -> h (P,), c (U,)."""
    i, j, f, o = np.split(np.concatenate([x, h]) @ lstm.kernel + lstm.bias, 4)
    c = clip(sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(j), lstm.cell_clip)
    h = sigmoid(o) * np.tanh(c)
    if lstm.projection is not None:
        h = clip(h @ lstm.projection, lstm.projection_clip)
    return h, c


def lstm_layer(xs, mask, h, c, lstm, backward=False):
    """One sentence: xs (T, P), mask (T,), h (P,), c (U,) -> outputs (T, P), h, c.

    A masked position is skipped: the state stays, the output is 0.
    """
    outputs = np.zeros((len(xs), len(h)))
    for t in reversed(range(len(xs))) if backward else range(len(xs)):
        if mask[t]:
            h, c = lstm_step(xs[t], h, c, lstm)
            outputs[t] = h
    return outputs, h, c


def lstm_stack(xs, mask, state, lstms, skip_connections, backward=False):
    """One direction of one sentence: xs (T, P) -> outputs (L, T, P), state.

    `state` is h (L, P), c (L, U). From the second layer on, the skip connection adds the layer's
    input to its output; the state is the one before that.
    """
    outputs, hs, cs = [], [], []
    for layer, (lstm, h, c) in enumerate(zip(lstms, *state, strict=True)):
        ys, h, c = lstm_layer(xs, mask, h, c, lstm, backward)
        xs = ys + xs if skip_connections and layer > 0 else ys
        outputs.append(xs)
        hs.append(h)
        cs.append(c)
    return np.array(outputs), (np.array(hs), np.array(cs))


def zero_state(model, batch):
    """h (B, L, 2P), c (B, L, 2U), forward half first."""
    units = len(model.forward[0].bias) // 4
    projection = model.forward[0].projection
    size = units if projection is None else projection.shape[1]
    shape = batch, len(model.forward)
    return np.zeros((*shape, 2 * size)), np.zeros((*shape, 2 * units))


def bilm(x, mask, model, state=None):
    """x (B, T, P), mask (B, T) -> layers (B, L + 1, T, 2P), state (h (B, L, 2P), c (B, L, 2U)).

    Layer 0 is x, doubled. Every layer is 0 where the mask is False.
    """
    state = zero_state(model, len(x)) if state is None else state
    layers, hs, cs = [], [], []
    for xs, real, h, c in zip(x, mask, *state, strict=True):
        xs = np.where(real[:, None], xs, 0.0)
        h, c = np.split(h, 2, axis=-1), np.split(c, 2, axis=-1)
        skip = model.skip_connections
        ahead, last = lstm_stack(xs, real, (h[0], c[0]), model.forward, skip)
        behind, first = lstm_stack(xs, real, (h[1], c[1]), model.backward, skip, backward=True)
        directions = [np.concatenate([xs[None], ys]) for ys in (ahead, behind)]
        layers.append(np.concatenate(directions, axis=-1))
        hs.append(np.concatenate([last[0], first[0]], axis=-1))
        cs.append(np.concatenate([last[1], first[1]], axis=-1))
    return np.array(layers), (np.array(hs), np.array(cs))


# Mix and whole model


def layer_norm(values, mask, epsilon):
    """Values (B, T, D) by one mean and one variance over all positions of the mask (B, T)."""
    real = values[mask]
    return (values - real.mean()) / np.sqrt(real.var() + epsilon) if real.size else values


def scalar_mix(layers, mask, weights, gamma=1.0, norm=None, norm_mask=None):
    """Layers (B, L + 1, T, D) -> (B, T, D): gamma * sum_k softmax(w)_k h_k, 0 off the mask.

    `norm` is None, "allennlp" or "bilm": each layer is normalized first. `norm_mask` (B, T) says
    which positions the statistics are taken over, where that is not `mask`.
    """
    shares = np.exp(log_softmax(np.asarray(weights, float)))
    mixed = np.zeros_like(layers[:, 0])
    for k, share in enumerate(shares):
        values = np.where(mask[..., None], layers[:, k], 0.0)
        if norm is not None:
            values = layer_norm(
                values, mask if norm_mask is None else norm_mask, NORM_EPSILON[norm]
            )
        mixed += share * values
    return np.where(mask[..., None], gamma * mixed, 0.0)


def elmo(ids, model, weights=None, gamma=1.0, norm=None, keep_boundaries=False, state=None):
    """Ids (B, T, K) without boundaries -> dict of layers, elmo, mask and state.

    layers (B, L + 1, T, D), elmo (B, T, D), mask (B, T); T + 2 in each with `keep_boundaries`.
    """
    bounded = add_boundaries(ids)
    mask = token_mask(bounded)
    layers, state = bilm(char_cnn(bounded, model.char_cnn), mask, model, state)
    if weights is None:
        weights = np.zeros(layers.shape[1])
    # bilm-tf leaves the boundaries out of the statistics, AllenNLP has them in.
    words = np.pad(token_mask(ids), ((0, 0), (1, 1)))
    norm_mask = words if norm == "bilm" else mask
    mixed = scalar_mix(layers, mask, weights, gamma, norm, norm_mask)
    if not keep_boundaries:
        mask = token_mask(ids)
        layers, mixed = remove_boundaries(layers, mask), remove_boundaries(mixed, mask)
    return {"layers": layers, "elmo": mixed, "mask": mask, "state": state}


# Language model


def log_softmax(logits):
    """Logits (..., V) -> (..., V)."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def log_probs(hidden, targets, softmax):
    """Hidden (..., P), targets (...), softmax (W (V, P), b (V,)) -> (...): log p(target)."""
    weights, bias = softmax
    logs = log_softmax(hidden @ weights.T + bias)
    return np.take_along_axis(logs, targets[..., None], axis=-1)[..., 0]


def language_model_loss(forward, backward, forward_targets, backward_targets, softmax):
    """Hidden (..., P) and targets (...) of each direction -> mean of the two mean losses."""
    forward_loss = -log_probs(forward, forward_targets, softmax).mean()
    backward_loss = -log_probs(backward, backward_targets, softmax).mean()
    return (forward_loss + backward_loss) / 2


def sentence_log_probs(ids, words, model, softmax, begin=0, end=1):
    """One sentence: ids (T, K), word numbers (T,) -> log-probs forward and backward, (T + 1,) each.

    Forward: of word 1, ..., word T, </S>. Backward, by position too: of <S>, word 1, ..., word T.
    """
    layers = elmo(ids[None], model, keep_boundaries=True)["layers"]
    forward, backward = np.split(layers[0, -1], 2, axis=-1)  # (T + 2, P) each
    ahead = log_probs(forward[:-1], np.array([*words, end]), softmax)
    return ahead, log_probs(backward[1:], np.array([begin, *words]), softmax)


def log_uniform_expected_count(ids, vocabulary_size, tries):
    """How often `ids` are expected among unique log-uniform samples that took `tries` draws."""
    p = np.log((ids + 2.0) / (ids + 1.0)) / np.log(vocabulary_size + 1.0)
    return -np.expm1(tries * np.log1p(-p))


def sampled_softmax_loss(hidden, labels, softmax, sampled, label_counts, sampled_counts):
    """Hidden (N, P), labels (N,), sampled (S,), their expected counts (N,), (S,) -> losses (N,).

    Each logit is lowered by the log of its expected count; a sample that is the label is left out.
    """
    weights, bias = softmax
    losses = []
    for h, label, count in zip(hidden, labels, label_counts, strict=True):
        true = h @ weights[label] + bias[label] - np.log(count)
        others = weights[sampled] @ h + bias[sampled] - np.log(sampled_counts)
        logits = np.concatenate([[true], others[sampled != label]])
        losses.append(-log_softmax(logits)[0])
    return np.array(losses)


# Published files


def build(options, arrays):
    """The options and the arrays, by their published names -> Model in float64."""
    arrays = {name: np.asarray(array, np.float64) for name, array in arrays.items()}
    return Model(
        build_char_cnn(options["char_cnn"], arrays),
        build_lstms(options["lstm"], arrays, "RNN_0"),
        build_lstms(options["lstm"], arrays, "RNN_1"),
        options["lstm"]["use_skip_connections"],
    )


def build_char_cnn(options, arrays):
    characters = arrays["char_embed"]
    if len(characters) == 261:  # a table without the row of id 0
        characters = np.concatenate([np.zeros((1, characters.shape[1])), characters])
    filters = [
        (arrays[f"CNN/W_cnn_{n}"][0], arrays[f"CNN/b_cnn_{n}"])
        for n in range(len(options["filters"]))
    ]
    names = "W_carry", "b_carry", "W_transform", "b_transform"
    highways = [
        tuple(arrays[f"CNN_high_{n}/{name}"] for name in names)
        for n in range(options.get("n_highway") or 0)
    ]
    projection = None
    if "CNN_proj/W_proj" in arrays:
        projection = arrays["CNN_proj/W_proj"], arrays["CNN_proj/b_proj"]
    return CharCNN(characters, filters, highways, projection, options["activation"])


def build_lstms(options, arrays, direction):
    clips = options.get("cell_clip"), options.get("proj_clip")
    cells = [f"{direction}/RNN/MultiRNNCell/Cell{n}/LSTMCell" for n in range(options["n_layers"])]
    return [
        LSTM(arrays[f"{cell}/W_0"], arrays[f"{cell}/B"], arrays.get(f"{cell}/W_P_0"), *clips)
        for cell in cells
    ]


def read(options_path, weights_path):
    """The files options.json and weights.hdf5 -> Model."""
    options = json.loads(Path(options_path).read_text(encoding="utf-8"))
    arrays = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[()]

    with h5py.File(weights_path) as file:
        file.visititems(collect)
    return build(options, arrays)
