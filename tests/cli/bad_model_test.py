"""Models that are wrong: each gets exit code 3 and a message that says what and where, and no crash."""

import os
import unittest
from pathlib import Path

import support
from support import INVALID_MODEL, OK, CliTest

import numpy as np
import onnx
from onnx import TensorProto, helper

SHARED = Path(__file__).resolve().parents[3] / "shared"  # optional developer data


class BadModel(CliTest):
    def refuse(self, path, *says):
        """Every command that reads models refuses the file, for the same reason."""
        for command in ("check", "run", "compile", "explain", "compare"):
            done = self.expect(INVALID_MODEL, command, path)
            text = done.stdout + done.stderr
            for part in says:
                self.assertIn(part, text)
        self.assertEqual(list(self.folder.glob("*.plan*")), [])

    def test_not_onnx(self):
        self.refuse(
            self.write("model.onnx", b"PK\x03\x04 this is a zip archive" * 20), "model.onnx"
        )
        self.refuse(self.write("empty.onnx", b""), "empty.onnx")

    def test_truncated(self):
        whole = support.scale_model().SerializeToString()
        for length in range(1, len(whole), 7):
            path = self.write("model.onnx", whole[:length])
            self.expect(INVALID_MODEL, "check", path)

    def test_all_unsupported_nodes_at_once(self):
        nodes = [
            helper.make_node("Frobnicate", ["x"], ["a"], name="first"),
            helper.make_node("Relu", ["a"], ["b"], name="fine"),
            helper.make_node("Gloop", ["b"], ["y"], name="second"),
        ]
        info = [support.tensor_info(name, [4]) for name in "xy"]
        path = self.save(support.model(nodes, info[:1], info[1:]))
        self.refuse(path, "Frobnicate", "first", "Gloop", "second")
        report = self.expect_json("smelt.check/1", "check", path, code=INVALID_MODEL)
        self.assertFalse(report["supported"])
        self.assertEqual(len(report["problems"]), 2)
        nodes = {node["name"]: (node["op"], node["supported"]) for node in report["nodes"]}
        expected = {"first": ("Frobnicate", False), "fine": ("Relu", True), "second": ("Gloop", False)}
        self.assertEqual(nodes, expected)

    def test_a_supported_model(self):
        path = self.save(support.scale_model())
        report = self.expect_json("smelt.check/1", "check", path)
        self.assertEqual((report["supported"], report["problems"]), (True, []))
        self.assertEqual([node["supported"] for node in report["nodes"]], [True, True])

    def test_cycle(self):
        nodes = [
            helper.make_node("Add", ["x", "b"], ["a"], name="one"),
            helper.make_node("Relu", ["a"], ["b"], name="two"),
        ]
        info = [support.tensor_info("x", [4]), support.tensor_info("b", [4])]
        self.refuse(
            self.save(support.model(nodes, info[:1], info[1:])), "depends on itself", "one", "two"
        )

    def test_duplicated_names(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["y"])]
        info = [support.tensor_info(name, [4]) for name in "xy"]
        self.refuse(self.save(support.model(nodes, info[:1], info[1:])), "'y'")

    def test_undefined_name(self):
        node = helper.make_node("Add", ["x", "ghost"], ["y"], name="adder")
        info = [support.tensor_info(name, [4]) for name in "xy"]
        self.refuse(self.save(support.model([node], info[:1], info[1:])), "ghost", "adder")

    def test_shapes_that_contradict(self):
        node = helper.make_node("MatMul", ["x", "w"], ["y"], name="/product")
        weight = support.constant("w", np.zeros((5, 3), np.float32))
        inputs, outputs = [support.tensor_info("x", [2, 4])], [support.tensor_info("y", [2, 3])]
        self.refuse(
            self.save(support.model([node], inputs, outputs, [weight])), "/product", "4", "5"
        )

    def test_types_that_contradict(self):
        node = helper.make_node("Add", ["x", "w"], ["y"], name="/sum")
        weight = support.constant("w", np.zeros(4, np.float16))
        info = [support.tensor_info(name, [4]) for name in "xy"]
        path = self.save(support.model([node], info[:1], info[1:], [weight]))
        self.refuse(path, "/sum", "'x' (float [4])", "'w' (float16 [4])")

    def test_declared_types_that_contradict(self):
        node = helper.make_node("Relu", ["x"], ["y"], name="/relu")
        inputs = [support.tensor_info("x", [2, 3])]
        output = support.tensor_info("y", [2, 3], TensorProto.INT64)
        path = self.save(support.model([node], inputs, [output]))
        self.refuse(path, "/relu", "'y'", "int64 [2, 3]", "float [2, 3]")

    def test_declared_shapes_that_contradict_are_a_warning(self):
        node = helper.make_node("Relu", ["x"], ["y"], name="/relu")
        inputs = [support.tensor_info("x", [2, 3])]
        path = self.save(support.model([node], inputs, [support.tensor_info("y", [5, 7])]))
        self.expect(OK, "check", path, says=("warning", "/relu", "'y'", "float [5, 7]", "float [2, 3]"))

    def test_inputs_without_a_shape(self):
        node = helper.make_node("Relu", ["x"], ["y"])
        infos = [support.tensor_info(name, None) for name in "xy"]
        path = self.save(support.model([node], infos[:1], infos[1:]))
        self.refuse(path, "input 'x': declares no shape", "--shape x=1x128")
        for command in ("check", "explain", "run", "bench", "compare"):
            device = () if command in ("check", "explain") else ("--device", "cpu")
            self.expect(OK, command, path, "--shape", "x=2x3", *device)
        self.expect(OK, "compile", path, "--shape", "x=2x?", "-o", "out.plan")
        self.assertIn("float32 [2, x_d1]", self.expect(OK, "inspect", "out.plan").stdout)

    def test_names_with_control_characters_are_escaped(self):
        node = helper.make_node("Frob\x1b[2Jnicate", ["x"], ["y"], name="a\nb\x9b")
        info = [support.tensor_info(name, [4]) for name in "xy"]
        path = self.save(support.model([node], info[:1], info[1:]))
        for command in ("check", "run", "explain"):
            done = self.expect(INVALID_MODEL, command, path)
            self.assertIn("Frob\\x1b[2Jnicate", done.stdout + done.stderr)
            self.assertIn("'a\\x0ab\\x9b'", done.stdout + done.stderr)

    def test_json_has_names_as_they_are(self):
        nodes = [
            helper.make_node("Transpose", ["x"], ["y"], name="a\nb", perm=[0, 0]),
            helper.make_node("Transpose", ["x"], ["z"], name="plain", perm=[0, 0]),
        ]
        info = [support.tensor_info(name, [4, 4]) for name in "xyz"]
        path = self.save(support.model(nodes, info[:1], info[1:]))
        report = self.expect_json("smelt.check/1", "check", path, code=INVALID_MODEL)
        self.assertEqual([problem["place"] for problem in report["problems"]], ["a\nb", "plain"])
        nodes = {node["name"]: node["supported"] for node in report["nodes"]}
        self.assertEqual(nodes, {"a\nb": False, "plain": False})
        done = self.expect(INVALID_MODEL, "check", path)
        self.assertIn("node 'a\\x0ab': ", done.stdout)

    @unittest.skipUnless((SHARED / "onnx/torchscript_mixed_types.onnx").exists(), "developer data")
    def test_the_half_precision_export_that_mixes_types(self):
        path = SHARED / "onnx/torchscript_mixed_types.onnx"
        done = self.expect(INVALID_MODEL, "check", path, "--random-weights", "0")
        self.assertIn("float16", done.stdout)
        self.assertIn("the float first appears", done.stdout)

    def test_dimensions_that_overflow(self):
        for dims in ([2**40, 2**40], [-5, 2]):
            tensor = TensorProto(data_type=TensorProto.FLOAT, name="w", dims=dims, raw_data=b"1234")
            node = helper.make_node("Add", ["x", "w"], ["y"])
            info = [support.tensor_info(name, [4]) for name in "xy"]
            self.refuse(self.save(support.model([node], info[:1], info[1:], [tensor])), "w")

    def test_data_that_does_not_fill_its_shape(self):
        tensor = TensorProto(data_type=TensorProto.FLOAT, name="w", dims=[4], raw_data=b"12345678")
        node = helper.make_node("Add", ["x", "w"], ["y"])
        info = [support.tensor_info(name, [4]) for name in "xy"]
        self.refuse(
            self.save(support.model([node], info[:1], info[1:], [tensor])),
            "'w'",
            "needs 16 bytes",
            "has 8",
        )


