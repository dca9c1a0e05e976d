"""Tensors from files that `torch.save` wrote, without torch, and without running anything in them.

Such a file is a pickle: a small program that can name any function of Python and call it. Here the
program is read opcode by opcode, and the three calls that put tensors into a dict are understood.
Nothing is ever imported or called; anything else is refused.
"""

import io
import math
import pickletools
import struct
import zipfile
from typing import NamedTuple

import numpy as np

from keras_elmo.errors import ElmoError

INFLATION = 4  # how much larger than the file its tensors may be: they may share their data
MAGIC = 0x1950A86A20F9469CFC6C
STORAGES = {
    "torch HalfStorage": "<f2",
    "torch FloatStorage": "<f4",
    "torch DoubleStorage": "<f8",
    "torch IntStorage": "<i4",
    "torch LongStorage": "<i8",
}
CONSTANTS = {
    "NONE": None,
    "NEWTRUE": True,
    "NEWFALSE": False,
    "EMPTY_TUPLE": (),
}
VALUES = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE", "BINFLOAT"}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
MARK = object()


class _Global(NamedTuple):
    name: str


class _Storage(NamedTuple):
    dtype: str
    key: str
    start: int


class _Tensor(NamedTuple):
    storage: _Storage
    shape: tuple
    strides: tuple


def read_tensors(path):
    """Reads a dict of tensors, from either container of `torch.save`.

    Where the tensors lay (a GPU) does not matter.

    Args:
        path: `Path`, or `zipfile.Path` of a file inside an archive.

    Returns:
        A dict from name to NumPy array.

    Raises:
        ElmoError: if the file is broken, is not a dict of tensors, or asks for anything but
            tensors to be made.

    Example:
        >>> sorted(read_tensors(Path("encoder.pkl")))[0]
        'backward_layer_0.input_linearity.weight'
    """
    data = path.read_bytes()
    try:
        contents, storages = _read_zip(data) if data[:2] == b"PK" else _read_sequential(data)
        return dict(_arrays(contents, storages, INFLATION * len(data)))
    except ElmoError as error:
        raise ElmoError(f"{path}: {error}") from None
    except (
        ArithmeticError,
        EOFError,
        LookupError,
        MemoryError,
        NotImplementedError,
        RecursionError,
        TypeError,
        ValueError,
        struct.error,
        zipfile.BadZipFile,
        OSError,
    ) as error:
        raise ElmoError(
            f"{path}: truncated, or not a file of torch.save ({type(error).__name__}: {error}); "
            "get the file again"
        ) from None


def _tensors(contents):
    if not isinstance(contents, dict):
        raise ElmoError(f"holds a {type(contents).__name__}, not a dict of tensors")
    for name, tensor in contents.items():
        if not isinstance(name, str) or not isinstance(tensor, _Tensor):
            raise ElmoError(f"entry {name!r:.60} is not a tensor; this is not a file of weights")
        yield name, tensor


def _read_zip(data):
    archive = zipfile.ZipFile(io.BytesIO(data))
    program = next((n for n in archive.namelist() if n.endswith("data.pkl")), "data.pkl")
    folder = program.removesuffix("data.pkl")
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    if sum(sizes.values()) > 2 * len(data):  # torch does not compress
        raise ElmoError("its members claim to be larger than the file; refused")
    contents = _run(io.BytesIO(archive.read(program)))
    return contents, lambda key: archive.read(f"{folder}data/{key}")


def _read_sequential(data):
    file = io.BytesIO(data)
    if _run(file) != MAGIC:
        raise ElmoError("not a file of torch.save")
    _run(file)  # the version of the protocol
    _run(file)  # the machine it was written on
    contents = _run(file)
    keys = _run(file)
    dtypes = {tensor.storage.key: tensor.storage.dtype for _, tensor in _tensors(contents)}
    storages = {}
    for key in keys:
        (count,) = struct.unpack("<q", file.read(8))
        size = count * np.dtype(dtypes[key]).itemsize
        storages[key] = memoryview(data)[file.tell() : file.tell() + size]
        if count < 0 or len(storages[key]) < size:
            raise ElmoError("truncated; get the file again")
        file.seek(size, io.SEEK_CUR)
    return contents, storages.__getitem__


