import importlib

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.convert import folder

keras_hub = pytest.importorskip("keras_hub", reason="needs KerasHub")

TEXTS = ["The cat sat", "A dog", ""]


@pytest.fixture(scope="module", autouse=True)
def elmo_is_a_backbone():
    """Imports the module, and undoes afterwards what it changes for the rest of the process."""
    register = keras.saving.register_keras_serializable("keras_elmo", "Elmo")
    register(importlib.import_module("keras_elmo.hub").ElmoBackbone)
    yield
    register(keras_elmo.Elmo)


@pytest.fixture
def preset(published_model, tmp_path):
    """A folder of ours, and the model in it."""
    elmo = keras_elmo.load(published_model("plain"))
    folder.save(elmo, tmp_path / "elmo")
    return str(tmp_path / "elmo"), elmo


def numpy(x):
    return keras.ops.convert_to_numpy(x)


def test_the_same_folder_is_a_backbone(preset):
    path, elmo = preset
    backbone = keras_hub.models.Backbone.from_preset(path)
    assert isinstance(backbone, keras_elmo.hub.ElmoBackbone)
    ids = keras_elmo.batch_to_ids([text.split() for text in TEXTS])
    np.testing.assert_array_equal(numpy(backbone(ids)["layers"]), numpy(elmo(ids)["layers"]))


def test_what_the_hub_writes_is_a_folder_of_ours(preset, tmp_path):
    path, elmo = preset
    backbone = keras_elmo.hub.ElmoBackbone.from_preset(path)
    backbone.save_to_preset(str(tmp_path / "again"))
    again = keras_elmo.load(tmp_path / "again")
    ids = keras_elmo.batch_to_ids([text.split() for text in TEXTS])
    np.testing.assert_array_equal(numpy(again(ids)["layers"]), numpy(elmo(ids)["layers"]))


def test_tokenizer_eagerly_and_in_a_graph(preset):
    import tensorflow as tf

    path, _ = preset
    tokenizer = keras_hub.tokenizers.Tokenizer.from_preset(path)
    expected = keras_elmo.batch_to_ids([text.split() for text in TEXTS])
    np.testing.assert_array_equal(tokenizer(TEXTS), expected)
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS).batch(3).map(tokenizer)
    np.testing.assert_array_equal(next(iter(dataset)).numpy(), expected)


def test_text_classifier_learns_and_is_saved(preset, tmp_path):
    path, _ = preset
    keras.utils.set_random_seed(0)
    classifier = keras_hub.models.TextClassifier.from_preset(path, num_classes=2)
    classifier.compile(optimizer=keras.optimizers.Adam(0.01), jit_compile=False)
    history = classifier.fit(TEXTS[:2], np.array([0, 1]), epochs=5, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    before = numpy(classifier.predict(TEXTS, verbose=0))
    assert np.isfinite(before).all()
    classifier.save_to_preset(str(tmp_path / "task"))
    again = keras_hub.models.TextClassifier.from_preset(str(tmp_path / "task"))
    np.testing.assert_allclose(numpy(again.predict(TEXTS, verbose=0)), before, atol=1e-6)
