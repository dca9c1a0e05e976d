"""Many devices by `torch.distributed`: a process on each, started by torchrun."""

import functools
import os

import keras
import torch
from torch import distributed

from keras_elmo.backend.one_device import OneDevice
from keras_elmo.errors import ElmoError


class TorchProcesses(OneDevice):
    """The processes of a torchrun, each with a GPU of its own where there are some.

    DistributedDataParallel brings the gradients of the variables together while they are
    computed. It knows parameters only as a whole, so those of the softmax's rows come after.

    Raises:
        ElmoError: if the process was not started by torchrun.
    """

    def __init__(self):
        if "RANK" not in os.environ:
            raise ElmoError(
                "PyTorch shares the work among processes: start with torchrun "
                "--nproc-per-node DEVICES -m keras_elmo pretrain ..."
            )
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        if not distributed.is_initialized():
            distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        self.count = self.num_parts = self.num_processes = distributed.get_world_size()
        self.parts = [distributed.get_rank()]
        self.is_chief = self.parts == [0]
        self._wrapped = functools.lru_cache(maxsize=1)(_wrapped)

    def own_rows(self, tensor):
        return torch.chunk(tensor, self.count)[self.parts[0]]

    def all_rows(self, tensor):
        parts = [torch.empty_like(tensor) for _ in range(self.count)]
        distributed.all_gather(parts, tensor.contiguous())
        return torch.cat(parts)

    def mean(self, values):
        total = torch.stack(values)
        distributed.all_reduce(total)
        return list(total / self.count)

    def gradients(self, loss_function, model, variables, tensors):
        tensors = [x.detach().requires_grad_() for x in tensors]
        parameters = tuple(v.value for v in variables)
        loss, rest = self._wrapped(parameters)(loss_function, *tensors)
        loss.backward()
        found = [x.grad for x in (*parameters, *tensors)]
        for x in parameters:
            x.grad = None
        row_gradients = found[len(variables) :]
        for gradient in row_gradients:
            distributed.all_reduce(gradient)
            gradient /= self.count
        values = loss.detach(), keras.tree.map_structure(torch.Tensor.detach, rest)
        return values, found[: len(variables)], row_gradients


class _Loss(torch.nn.Module):
    """A function of tensors, as a module that owns the parameters it reads."""

    def __init__(self, parameters):
        super().__init__()
        self.owned = torch.nn.ParameterList(parameters)

    def forward(self, loss_function, *tensors):
        return loss_function(*tensors)


def _wrapped(parameters):
    return torch.nn.parallel.DistributedDataParallel(_Loss(parameters))
