"""Many devices by `tf.distribute`: a replica on each."""

import itertools
import os

import tensorflow as tf

from keras_elmo.backend.one_device import OneDevice


class TensorFlowDevices(OneDevice):
    """All GPUs of this host, else all its CPU devices; of many hosts where `TF_CONFIG` is set.

    The hosts of `TF_CONFIG` are all workers, with the same number of devices.
    """

    def __init__(self):
        hosts, number = 1, 0
        if "TF_CONFIG" in os.environ:
            self._strategy = tf.distribute.MultiWorkerMirroredStrategy()
            resolver = self._strategy.cluster_resolver
            hosts, number = resolver.cluster_spec().num_tasks("worker"), resolver.task_id
        else:
            kinds = map(tf.config.list_logical_devices, ("GPU", "CPU"))
            names = next([device.name for device in devices] for devices in kinds if devices)
            self._strategy = tf.distribute.MirroredStrategy(names)
        self.count = self.num_parts = self._strategy.num_replicas_in_sync
        own = self.count // hosts
        self.parts = range(number * own, (number + 1) * own)
        self.num_processes = hosts
        self.is_chief = number == 0

    def scope(self):
        return self._strategy.scope()

    def feed(self, batches):
        first = next(batches)
        signature = tf.nest.map_structure(
            lambda x: tf.TensorSpec((None, *x.shape[1:]), x.dtype), first
        )
        dataset = tf.data.Dataset.from_generator(
            lambda: itertools.chain([first], batches), output_signature=signature
        )
        # Unlike `experimental_distribute_dataset`, it divides no batch: each replica gets one.
        return self._strategy.distribute_datasets_from_function(lambda context: dataset)

    def own_rows(self, tensor):
        parts = tf.reshape(tensor, (self.num_parts, -1, *tensor.shape[1:]))
        return parts[_replica().replica_id_in_sync_group]

    def all_rows(self, tensor):
        return _replica().all_gather(tensor, axis=0)

    def mean(self, values):
        return _replica().all_reduce(tf.distribute.ReduceOp.MEAN, values)

    def logged(self, value):
        return value[None] if self.num_processes > 1 else value  # Keras takes means over axis 0

    def gradients(self, loss_function, model, variables, tensors):
        values, *found = super().gradients(loss_function, model, variables, tensors)
        reduced = self.mean([*found[0], *found[1]])
        return values, reduced[: len(variables)], reduced[len(variables) :]

    def apply(self, optimizer, gradients, variables):
        # Clipping had to see the mean; the optimizer adds the gradients of all replicas up again.
        optimizer.apply([gradient / self.count for gradient in gradients], variables)


def _replica():
    return tf.distribute.get_replica_context()
