"""One device, and with it what every kind of many devices answers."""

import contextlib

from keras_elmo import backend


class OneDevice:
    """What a training step asks of its devices; the answers of one device.

    Where an engine works with explicit replicas, each is given a part of a batch, and `mean`,
    `all_rows` and `gradients` bring their results together; so every replica makes the same step
    and holds the same variables.

    Attributes:
        count: int, devices.
        num_parts: int, equal parts into which the rows of a batch are divided beforehand.
        parts: list of int, those that this process reads, one for each of its replicas.
        num_processes: int.
        is_chief: bool, whether this process keeps the files.
        divides_softmax: bool, whether each device holds only some of its rows.
    """

    count = num_parts = num_processes = 1
    parts = (0,)
    is_chief = True
    divides_softmax = False

    def scope(self):
        """A context in which the variables of a model are made for these devices."""
        return contextlib.nullcontext()

    def feed(self, batches):
        """An iterator of batches, for each replica one after the other, as `fit` takes it."""
        return batches

    def divided(self, tensor):
        """The tensor, its first axis divided over the devices where that is left to a compiler."""
        return tensor

    def own_rows(self, tensor):
        """The rows of a whole batch that this replica works on."""
        return tensor

    def all_rows(self, tensor):
        """The rows of all replicas, one after the other."""
        return tensor

    def mean(self, values):
        """The means of a list of numbers over the replicas."""
        return values

    def logged(self, value):
        """A number that is the same on every replica, as a step gives it to Keras."""
        return value

    def gradients(self, loss_function, model, variables, tensors):
        """As `backend.gradients`; the gradients are means over the replicas."""
        return backend.gradients(loss_function, model, variables, tensors)

    def apply(self, optimizer, gradients, variables):
        """Has the optimizer make its step, by gradients that are the same on every replica."""
        optimizer.apply(gradients, variables)

    def whole(self, variable):
        """The value of a variable as a NumPy array to be read; every process must ask."""
        if backend.BACKEND == "torch" and variable.dtype == "float32":
            return variable.value.detach().cpu().numpy()  # Keras would make a copy
        return variable.numpy()
