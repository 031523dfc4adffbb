"""A tensor library that gives its tensors by DLPack's C functions, as PyTorch does: written with ctypes, and asked what was called."""

import ctypes

import numpy as np

CUDA = 2  # DLPack's device; the fake driver's memory is the host's
FLOAT = 2
READ_ONLY = 1


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]  # fmt: skip


class Table(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
                ("to_managed", ctypes.c_void_p), ("to_object", ctypes.c_void_p), ("to_tensor", ctypes.c_void_p),
                ("current_stream", ctypes.c_void_p)]  # fmt: skip


class ExchangingTensor:
    """Float32 on a device of the fake driver's. `library` tells what a stream its library works on, and what is alive."""

    class library:
        stream = 0
        alive = {}  # by the addresses of what was handed out
        fails = False

    def __init__(self, array, flags=0):
        self.array, self.flags, self.asked = array, flags, []

    def __dlpack__(self, stream=None):
        self.asked.append(stream)
        raise BufferError("asked by __dlpack__")

    def __dlpack_device__(self):
        return CUDA, 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
def _to_managed(tensor, made):
    if ExchangingTensor.library.fails:
        return -1
    array = tensor.array
    shape, strides = (np.asarray(sizes, np.int64) for sizes in (array.shape, [step // array.itemsize for step in array.strides]))
    described = Tensor(array.ctypes.data - 64, CUDA, 0, array.ndim, FLOAT, 32, 1, shape.ctypes.data, strides.ctypes.data, 64)
    managed = Managed(1, 3, None, ctypes.cast(_delete, ctypes.c_void_p), tensor.flags, described)
    ExchangingTensor.library.alive[ctypes.addressof(managed)] = (managed, array, shape, strides)
    made[0] = ctypes.addressof(managed)
    return 0


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _delete(managed):
    del ExchangingTensor.library.alive[managed]


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def _current_stream(device_type, device, stream):
    assert (device_type, device) == (CUDA, 0)
    stream[0] = ExchangingTensor.library.stream
    return 0


def capsule(table):
    """What a type names its table by."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(table), b"dlpack_exchange_api", None)


TABLE = Table(1, 3, None, None, *(ctypes.cast(function, ctypes.c_void_p) for function in (_to_managed, _to_managed, _to_managed, _current_stream)))
NEWER = Table(2, 0, ctypes.addressof(TABLE))  # of which nobody here knows more than that there is an older one
UNKNOWN = Table(2, 0)
ExchangingTensor.__dlpack_c_exchange_api__ = capsule(TABLE)
