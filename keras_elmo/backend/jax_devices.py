"""Many devices by `keras.distribution`: a compiler divides one program over them."""

import functools
import os

import jax
import keras
from jax.experimental import multihost_utils

from keras_elmo.backend.one_device import OneDevice

AXIS = "batch"


class JaxDevices(OneDevice):
    """All devices that JAX sees; of many hosts where `KERAS_DISTRIBUTION_JOB_ADDRESSES` is set.

    Every process hands over whole batches. The step divides their rows, and from there the
    compiler divides everything else.

    Args:
        kind: `"data"`, or `"vocabulary"` to divide the rows of the softmax too.
    """

    def __init__(self, kind):
        if "KERAS_DISTRIBUTION_JOB_ADDRESSES" in os.environ:
            _initialize()
        names = keras.distribution.list_devices()
        self.count = len(names)
        self.num_processes = jax.process_count()
        self.is_chief = jax.process_index() == 0
        self._mesh = keras.distribution.DeviceMesh((self.count,), [AXIS], names)
        layouts = keras.distribution.LayoutMap(self._mesh)
        self.divides_softmax = kind == "vocabulary"
        if self.divides_softmax:
            layouts[".*softmax[^/]*/kernel"] = (AXIS, None)
            layouts[".*softmax[^/]*/bias"] = (AXIS,)
        self._distribution = _WholeBatches(layout_map=layouts, auto_shard_dataset=False)

    def scope(self):
        return self._distribution.scope()

    def divided(self, tensor):
        axes = [AXIS, *[None] * (len(tensor.shape) - 1)]
        layout = keras.distribution.TensorLayout(axes, self._mesh)
        return keras.distribution.distribute_tensor(tensor, layout)

    def whole(self, variable):
        value = variable.value
        if value.is_fully_addressable or value.is_fully_replicated:
            return super().whole(variable)
        return multihost_utils.process_allgather(value, tiled=True)


class _WholeBatches(keras.distribution.ModelParallel):
    """Hands every device whole batches: not all that they hold has a row for each of theirs."""

    def get_data_layout(self, data_shape):
        return keras.distribution.TensorLayout([None] * len(data_shape), self.device_mesh)


@functools.cache
def _initialize():
    keras.distribution.initialize()
