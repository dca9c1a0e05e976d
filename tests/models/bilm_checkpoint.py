"""The variables of a bilm-tf checkpoint in ours, for the goldens of the original trainer."""

import json

import keras
import numpy as np

from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.models.language_model import LanguageModel


def read_checkpoint(folder):
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(folder / "checkpoint"))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def language_model(folder, batch_size, **arguments):
    options = json.loads((folder / "options.json").read_text())
    chars, lstm = options["char_cnn"], options["lstm"]
    embedding = CharCNNEmbedding(
        chars["filters"],
        projection_dim=lstm["projection_dim"],
        num_highways=chars["n_highway"],
        char_embedding_dim=chars["embedding"]["dim"],
        activation=chars["activation"],
    )
    bilm = BiLM(lstm["n_layers"], lstm["dim"], lstm["projection_dim"])
    return LanguageModel(embedding, bilm, options["n_tokens_vocab"], batch_size, **arguments)


def variables(model):
    """Pairs of a name in the checkpoint and our variable, with how to turn the array into ours."""
    embedding, bilm = model.embedding, model.bilm
    yield "lm/char_embed", embedding.char_embeddings, lambda x: np.pad(x, ((1, 0), (0, 0)))
    for k in range(len(embedding.filters)):
        yield f"lm/CNN/W_cnn_{k}", getattr(embedding, f"conv_kernel_{k}"), lambda x: x[0]
        yield f"lm/CNN/b_cnn_{k}", getattr(embedding, f"conv_bias_{k}"), None
    for name, layer in (
        ("CNN_proj/{}_proj", embedding.projection),
        ("CNN_high_0/{}_carry", embedding.highway_0.carry),
        ("CNN_high_0/{}_transform", embedding.highway_0.transform),
        ("softmax/{}", model.softmax),
    ):
        yield "lm/" + name.format("W"), layer.kernel, None
        yield "lm/" + name.format("b"), layer.bias, None
    for number, direction in enumerate(("forward", "backward")):
        for k in range(bilm.num_layers):
            name = f"lm/RNN_{number}/rnn/multi_rnn_cell/cell_{k}/lstm_cell"
            layer = getattr(bilm, f"{direction}_{k}")
            size = layer.kernel.shape[0]
            yield f"{name}/kernel", layer.kernel, lambda x, size=size: x[:size]
            yield f"{name}/kernel", layer.recurrent_kernel, lambda x, size=size: x[size:]
            yield f"{name}/bias", layer.bias, None
            yield f"{name}/projection/kernel", layer.projection_kernel, None


def load(model, arrays, suffix=""):
    """Sets the variables, or with a suffix the optimizer's slots of that name."""
    slots = suffix and model.optimizer._accumulators
    for name, variable, convert in variables(model):
        value = (convert or (lambda x: x))(arrays[name + suffix])
        if suffix:
            variable = slots[model.optimizer._get_variable_index(variable)]
            if name == "lm/char_embed":
                value[0] = 1.0  # of the row that the checkpoint does not have
        variable.assign(value)


def numpy(variable):
    return keras.ops.convert_to_numpy(variable)
