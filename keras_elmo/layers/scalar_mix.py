"""The weighted sum of the layers of a biLM."""

import keras
import numpy as np
from keras import ops

from keras_elmo.errors import ElmoError

EPSILONS = {"allennlp": 1e-13, "bilm": 1e-12}


@keras.saving.register_keras_serializable(package="keras_elmo")
class ScalarMix(keras.layers.Layer):
    """Mixes layers by weights that add up to one, and scales the sum.

        mix = gamma * sum_k softmax(w)_k h_k

    With `layer_norm`, each h_k is first centered and scaled by one mean and one variance over all
    unmasked elements of the batch (sentences, words and features together), in float32. So with
    it a sentence's mix depends on what else is in the batch. A masked position gives 0.

    Args:
        layer_norm: `None`, or whose normalization: `"allennlp"` (or `True`; epsilon 1e-13) or
            `"bilm"` (epsilon 1e-12). They also differ in whether the sentence boundaries count,
            which is up to the mask given here; `Elmo` does it as the original of that name.
        initial_weights: list of floats where w starts (before the softmax); `None`: zeros, so the
            fresh mix is the mean.
        normalized: bool, `initial_weights` are shares that add up to one, not w.
        initial_gamma: float where gamma starts.
        regularizer: regularizer of w; the paper adds an L2 penalty.
        **kwargs: `name`, `dtype`, `trainable` of every Keras layer.

    Call arguments:
        inputs: list of tensors (batch, time, dim), or one tensor (batch, layers, time, dim).
        mask: (batch, time) bool; `None`: everything counts.

    Returns:
        (batch, time, dim). The shares in use are in `normalized_weights`.

    Raises:
        ElmoError: if `layer_norm` is unknown or there are not as many weights as layers.

    Example:
        >>> mix = ScalarMix(initial_weights=[0.2, 0.3, 0.5], normalized=True)
        >>> mix([keras.random.normal((1, 2, 4)) for _ in range(3)]).shape
        (1, 2, 4)

    Reference:
        Peters et al. (2018), Deep contextualized word representations, section 3.2, equation 1.
    """

    def __init__(
        self,
        layer_norm=None,
        initial_weights=None,
        normalized=False,
        initial_gamma=1.0,
        regularizer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        if layer_norm in (True, False):
            layer_norm = "allennlp" if layer_norm else None
        if layer_norm is not None and layer_norm not in EPSILONS:
            raise ElmoError(f'layer_norm must be None, "allennlp" or "bilm", not {layer_norm!r}')
        self.layer_norm = layer_norm
        self.initial_weights = (
            None if initial_weights is None else [float(w) for w in initial_weights]
        )
        self.normalized = normalized
        self.initial_gamma = initial_gamma
        self.regularizer = keras.regularizers.get(regularizer)

    def build(self, input_shape):
        count = len(input_shape) if isinstance(input_shape[0], (list, tuple)) else input_shape[1]
        start = np.zeros(count) if self.initial_weights is None else np.array(self.initial_weights)
        if len(start) != count:
            raise ElmoError(
                f"ScalarMix {self.name}: {len(start)} initial_weights for {count} layers"
            )
        if self.normalized:
            start = np.log(np.maximum(start, 1e-30))  # a share of 0 stays 0 in float32
        self.weights_logits = self.add_weight(
            name="weights",
            shape=(count,),
            initializer=lambda shape, dtype: ops.convert_to_tensor(start, dtype),
            regularizer=self.regularizer,
        )
        self.gamma = self.add_weight(
            name="gamma", shape=(), initializer=keras.initializers.Constant(self.initial_gamma)
        )

    @property
    def normalized_weights(self):
        """The share of each layer, (layers,): softmax(w)."""
        return ops.softmax(ops.cast(self.weights_logits, "float32"))

    def call(self, inputs, mask=None):
        if isinstance(mask, (list, tuple)):
            mask = mask[0]
        if not isinstance(inputs, (list, tuple)):
            inputs = ops.unstack(inputs, axis=1)
        real = None if mask is None else ops.cast(mask, "bool")[..., None]  # (batch, time, 1)
        shares = self.normalized_weights
        mix = 0.0
        for k, layer in enumerate(inputs):
            if real is not None:
                layer = ops.where(real, layer, ops.zeros_like(layer))
            if self.layer_norm is not None:
                layer = self._normalize(layer, real)
            mix += ops.cast(shares[k], layer.dtype) * layer
        mix = ops.cast(self.gamma, mix.dtype) * mix
        return ops.cast(mix, self.compute_dtype)

    def _normalize(self, layer, real):
        layer = ops.cast(layer, "float32")
        weight = ops.ones_like(layer) if real is None else ops.cast(real, "float32")
        weight = ops.broadcast_to(weight, ops.shape(layer))
        count = ops.maximum(ops.sum(weight), 1.0)  # an all-padding batch gives zeros
        centered = (layer - ops.sum(layer * weight) / count) * weight
        variance = ops.sum(ops.square(centered)) / count
        return centered / ops.sqrt(variance + EPSILONS[self.layer_norm])

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask[0] if isinstance(previous_mask, (list, tuple)) else previous_mask

    def compute_output_spec(self, inputs, mask=None):
        if isinstance(inputs, (list, tuple)):
            return keras.KerasTensor(inputs[0].shape, self.compute_dtype)
        return keras.KerasTensor((inputs.shape[0], *inputs.shape[2:]), self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "layer_norm": self.layer_norm,
            "initial_weights": self.initial_weights,
            "normalized": self.normalized,
            "initial_gamma": self.initial_gamma,
            "regularizer": keras.regularizers.serialize(self.regularizer),
        }
