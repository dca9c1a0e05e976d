"""ELMo as one Keras model: character ids in, vectors out."""

import keras
from keras import ops

from keras_elmo.errors import ElmoError
from keras_elmo.layers.boundaries import AddBoundaries
from keras_elmo.layers.boundaries import RemoveBoundaries
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.text.character_encoder import CharacterEncoder


@keras.saving.register_keras_serializable(package="keras_elmo")
class Elmo(keras.Model):
    """Deep contextualized word vectors from character ids.

        elmo = gamma * sum_k softmax(w)_k layer_k,  layer_k from a biLM over [BOS, words, EOS]

    The boundaries are added here, and their places taken out again. By default the biLM is frozen
    and only the mix is trained: L + 1 weights and gamma for each representation.

    Args:
        embedding: the layer that turns words into vectors, such as `CharCNNEmbedding`.
        bilm: a `BiLM` of the same size.
        num_representations: int, number of mixes, each with weights of its own.
        keep_boundaries: bool, whether all outputs keep the places of BOS and EOS.
        layer_norm: `None`, `"allennlp"` (or `True`) or `"bilm"`: how the layers are normalized
            before they are mixed, see `ScalarMix`. AllenNLP counts the boundaries, bilm-tf does
            not, so the second can't keep them.
        dropout: float in [0, 1), share of the mix dropped in training.
        mix_regularizer: regularizer of the mix weights; the paper adds an L2 penalty.
        trainable_bilm: bool, whether the embedding and the biLM are trained too.
        batch_size: int, fixes the batch size, which a `BiLM(stateful=True)` needs.
        encoder: turns words into the ids that `embedding` reads, and knows those of BOS and EOS;
            `None`: a `CharacterEncoder`, as `batch_to_ids`.
        name: str, name of the model.

    Call arguments:
        char_ids: (batch, time, characters) int32 without boundaries, from `batch_to_ids` or, for
            every kind of model, `elmo.encoder.encode_batch`.

    Returns:
        A dict: `layers` (batch, L + 1, time, 2P); `elmo` (batch, time, 2P), or `elmo_0`,
        `elmo_1`, ... with several representations; `mask` (batch, time) bool. Exactly 0 where the
        mask is false.

    Raises:
        ElmoError: if the options contradict each other.

    Example:
        >>> embedding = CharCNNEmbedding(filters=[[1, 8], [3, 16]], projection_dim=8)
        >>> elmo = Elmo(embedding, BiLM(num_layers=2, units=16, projection_dim=8))
        >>> elmo(keras_elmo.batch_to_ids([["A", "word"]]))["elmo"].shape
        (1, 2, 16)

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 3.
    """

    def __init__(
        self,
        embedding,
        bilm,
        num_representations=1,
        keep_boundaries=False,
        layer_norm=None,
        dropout=0.0,
        mix_regularizer=None,
        trainable_bilm=False,
        batch_size=None,
        encoder=None,
        name=None,
    ):
        encoder = encoder or CharacterEncoder(embedding.max_word_length)
        mixes = [
            ScalarMix(
                layer_norm=layer_norm,
                regularizer=mix_regularizer,
                dtype=bilm.dtype_policy,
                name=name.replace("elmo", "scalar_mix"),
            )
            for name in output_names(num_representations)
        ]
        dropout_layer = keras.layers.Dropout(dropout, dtype=bilm.dtype_policy)
        if keep_boundaries and mixes[0].layer_norm == "bilm":
            raise ElmoError(
                'layer_norm="bilm" leaves the boundaries out; use keep_boundaries=False or '
                'layer_norm="allennlp"'
            )
        char_ids = keras.Input(
            (None, embedding.max_word_length),
            batch_size=batch_size,
            dtype="int32",
            name="char_ids",
        )
        with_boundaries = AddBoundaries(encoder.boundary_ids, name="add_boundaries")(char_ids)
        outputs = _graph(
            char_ids, with_boundaries, embedding, bilm, mixes, dropout_layer, keep_boundaries
        )
        super().__init__(inputs=char_ids, outputs=outputs, name=name)
        self.encoder = encoder
        self.embedding = embedding
        self.bilm = bilm
        for mix in mixes:
            setattr(self, mix.name, mix)
        self.num_representations = num_representations
        self.keep_boundaries = keep_boundaries
        self.layer_norm = mixes[0].layer_norm
        self.dropout = dropout
        self.mix_regularizer = mixes[0].regularizer
        self.trainable_bilm = trainable_bilm
        self.batch_size = batch_size
        embedding.trainable = bilm.trainable = trainable_bilm

    def save_assets(self, dir_path):
        self.encoder.save_assets(dir_path)

    def load_assets(self, dir_path):
        self.encoder.load_assets(dir_path)

    def call(self, char_ids, training=None, mask=None):
        found = keras.tree.flatten(char_ids)[0]
        dtype = keras.backend.standardize_dtype(found.dtype)
        if "int" not in dtype or len(found.shape) != 3:
            raise ElmoError(
                f"char_ids must be integers of shape (batch, time, characters), not {dtype} of "
                f"shape {tuple(found.shape)}; make them by batch_to_ids"
            )
        return super().call(char_ids, training=training, mask=mask)

    def reset_state(self):
        """Sets the state of a stateful biLM back to zeros."""
        self.bilm.reset_state()

    def get_config(self):
        return {
            "name": self.name,
            "embedding": keras.saving.serialize_keras_object(self.embedding),
            "bilm": keras.saving.serialize_keras_object(self.bilm),
            "num_representations": self.num_representations,
            "keep_boundaries": self.keep_boundaries,
            "layer_norm": self.layer_norm,
            "dropout": self.dropout,
            "mix_regularizer": keras.regularizers.serialize(self.mix_regularizer),
            "trainable_bilm": self.trainable_bilm,
            "batch_size": self.batch_size,
            "encoder": keras.saving.serialize_keras_object(self.encoder),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        for part in ("embedding", "bilm", "encoder"):
            if isinstance(config.get(part), dict):
                config[part] = keras.saving.deserialize_keras_object(
                    config[part], custom_objects=custom_objects
                )
        return cls(**config)


def output_names(num_representations):
    """`elmo`, or `elmo_0`, `elmo_1`, ... where there are several."""
    if num_representations < 1:
        raise ElmoError(f"num_representations must be at least 1, not {num_representations}")
    if num_representations == 1:
        return ["elmo"]
    return [f"elmo_{k}" for k in range(num_representations)]


def _graph(char_ids, ids, embedding, bilm, mixes, dropout, keep_boundaries):
    mask = embedding.compute_mask(ids)  # (batch, time + 2)
    layers = bilm(embedding(ids), mask=mask)
    inner_mask = mask if keep_boundaries else embedding.compute_mask(char_ids)
    remove = RemoveBoundaries(dtype=bilm.dtype_policy, name="remove_boundaries")

    def inner(x):
        return x if keep_boundaries else remove(x, mask=inner_mask)

    outputs = {"layers": inner(ops.stack(layers, axis=1)), "mask": inner_mask}
    for name, mix in zip(output_names(len(mixes)), mixes, strict=True):
        if mix.layer_norm == "bilm":  # its statistics are those of the words alone
            mixed = mix(outputs["layers"], mask=inner_mask)
        else:
            mixed = inner(mix(layers, mask=mask))
        outputs[name] = dropout(mixed)
    return outputs
