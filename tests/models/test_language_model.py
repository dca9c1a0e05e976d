import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.models.language_model import LanguageModel
from keras_elmo.optimizers.row_adagrad import RowAdagrad
from keras_elmo.training.corpus import Corpus
from keras_elmo.training.initialization import initialize
from keras_elmo.training.training_batches import TrainingBatches
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo.training.windows import Windows
from tests.models import bilm_checkpoint


@pytest.fixture
def folder(shared_data):
    pytest.importorskip("tensorflow")
    return shared_data / "fixtures-golden" / "C-tf1-checkpoint"


def golden_batch(golden, step, batches):
    """A batch of the original trainer in our form: distinct words once, all rows of the softmax."""
    part = f"step{step}/batch"
    ids = np.stack([golden[f"{part}/tokens_characters{end}"] for end in ("", "_reverse")])
    char_ids, places = np.unique(ids.reshape(-1, 50), axis=0, return_inverse=True)
    places = places.reshape(ids.shape[:-1]).astype("int32")
    char_ids = np.pad(char_ids, ((0, ids[..., 0].size - len(char_ids)), (0, 0)))  # one shape
    window = {
        "char_ids": char_ids.astype("int32") + 1,
        "forward": places[0],
        "backward": places[1],
        "forward_targets": golden[f"{part}/next_token_id"].astype("int32"),
        "backward_targets": golden[f"{part}/next_token_id_reverse"].astype("int32"),
    }
    return batches.prepare(window, step)


def test_three_steps_of_the_original_trainer(folder):
    golden = np.load(folder / "train_step.npz")
    model = bilm_checkpoint.language_model(folder, batch_size=4, clip_norm=1.0)
    model.compile(RowAdagrad(0.2))
    model.optimizer.build(model.trainable_variables)
    bilm_checkpoint.load_slots(model, folder)
    vocabulary = Vocabulary.read(folder / "vocab.txt")
    windows = Windows(Corpus(folder / "heldout.txt"), vocabulary, batch_size=4, unroll=7)
    batches = TrainingBatches(windows, len(vocabulary), num_samples=len(vocabulary))

    for step in (1, 2, 3):
        data = (golden_batch(golden, step, batches) for _ in range(1))
        logs = model.fit(((batch,) for batch in data), steps_per_epoch=1, verbose=0).history
        losses = [np.log(logs[f"{name}_perplexity"][0]) for name in ("forward", "backward")]
        np.testing.assert_allclose(losses, golden[f"step{step}/loss_forward_backward"], atol=1e-5)
        for part, size in zip("hc", model.train_state, strict=True):
            expected = np.concatenate(
                [
                    np.stack(
                        [golden[f"step{step}/state/dir{d}/layer{k}/{part}"] for k in range(2)], 1
                    )
                    for d in range(2)
                ],
                axis=-1,
            )
            np.testing.assert_allclose(bilm_checkpoint.numpy(size), expected, atol=1e-5)
        if step != 2:
            part = f"step{step}/var/"
            found = {n.removeprefix(part): golden[n] for n in golden if n.startswith(part)}
            bilm_checkpoint.assert_variables(model, found)


def test_perplexity_with_carried_state(folder):
    model = bilm_checkpoint.language_model(folder, batch_size=1)
    model.compile()
    windows = Windows(
        Corpus(folder / "heldout.txt"),
        Vocabulary.read(folder / "vocab.txt"),
        batch_size=1,
        unroll=50,
        complete=True,
    )
    part = ((batch,) for batch in itertools.islice(windows, 6))
    logs = model.evaluate(part, return_dict=True, verbose=0)
    golden = np.load(folder / "heldout_stream_logprobs.npz")
    losses = [-golden[name][:300].mean(dtype="float64") for name in ("fwd_logp", "bwd_logp")]
    found = [np.log(logs[f"{name}_perplexity"]) for name in ("forward", "backward")]
    np.testing.assert_allclose(found, losses, atol=1e-5)
    assert logs["loss"] == pytest.approx(np.mean(losses), abs=1e-5)


def tiny_window():
    rng = np.random.default_rng(0)
    window = {"char_ids": rng.integers(1, 200, (16, 50), dtype="int32")}
    for name in ("forward", "backward"):
        window[name] = rng.integers(0, 16, (4, 6), dtype="int32")
        window[f"{name}_targets"] = rng.integers(0, 30, (4, 6), dtype="int32")
    return window


def tiny_batches(**settings):
    return TrainingBatches(SimpleNamespace(position=None), 30, num_samples=10, **settings)


def tiny_model(**settings):
    embedding = CharCNNEmbedding([[1, 4]], projection_dim=4, char_embedding_dim=4)
    model = LanguageModel(embedding, BiLM(2, units=6, projection_dim=4), 30, 4, **settings)
    model.compile(RowAdagrad(0.2))
    initialize(model, seed=3)
    return model


@pytest.mark.parametrize("setting", [{"accumulation": 2}, {"remat": True}])
def test_what_saves_memory_changes_no_step(setting):
    batch = tiny_batches().prepare(tiny_window(), 0)
    models = [tiny_model(), tiny_model(**setting)]
    for model in models:
        for _ in range(2):
            model.train_on_batch(batch)
    for one, other in zip(*(model.weights for model in models), strict=True):
        np.testing.assert_allclose(*map(bilm_checkpoint.numpy, (one, other)), atol=1e-5)


def test_rows_begin_anew_from_zero():
    batch = tiny_batches(reset_share=0.5).prepare(tiny_window(), 3)
    kept = batch["state_kept"]
    assert set(kept) == {0, 1}
    states = []
    for begin in (0.0, 1.0):
        model = tiny_model()
        for variable in model.train_state:
            variable.assign(np.full(variable.shape, begin, "float32"))
        model.train_on_batch(batch)
        states.append(bilm_checkpoint.numpy(model.train_state[1]))
    differences = np.abs(states[0] - states[1]).max((1, 2))
    np.testing.assert_array_equal(differences > 0, kept == 1)
