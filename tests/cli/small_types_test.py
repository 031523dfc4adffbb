"""Floats of 8 and 4 bits and integers of 4 and 2, as files and as casts, against ml_dtypes: every code, and floats of every exponent."""

import support
from support import ACCURACY, OK, CliTest

import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

FLOAT8 = {
    "float8_e4m3fn": "FLOAT8E4M3FN",
    "float8_e4m3fnuz": "FLOAT8E4M3FNUZ",
    "float8_e5m2": "FLOAT8E5M2",
    "float8_e5m2fnuz": "FLOAT8E5M2FNUZ",
}
INTEGERS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}
BITS = {**dict.fromkeys(FLOAT8, 8), "float8_e8m0fnu": 8, "float4_e2m1fn": 4, **INTEGERS}
ONNX_NAMES = {**FLOAT8, "float8_e8m0fnu": "FLOAT8E8M0", "float4_e2m1fn": "FLOAT4E2M1", **{n: n.upper() for n in INTEGERS}}


def floats():
    """2^16 of them: all signs and exponents, with mantissas that end in zeros and that do not."""
    high = np.arange(1 << 15, dtype=np.uint32) << 17
    scattered = high | (np.arange(1 << 15, dtype=np.uint32) * np.uint32(2654435761) >> 15)
    return np.concatenate([high, scattered]).view(np.float32)


@unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
class SmallTypes(CliTest):
    def expect_cast(self, wanted, values, source, target, **attributes):
        """The command line makes `wanted` of a file of `values`; NaN among it is an exit code of its own."""
        node = helper.make_node("Cast", ["x"], ["y"], to=target, **attributes)
        inputs, outputs = [support.tensor_info("x", ["n"], source)], [support.tensor_info("y", ["n"], target)]
        path = self.save(support.model([node], inputs, outputs, opset=25))
        code = ACCURACY if np.isnan(wanted).any() else OK
        self.expect(code, "run", path, "--device", "cpu", "--input", f"x=@{self.array('x', values)}", "--output", "y=@y.npy")
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), wanted)

    def expect_rounded(self, wanted, values, name, **attributes):
        target = getattr(TensorProto, ONNX_NAMES[name])
        self.expect_cast(wanted, values, TensorProto.FLOAT, target, **attributes)

    def test_every_code_is_read(self):
        for name, bits in BITS.items():
            with self.subTest(name):
                codes = np.arange(1 << bits, dtype=np.uint8)
                wanted = codes.view(getattr(ml_dtypes, name)).astype(np.float32)
                source = getattr(TensorProto, ONNX_NAMES[name])
                for values in (codes, codes.view(getattr(ml_dtypes, name))):
                    self.expect_cast(wanted, values, source, TensorProto.FLOAT)

    def test_floats_round_to_floats_of_8_bits(self):
        values = floats()
        for name in FLOAT8:
            with self.subTest(name), np.errstate(all="ignore"):
                dtype = np.dtype(getattr(ml_dtypes, name))
                self.expect_rounded(values.astype(dtype).astype(np.float32), values, name, saturate=0)
                self.expect_rounded(numpy_helper.saturate_cast(values, dtype).astype(np.float32), values, name)

    def test_floats_round_to_4_bits_and_scales(self):
        values = floats()
        values = values[~np.isnan(values)]
        with np.errstate(all="ignore"):
            wanted = values.astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
        self.expect_rounded(wanted, values, "float4_e2m1fn")
        values = values[np.isfinite(values) & (values >= np.finfo(np.float32).tiny)]
        for mode in ("up", "down", "nearest"):
            wanted = numpy_helper.to_float8e8m0(values, True, mode).astype(np.float32)
            self.expect_rounded(wanted, values, "float8_e8m0fnu", round_mode=mode)

    def test_floats_wrap_to_integers(self):
        values = floats()
        values = values[np.abs(values) < 2e9]
        for name in INTEGERS:
            with self.subTest(name):
                wanted = values.astype(getattr(ml_dtypes, name)).astype(np.float32)
                self.expect_rounded(wanted, values, name)


if __name__ == "__main__":
    support.main()