class ExternalData(CliTest):
    """Weights in files beside the model: found, checked, and never outside the model's folder."""

    def external_model(self, location, length=1024, offset=0):
        tensor = TensorProto(data_type=TensorProto.FLOAT, name="w", dims=[256])
        tensor.data_location = TensorProto.EXTERNAL
        fields = {"location": location, "offset": str(offset), "length": str(length)}
        for key, value in fields.items():
            tensor.external_data.add(key=key, value=value)
        node = helper.make_node("Add", ["x", "w"], ["y"])
        info = [support.tensor_info(name, [256]) for name in "xy"]
        (self.folder / "inner").mkdir(exist_ok=True)
        return self.save(support.model([node], info[:1], info[1:], [tensor]), "inner/model.onnx")

    def refuse(self, path, *says):
        for command in ("check", "run"):
            done = self.expect(INVALID_MODEL, command, path)
            for part in says:
                self.assertIn(part, done.stdout + done.stderr)

    def test_a_good_file_is_read(self):
        weights = np.arange(256, dtype=np.float32)
        path = self.external_model("weights.bin")
        (self.folder / "inner/weights.bin").write_bytes(weights.tobytes())
        x = self.array("x", np.zeros(256, np.float32))
        run = ("run", path, "--device", "cpu", "--input", f"x=@{x}", "--output", "y=@y.npy")
        self.expect(OK, *run)
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), weights)

    def test_missing(self):
        path = self.external_model("weights.bin")
        self.refuse(path, "weights.bin")
        self.expect(OK, "run", path, "--device", "cpu", "--random-weights", 3)

    def test_short(self):
        path = self.external_model("weights.bin")
        (self.folder / "inner/weights.bin").write_bytes(bytes(1000))
        self.refuse(path, "weights.bin")

    def test_ranges_outside_the_file(self):
        (self.folder / "inner").mkdir()
        (self.folder / "inner/weights.bin").write_bytes(bytes(1024))
        for offset in (4, 2**63, 2**64 - 512, -1):
            self.refuse(self.external_model("weights.bin", offset=offset))
        self.refuse(self.external_model("weights.bin", length=2**64 - 1))

    def test_outside_the_folder(self):
        (self.folder / "outside.bin").write_bytes(bytes(1024))
        self.refuse(self.external_model("../outside.bin"), "outside.bin")
        self.refuse(self.external_model("sub/../../outside.bin"), "outside.bin")
        self.refuse(self.external_model(str(self.folder / "outside.bin")), "outside.bin")
        os.symlink(self.folder / "outside.bin", self.folder / "inner/link.bin")
        self.refuse(self.external_model("link.bin"), "link.bin")


if __name__ == "__main__":
    support.main()