def _arrays(contents, storages, limit):
    for name, tensor in _tensors(contents):
        array = _array(tensor, storages)
        limit -= array.nbytes
        if limit < 0:
            raise ElmoError(f"tensor {name} and those before it claim too many bytes; refused")
        yield name, array


def _array(tensor, storages):
    dtype, key, start = tensor.storage
    values = np.frombuffer(storages(key), dtype)[start:]
    shape, strides = tensor.shape, tensor.strides
    count = math.prod(shape)
    last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if min((start, *shape, *strides), default=0) < 0 or count > len(values) or last >= len(values):
        raise ElmoError(f"a tensor of shape {shape} does not fit into its data; truncated?")
    strides = [stride * values.itemsize for stride in strides]
    return np.array(np.lib.stride_tricks.as_strided(values, shape, strides))


def _run(file):
    """What the next pickle in the file stands for."""
    stack, memo = [], {}
    for opcode, argument, _ in pickletools.genops(file):
        name = opcode.name
        if name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in VALUES:
            stack.append(argument)
        elif name in TUPLES:
            stack[-TUPLES[name] :] = [tuple(stack[-TUPLES[name] :])]
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "GLOBAL":
            stack.append(_Global(argument))
        elif name in STEPS:
            STEPS[name](stack)
        elif name not in ("PROTO", "STOP"):
            raise ElmoError(f"holds the opcode {name}, which no file of tensors needs; refused")
    return stack[-1]


def _since_mark(stack):
    place = len(stack) - 1 - stack[::-1].index(MARK)
    items = stack[place + 1 :]
    del stack[place:]
    return items


def _append(stack):
    item = stack.pop()
    _checked(stack[-1], list).append(item)


def _appends(stack):
    items = _since_mark(stack)
    _checked(stack[-1], list).extend(items)


def _set_item(stack):
    value, key = stack.pop(), stack.pop()
    _checked(stack[-1], dict)[key] = value


def _set_items(stack):
    items = _since_mark(stack)
    _checked(stack[-1], dict).update(zip(items[::2], items[1::2], strict=True))


def _reduce(stack):
    arguments = _checked(stack.pop(), tuple)
    function = _checked(stack.pop(), _Global).name
    if function == "collections OrderedDict" and not arguments:
        stack.append({})
    elif function == "torch._utils _rebuild_tensor_v2":
        storage, offset, shape, strides = arguments[:4]
        storage = _checked(storage, _Storage)._replace(start=storage.start + offset)
        stack.append(_Tensor(storage, _checked(shape, tuple), _checked(strides, tuple)))
    elif function == "torch._utils _rebuild_parameter":
        stack.append(_checked(arguments[0], _Tensor))
    else:
        name = function.replace(" ", ".")
        raise ElmoError(f"asks to call {name!r:.80}; refused, nothing was run")


def _persistent(stack):
    kind, storage, key, _, _, *view = _checked(stack.pop(), tuple)
    dtype = STORAGES.get(_checked(storage, _Global).name)
    if kind != "storage" or dtype is None:
        raise ElmoError(f"holds data of the kind {storage.name!r:.60}, not numbers")
    start = view[0][1] if view and view[0] is not None else 0
    stack.append(_Storage(dtype, _checked(key, str), start))


def _checked(value, kind):
    if not isinstance(value, kind):
        raise ValueError(f"{type(value).__name__} where {kind.__name__} belongs")
    return value


STEPS = {
    "MARK": lambda stack: stack.append(MARK),
    "EMPTY_DICT": lambda stack: stack.append({}),
    "EMPTY_LIST": lambda stack: stack.append([]),
    "TUPLE": lambda stack: stack.append(tuple(_since_mark(stack))),
    "APPEND": _append,
    "APPENDS": _appends,
    "SETITEM": _set_item,
    "SETITEMS": _set_items,
    "REDUCE": _reduce,
    "BUILD": lambda stack: stack.pop(),  # attributes of the dict, not needed
    "BINPERSID": _persistent,
}
