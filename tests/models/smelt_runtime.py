"""The runtime's C API and device memory for tests, by ctypes: a plan on device pointers, as applications use it."""
import ctypes
import math

import ml_dtypes
import numpy as np

ELEMENTS = {np.dtype(name): code for code, name in enumerate(
    ['float32', 'float16', ml_dtypes.bfloat16, 'float64', 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool', 'uint16',
     'uint32', 'uint64', ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz,
     ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2])}

DEVICE, HOST = 0, 1  # smelt_location


class Error(ctypes.Structure):
    _fields_ = [('struct_size', ctypes.c_size_t), ('line', ctypes.c_int), ('file', ctypes.c_char * 64),
                ('message', ctypes.c_char * 1024)]


class Binding(ctypes.Structure):
    _fields_ = [('struct_size', ctypes.c_size_t), ('element_type', ctypes.c_int), ('location', ctypes.c_int),
                ('data', ctypes.c_void_p), ('bytes', ctypes.c_size_t), ('capacity', ctypes.c_int64)]


class TensorInfo(ctypes.Structure):
    _fields_ = [('struct_size', ctypes.c_size_t), ('name', ctypes.c_char_p), ('element_type', ctypes.c_int),
                ('rank', ctypes.c_size_t), ('extents', ctypes.POINTER(ctypes.c_int64)), ('alias', ctypes.c_int64),
                ('capacity_axis', ctypes.c_int64)]


class Library:
    """libsmelt_rt."""

    def __init__(self, library):
        self.smelt = ctypes.CDLL(library)

    def call(self, name, *arguments):
        error = Error(ctypes.sizeof(Error))
        function = getattr(self.smelt, name)
        if function(*arguments, ctypes.byref(error)):
            raise RuntimeError(f'{name}: {error.message.decode()}')


class Runtime(Library):
    """libsmelt_rt and the CUDA driver, on the primary context of device 0."""

    def __init__(self, library):
        super().__init__(library)
        self.cuda, self.context = ctypes.CDLL('libcuda.so.1'), ctypes.c_void_p()
        self.driver('cuInit', 0)
        self.driver('cuDevicePrimaryCtxRetain', ctypes.byref(self.context), 0)
        self.driver('cuCtxSetCurrent', self.context)

    def driver(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code:
            raise RuntimeError(f'{name} failed with {code}')

    def wait(self):
        self.driver('cuCtxSynchronize')


class DeviceArray:
    """Zeroed device memory for an array."""

    def __init__(self, runtime, shape, element):
        self.runtime, self.shape, self.element = runtime, tuple(shape), np.dtype(element)
        self.bytes, self.pointer = math.prod(self.shape) * self.element.itemsize, ctypes.c_uint64()
        runtime.driver('cuMemAlloc_v2', ctypes.byref(self.pointer), ctypes.c_size_t(max(self.bytes, 1)))
        runtime.driver('cuMemsetD8_v2', self.pointer, ctypes.c_ubyte(0), ctypes.c_size_t(max(self.bytes, 1)))

    def write(self, array):
        array = np.ascontiguousarray(array, self.element)
        self.runtime.driver('cuMemcpyHtoD_v2', self.pointer, ctypes.c_void_p(array.ctypes.data),
                            ctypes.c_size_t(array.nbytes))

    def read(self, shape):
        """The first elements, as an array of `shape`."""
        array = np.empty(shape, self.element)
        self.runtime.driver('cuMemcpyDtoH_v2', ctypes.c_void_p(array.ctypes.data), self.pointer,
                            ctypes.c_size_t(array.nbytes))
        return array

    def free(self):
        self.runtime.driver('cuMemFree_v2', self.pointer)


class HostArray:
    """A NumPy array that a context is bound to."""

    def __init__(self, shape, element):
        self.values = np.zeros(shape, element)
        self.element, self.bytes = self.values.dtype, self.values.nbytes
        self.pointer = ctypes.c_uint64(self.values.ctypes.data)


class Session:
    """A context of a plan; where all arrays are the host's, a Library is runtime enough."""

    def __init__(self, runtime, plan):
        self.runtime, self.engine, self.context = runtime, ctypes.c_void_p(), ctypes.c_void_p()
        runtime.call('smelt_engine_create', plan.encode(), None, ctypes.byref(self.engine))
        runtime.call('smelt_context_create', self.engine, None, ctypes.byref(self.context))

    def input_names(self):
        self.runtime.smelt.smelt_engine_input_count.restype = ctypes.c_size_t
        names = []
        for index in range(self.runtime.smelt.smelt_engine_input_count(self.engine)):
            info = TensorInfo(ctypes.sizeof(TensorInfo))
            self.runtime.call('smelt_engine_input', self.engine, ctypes.c_size_t(index), ctypes.byref(info))
            names.append(info.name.decode())
        return names

    def shape(self, name, extents):
        sizes = (ctypes.c_int64 * len(extents))(*extents)
        self.runtime.call('smelt_context_set_input_shape', self.context, name.encode(), sizes,
                          ctypes.c_size_t(len(extents)))

    def bind(self, kind, name, array, capacity=0, location=DEVICE):
        """`kind`: input or output."""
        binding = Binding(ctypes.sizeof(Binding), ELEMENTS[array.element], location, array.pointer.value, array.bytes,
                          capacity)
        self.runtime.call(f'smelt_context_bind_{kind}', self.context, name.encode(), ctypes.byref(binding))

    def prepare(self):
        self.runtime.call('smelt_context_prepare', self.context)

    def enqueue(self, stream=None):
        """On the default stream, or on the one of this handle; while that is capturing, into its graph."""
        self.runtime.call('smelt_context_enqueue', self.context, ctypes.c_void_p(stream))

    def run(self):
        self.runtime.call('smelt_context_run', self.context, None)

    def close(self):
        self.runtime.smelt.smelt_context_destroy(self.context)
        self.runtime.smelt.smelt_engine_destroy(self.engine)
