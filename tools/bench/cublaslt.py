"""Matrix products by cuBLASLt, algorithm by algorithm, by ctypes. Needs PyTorch, whose copy of the library is used."""

import ctypes
from ctypes import byref, c_float, c_int, c_size_t, c_uint64, c_void_p

import torch

# Values of CUDA's headers (library_types.h, cublas_api.h, cublasLt.h).
TYPES = {"float32": 0, "float16": 2, "int8": 3, "int32": 10, "bfloat16": 14, "float8_e4m3fn": 28}
COMPUTE_32F, COMPUTE_32I = 68, 72
TRANSPOSE_A, EPILOGUE, BIAS_POINTER, A_SCALE, B_SCALE, FAST_ACCUMULATION, BIAS_TYPE = 3, 7, 8, 17, 18, 25, 26
OP_T = 1
EPILOGUE_GELU_BIAS = 36
MAX_WORKSPACE_BYTES = 1
WORKSPACE = 64 << 20
ASKED = 16


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t"""

    _fields_ = [("algorithm", c_uint64 * 8), ("workspace", c_size_t), ("state", c_int), ("waves", c_float), ("reserved", c_int * 4)]


class Library:
    """The library and a handle of it."""

    def __init__(self):
        self.library = ctypes.CDLL(f"libcublasLt.so.{torch.version.cuda.split('.')[0]}")  # loaded by torch
        self.library.cublasLtGetVersion.restype = c_size_t
        self.version = self.library.cublasLtGetVersion()
        self.handle = c_void_p()
        self.call("Create", byref(self.handle))
        self.workspace = torch.empty(WORKSPACE, dtype=torch.uint8, device="cuda")
        self.one = torch.ones(1, dtype=torch.float32, device="cuda")

    def call(self, name, *arguments):
        status = getattr(self.library, f"cublasLt{name}")(*arguments)
        if status:
            raise RuntimeError(f"cublasLt{name} failed with status {status}")

    def layout(self, element, rows, columns, leading):
        made = c_void_p()
        self.call("MatrixLayoutCreate", byref(made), c_int(TYPES[element]), c_uint64(rows), c_uint64(columns),
                  ctypes.c_int64(leading))
        return made

    def set(self, descriptor, attribute, value):
        self.call("MatmulDescSetAttribute", descriptor, c_int(attribute), byref(value), c_size_t(ctypes.sizeof(value)))


class Product:
    """y [m, n] = x [m, k] w, scaled by `alpha`, for row-major operands. `w` is [n, k] as PyTorch's Linear keeps it where
    `transposed`, else [k, n]. `gelu`: y = gelu(x w + bias), by cuBLASLt's epilogue."""

    def __init__(self, library, sizes, element, result, transposed, gelu=False, alpha=1.0):
        self.library, (m, n, k) = library, sizes
        integer = element == "int8"
        self.scale, self.zero = c_float(alpha), c_float(0)
        self.operation = c_void_p()
        library.call("MatmulDescCreate", byref(self.operation), c_int(COMPUTE_32I if integer else COMPUTE_32F), c_int(0))
        # Columns are what row-major operands have as rows: y^T = w^T x^T.
        if transposed:
            library.set(self.operation, TRANSPOSE_A, c_int(OP_T))
        if element == "float8_e4m3fn":
            for attribute in (A_SCALE, B_SCALE):
                library.set(self.operation, attribute, c_void_p(library.one.data_ptr()))
            library.set(self.operation, FAST_ACCUMULATION, ctypes.c_int8(1))
        self.gelu = gelu
        if gelu:
            library.set(self.operation, EPILOGUE, c_int(EPILOGUE_GELU_BIAS))
            library.set(self.operation, BIAS_TYPE, c_int(TYPES[result]))
        rows, columns = (k, n) if transposed else (n, k)
        self.w = library.layout(element, rows, columns, rows)
        self.x = library.layout(element, k, m, k)
        self.y = library.layout(result, n, m, n)
        self.algorithms = self._algorithms()

    def _algorithms(self):
        """Up to ASKED that the heuristic proposes, best first."""
        preference, found, count = c_void_p(), (Heuristic * ASKED)(), c_int()
        self.library.call("MatmulPreferenceCreate", byref(preference))
        room = c_uint64(WORKSPACE)
        self.library.call("MatmulPreferenceSetAttribute", preference, c_int(MAX_WORKSPACE_BYTES), byref(room), c_size_t(8))
        self.library.call("MatmulAlgoGetHeuristic", self.library.handle, self.operation, self.w, self.x, self.y, self.y,
                          preference, c_int(ASKED), found, byref(count))
        self.library.call("MatmulPreferenceDestroy", preference)
        return [each for each in found[: count.value] if each.state == 0]

    def run(self, algorithm, x, w, y, bias=None):
        if self.gelu:
            self.library.set(self.operation, BIAS_POINTER, c_void_p(bias.data_ptr()))
        pointer = lambda tensor: c_void_p(tensor.data_ptr())
        self.library.call(
            "Matmul", self.library.handle, self.operation, byref(self.scale), pointer(w), self.w, pointer(x), self.x,
            byref(self.zero), pointer(y), self.y, pointer(y), self.y, byref(algorithm.algorithm),
            pointer(self.library.workspace), c_size_t(WORKSPACE), c_void_p(torch.cuda.current_stream().cuda_stream))
