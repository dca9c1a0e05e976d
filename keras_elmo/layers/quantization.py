"""Matrices of a layer as int8, one scale a column, as `Model.quantize("int8")` asks for."""

import keras
from keras import ops


def add_matrix(layer, name, shape):
    """Adds an int8 weight and its scale, in place of the float weight of that name."""
    scale = layer.add_weight(
        name=f"{name}_scale", shape=shape[-1:], initializer="ones", trainable=False
    )
    matrix = layer.add_weight(
        name=name, shape=shape, initializer="zeros", dtype="int8", autocast=False, trainable=False
    )
    setattr(layer, f"{name}_scale", scale)
    setattr(layer, name, matrix)


def quantize(layer, names):
    """Turns the matrices of those names into int8 and sets the policy of the layer.

    q = round(w * scale), scale = 127 / max |w| over a column
    """
    for name in names:
        matrix = getattr(layer, name)
        values, scale = keras.quantizers.abs_max_quantize(matrix, axis=0, to_numpy=True)
        delattr(layer, name)
        add_matrix(layer, name, matrix.shape)
        getattr(layer, name).assign(values)
        getattr(layer, f"{name}_scale").assign(scale[0])
    layer._is_quantized = True  # Keras refuses to quantize such a layer once more
    layer.dtype_policy = keras.dtype_policies.get(f"int8_from_{policy(layer).name}")


def matrix(layer, name):
    """A weight of the layer in its compute dtype, whichever way it is stored."""
    weight = getattr(layer, name)
    if weight is None:
        return None
    weight = ops.cast(weight, layer.compute_dtype)
    scale = getattr(layer, f"{name}_scale", None)
    return weight if scale is None else weight / ops.cast(scale, layer.compute_dtype)


def policy(layer, sub_layer=None):
    """The dtype policy of a layer, or of its sub-layer of that name, which is yet to be made.

    A Dense that holds a whole map of policies can't be saved (Keras 3.15).
    """
    found = layer.dtype_policy
    if not isinstance(found, keras.dtype_policies.DTypePolicyMap):
        return found
    return found[layer.path if sub_layer is None else f"{layer.path}/{sub_layer}"]


def policies(layer):
    """The `dtype` in the config of a layer whose sub-layers are quantized, else nothing."""
    quantized = {
        sub.path: policy(sub)
        for sub in layer._flatten_layers(include_self=False)
        if sub.quantization_mode is not None
    }
    if not quantized:
        return {}
    mapped = keras.dtype_policies.DTypePolicyMap(policy(layer).name, quantized)
    return {"dtype": keras.saving.serialize_keras_object(mapped)}
