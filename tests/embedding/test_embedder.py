import threading
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

import keras_elmo
from keras_elmo import Embedder
from keras_elmo import backend
from keras_elmo.embedding import embedder as embedder_module
from keras_elmo.errors import ElmoError
from tests.fixtures import make_sentences

SENTENCES = make_sentences((5, 0, 1, 7, 30, 64, 2, 0, 3))


def assert_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("variant", ["clips_bite", "no_skip", "no_projection"])
def test_equals_the_reference(variant, published_model, layers_of):
    sentences = make_sentences((3, 1, 9, 0, 2))
    found = Embedder(keras_elmo.load(published_model(variant))).embed(sentences)
    assert_equal(found, [layers_of(sentence, variant) for sentence in sentences])


def test_all_widths(embedder, layers_of):
    sentences = make_sentences((130, 5, 65, 0, 1, 64, 9))
    assert_equal(embedder.embed(sentences), [layers_of(sentence) for sentence in sentences])


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("top", lambda found: found[-1]),
        ("average", lambda found: found.mean(0)),
        (0, lambda found: found[0]),
        (1, lambda found: found[1]),
    ],
)
def test_layers(layers, expected, elmo, layers_of):
    found = Embedder(elmo, layers=layers, batch_tokens=512).embed(SENTENCES)
    assert_equal(found, [expected(layers_of(sentence)) for sentence in SENTENCES])


def test_mix(published_model):
    elmo = keras_elmo.load(published_model("plain"))
    elmo.scalar_mix.set_weights([np.array([0.3, -1.0, 2.0]), np.array(1.7)])
    ids = keras_elmo.batch_to_ids(SENTENCES[4:6])
    expected = keras.ops.convert_to_numpy(elmo(ids)["elmo"])
    found = Embedder(elmo, layers="mix").embed(SENTENCES[4:6])
    assert_equal(found, [expected[0, :30], expected[1]])


@pytest.mark.parametrize("layers", ["all", 0])
def test_pool_is_the_mean_over_real_tokens(layers, elmo, layers_of):
    pooled = Embedder(elmo, layers, pool=True, batch_tokens=512).embed([*SENTENCES, ["a"]])
    found = [layers_of(sentence) for sentence in [*SENTENCES, ["a"]]]
    expected = [v.mean(1) if v.shape[1] else np.zeros((3, 16)) for v in found]
    assert_equal(pooled, [mean if layers == "all" else mean[0] for mean in expected])


def test_alone_as_in_company(embedder):
    together = embedder.embed(SENTENCES)
    assert_equal([embedder.embed([sentence])[0] for sentence in SENTENCES], together)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.lists(st.text(max_size=6), max_size=9), max_size=12))
def test_any_text_in_order(embedder, sentences):
    found = embedder.embed(sentences)
    assert [vectors.shape for vectors in found] == [(3, len(words), 16) for words in sentences]
    assert all(np.isfinite(vectors).all() for vectors in found)


def test_nothing(embedder):
    assert embedder.embed([]) == []
    assert embedder.embed([[]])[0].shape == (3, 0, 16)


def test_results_own_their_memory(elmo):
    for vectors in Embedder(elmo, layers="top").embed([["a"], ["b"]]):
        assert vectors.base is None or vectors.base.nbytes == vectors.nbytes


def test_float16(elmo, embedder):
    (full,) = embedder.embed(SENTENCES[:1])
    (half,) = Embedder(elmo, dtype="float16").embed(SENTENCES[:1])
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, full, rtol=1e-3, atol=1e-4)


def test_sentence_of_several_windows_is_exact(gentle_embedder, gentle_layers_of):
    (sentence,) = make_sentences((600,))
    found = gentle_embedder.embed([["a"], sentence, ["b"]])
    assert_equal([found[1]], [gentle_layers_of(sentence)])


