"""Tensors of the caller's as the runtime sees them, and what a model says of its own."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from smelt import _core
from smelt._errors import UsageError

# By their codes in smelt.h: NumPy's name (or ml_dtypes', which NumPy takes once that is imported), and ONNX's.
_TYPES = [
    ("float32", "float"), ("float16", "float16"), ("bfloat16", "bfloat16"), ("float64", "double"),
    ("int64", "int64"), ("int32", "int32"), ("int16", "int16"), ("int8", "int8"), ("uint8", "uint8"),
    ("bool", "bool"), ("uint16", "uint16"), ("uint32", "uint32"), ("uint64", "uint64"),
    ("float8_e4m3fn", "float8e4m3fn"), ("float8_e4m3fnuz", "float8e4m3fnuz"), ("float8_e5m2", "float8e5m2"),
    ("float8_e5m2fnuz", "float8e5m2fnuz"), ("float4_e2m1fn", "float4e2m1"), ("float8_e8m0fnu", "float8e8m0"),
    ("int4", "int4"), ("uint4", "uint4"), ("int2", "int2"), ("uint2", "uint2"),
]  # fmt: skip
_CODES = {name: code for code, (name, _) in enumerate(_TYPES)}
_CUDA_DEVICES = (2, 13)  # DLPack's kDLCUDA and kDLCUDAManaged
_LEGACY_STREAM = 1  # DLPack's name for CUDA's default stream


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a model."""

    name: str
    shape: list[int | str]  # an expression such as "batch" or "2*length" where the size is open
    dtype: str  # "float32", as NumPy names it

    @property
    def type(self) -> str:
        """As ONNX Runtime spells it: "tensor(float)"."""
        return f"tensor({_TYPES[_CODES[self.dtype]][1]})"


def describe(info: _core.TensorInfo) -> TensorInfo:
    shape = [text if extent < 0 else extent for extent, text in zip(info.shape, info.extent_texts)]
    return TensorInfo(info.name, shape, _TYPES[info.element_type][0])


@functools.cache  # NumPy makes up a type's name anew each time
def _code_of(dtype: np.dtype) -> int | None:
    return _CODES.get(dtype.name) if dtype.isnative else None


@functools.cache
def numpy_type(element_type: int) -> np.dtype:
    """Types that NumPy lacks come from ml_dtypes."""
    name = _TYPES[element_type][0]
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        raise UsageError(f"NumPy has no {name}: install ml_dtypes, or keep the tensor on the device") from None
    return np.dtype(getattr(ml_dtypes, name))


def host_view(array: np.ndarray, what: str, writable: bool = False) -> _core.TensorView:
    code = _code_of(array.dtype)
    if code is None:
        raise TypeError(f"{what} has elements of type {array.dtype}, which no model takes")
    if writable and not (array.flags.c_contiguous and array.flags.writeable):
        raise UsageError(f"{what} must be contiguous and writable to be filled")
    dense = array if array.flags.c_contiguous else array.copy()
    address = dense.__array_interface__["data"][0]
    return _core.TensorView(code, dense.shape, address, dense.nbytes, dense)


def view_of(value: Any, what: str, stream: int, writable: bool = False) -> _core.TensorView:
    """`value` without a copy, where it is contiguous: a NumPy array, or any tensor that speaks DLPack.

    A tensor on a device is asked to be ready on `stream`. TypeError for other objects."""
    if isinstance(value, (np.ndarray, np.generic)):
        return host_view(np.asarray(value), what, writable)
    if not (hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")):
        raise TypeError(
            f"{what} is of type {type(value).__name__}: give a NumPy array, or a tensor with __dlpack__"
        )
    is_on_device = value.__dlpack_device__()[0] in _CUDA_DEVICES
    capsule = value.__dlpack__(stream=stream or _LEGACY_STREAM) if is_on_device else value.__dlpack__()
    try:
        return _core.TensorView.of(capsule, what)
    except TypeError:  # nanobind's, of what is no capsule, or was taken
        raise TypeError(
            f"{what} is of type {type(value).__name__}, whose __dlpack__ gave no tensor, or one that was handed over before"
        ) from None