@pytest.mark.parametrize("length", [3, 512, 700])
def test_document(length, gentle_embedder, gentle_layers_of):
    (document,) = make_sentences((length,))
    pieces = list(gentle_embedder.embed_document(iter(document)))
    assert [piece.shape[1] for piece in pieces] == [512] * (length // 512) + [length % 512] * (
        length % 512 > 0
    )
    forward, backward = np.split(
        np.concatenate(pieces, axis=1) - gentle_layers_of(document), 2, axis=-1
    )
    np.testing.assert_allclose(forward, 0, atol=1e-5)
    np.testing.assert_allclose(backward[:, length // 512 * 512 :], 0, atol=1e-5)
    np.testing.assert_allclose(backward, 0, atol=1e-3)  # behind the overlap, hardly remembered


def test_document_reads_no_further_than_it_must(elmo):
    read = []
    document = Embedder(elmo, layers=1).embed_document(
        (read.append(k) or str(k % 7) for k in range(3000)), overlap=100
    )
    next(document)
    assert len(read) <= 512 + 100


def test_stream_reads_a_bounded_way_ahead(elmo):
    read = []
    stream = Embedder(elmo, layers="top", batch_tokens=64).stream(
        read.append(k) or ["word"] * 8 for k in range(1000)
    )
    next(stream)
    assert len(read) * 8 <= 3 * 4 * 64 + 16


def test_windows_can_be_left_out_without_a_trace(elmo):
    sentences = make_sentences((9,) * 120)
    embedder = Embedder(elmo, batch_tokens=64)
    windows = list(embedder.windows(sentences))
    rest = list(Embedder(elmo, batch_tokens=64).windows(sentences, skip=2))
    assert len(rest) == len(windows) - 2 > 2
    for one, other in zip(rest, windows[2:], strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_compiles_few_programs_and_none_after_warm_up(elmo, monkeypatch):
    shapes = []
    embedder = Embedder(elmo, layers="mix", batch_tokens=512)
    run = embedder._program._sentences
    monkeypatch.setattr(
        embedder._program, "_sentences", lambda x, *rest: shapes.append(x.shape) or run(x, *rest)
    )
    traced = []
    monkeypatch.setattr(
        type(elmo.bilm), "run_direction", counted(type(elmo.bilm).run_direction, traced)
    )
    rng = np.random.default_rng(0)
    for count in (1, 5, 20, 60):
        embedder.embed(make_sentences(rng.integers(0, 40, count)))
    traces = len(traced)
    for count in (2, 10, 70):
        embedder.embed(make_sentences(rng.integers(0, 40, count)))
    assert len(set(shapes)) <= 6
    if keras.backend.backend() in ("jax", "tensorflow"):
        assert len(traced) == traces <= 2 * 6


def counted(function, calls):
    def wrapper(*args, **kwargs):
        calls.append(1)
        return function(*args, **kwargs)

    return wrapper


def test_threads_share_an_embedder(elmo):
    embedder = Embedder(elmo, layers="top", batch_tokens=128, cached_words=32)
    parts = [make_sentences((9,) * 20, seed) for seed in range(3)]
    expected = [embedder.embed(part) for part in parts]
    found = [None] * len(parts)

    def work(k):
        found[k] = embedder.embed(parts[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(found, expected, strict=True):
        assert_equal(one, other)


def test_raw_text(elmo):
    embedder = Embedder(elmo, layers=0, tokenizer="whitespace")
    whole, split, list_of_tokens = embedder.embed(["The cat", " The\tcat ", ["The", "cat"]])
    np.testing.assert_array_equal(whole, split)
    np.testing.assert_array_equal(whole, list_of_tokens)
    assert Embedder(elmo, layers=0, tokenizer=list).embed(["abc"])[0].shape == (3, 16)


def test_tokens_with_text(embedder):
    doc = [SimpleNamespace(text=word) for word in ["The", "cat"]]
    assert_equal(embedder.embed([doc]), embedder.embed([["The", "cat"]]))


@pytest.mark.parametrize("sentences", ["The cat", ["The cat"]])
def test_text_for_tokens(sentences, embedder):
    with pytest.raises(TypeError, match="got the string"):
        embedder.embed(sentences)


def test_errors_of_the_input_come_through(embedder):
    def broken():
        yield ["a"]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        embedder.embed(broken())


@pytest.mark.parametrize("layers", ["best", 3, -1, True])
def test_unknown_layers(layers, elmo):
    with pytest.raises(ElmoError, match="the number of a layer, 0 to 2"):
        Embedder(elmo, layers=layers)


@pytest.mark.parametrize("arguments", [{"layer_norm": True}, {"num_representations": 2}])
def test_mix_that_no_sentence_has_of_its_own(arguments, published_model):
    elmo = keras_elmo.load(published_model("plain"), **arguments)
    with pytest.raises(ElmoError, match="layers='mix'"):
        Embedder(elmo, layers="mix")
    assert len(Embedder(elmo, layers=0).embed([["a"]])) == 1


def test_boundaries_of_the_model_are_not_given(published_model, layers_of):
    elmo = keras_elmo.load(published_model("plain"), keep_boundaries=True)
    assert_equal(Embedder(elmo).embed(SENTENCES[:1]), [layers_of(SENTENCES[0])])


@pytest.mark.parametrize(("compiled", "tokens"), [(True, 16384), (False, 8192)])
def test_batches_are_larger_where_the_matrices_are(elmo, monkeypatch, compiled, tokens):
    monkeypatch.setattr(backend, "is_compiled", lambda: compiled)
    assert Embedder(elmo).batch_tokens == 4096
    monkeypatch.setattr(embedder_module, "LARGE", elmo.bilm.units - 1)
    assert Embedder(elmo).batch_tokens == tokens
