"""Inputs and outputs in .npz files, as numpy.savez and savez_compressed write them; archives that are none or damaged."""

import io
import os
import zipfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import support
from support import OK, USAGE, CliTest

# The sanitizers' build, which has no driver to open by name, takes memory of its own.
IS_SANITIZED = not Path(os.environ["FAKE_DRIVER"], "libcuda.so.1").exists()


def two_inputs():
    """sum = a + b, of a name with a slash; product = a * b."""
    nodes = [helper.make_node("Add", ["a", "b"], ["scope/sum"]), helper.make_node("Mul", ["a", "b"], ["produkt_ä"])]
    infos = [support.tensor_info(name, ["n", 3]) for name in ("a", "b", "scope/sum", "produkt_ä")]
    return support.model(nodes, infos[:2], infos[2:])


def member_bytes(value):
    stream = io.BytesIO()
    np.save(stream, value)
    return stream.getvalue()


class Npz(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.save(two_inputs())
        draw = np.random.default_rng(0)
        self.a, self.b = (draw.normal(size=(5, 3)).astype(np.float32) for _ in range(2))
        self.inputs = self.folder / "inputs.npz"
        self.outputs = self.folder / "outputs.npz"

    def run_model(self, code, *flags, says=()):
        return self.expect(code, "run", self.model, "--device", "cpu", *flags, says=says)

    def check_outputs(self):
        with np.load(self.outputs) as outputs:
            self.assertEqual(outputs.files, ["scope/sum", "produkt_ä"])
            np.testing.assert_array_equal(outputs["scope/sum"], self.a + self.b)
            np.testing.assert_array_equal(outputs["produkt_ä"], self.a * self.b)
        self.assertIsNone(zipfile.ZipFile(self.outputs).testzip())

    def test_inputs_and_outputs_by_their_names(self):
        for save in (np.savez, np.savez_compressed):
            save(self.inputs, b=self.b, a=self.a)
            self.run_model(OK, "--input", f"@{self.inputs}", "--output", f"@{self.outputs}")
            self.check_outputs()

    def test_one_array_of_a_file(self):
        np.savez(self.inputs, a=self.a, other=self.b)
        alone = self.folder / "alone.npz"
        np.savez(alone, self.b)  # which is called arr_0
        inputs = ("--input", f"a=@{self.inputs}", "--input", f"b=@{alone}")
        self.run_model(OK, *inputs, "--output", f"@{self.outputs}")
        self.check_outputs()

    def test_inputs_that_are_missing_are_drawn(self):
        np.savez(self.inputs, a=self.a)
        self.run_model(OK, "--input", f"@{self.inputs}", "--output", f"@{self.outputs}")
        with np.load(self.outputs) as outputs:
            self.assertEqual(outputs["scope/sum"].shape, (5, 3))

    def test_compare_and_bench_take_them(self):
        np.savez(self.inputs, a=self.a, b=self.b)
        given = ("--device", "cpu", "--input", f"@{self.inputs}")
        report = self.expect_json("smelt.compare/1", "compare", self.model, *given)
        self.assertEqual(report["outputs"][0]["shape"], [5, 3])
        report = self.expect_json("smelt.bench/1", "bench", self.model, *given, "--iterations", 1, "--duration", 0.01)
        self.assertEqual(report["shapes"], {"a": [5, 3], "b": [5, 3]})

    def test_values_that_a_model_is_compiled_for(self):
        node = helper.make_node("Squeeze", ["x", "axes"], ["y"])
        infos = [support.tensor_info("x", [1, 4, 1]), support.tensor_info("axes", [1], TensorProto.INT64)]
        model = self.save(support.model([node], infos, [support.tensor_info("y", None)]), "squeeze.onnx")
        np.savez(self.inputs, axes=np.array([2]))
        report = self.expect_json("smelt.run/1", "run", model, "--device", "cpu", "--input", f"@{self.inputs}")
        self.assertEqual(report["outputs"][0]["shape"], [1, 4])
        self.expect(OK, "compile", model, "-o", self.folder / "m.plan", "--value", f"@{self.inputs}")

    def test_names_that_the_model_lacks(self):
        np.savez(self.inputs, a=self.a, c=self.b)
        self.run_model(USAGE, "--input", f"@{self.inputs}", says=("no input 'c'", "'a'"))
        self.run_model(USAGE, "--input", f"b=@{self.inputs}", says=("no array called 'b'", "a, c"))
        np.savez(self.inputs, a=self.a)
        self.run_model(USAGE, "--input", f"@{self.inputs}", "--input", f"a=@{self.inputs}", says="'a' is given twice")

    def archive(self, members, compression=zipfile.ZIP_STORED):
        with zipfile.ZipFile(self.inputs, "w", compression) as archive:
            for name, content in members:
                archive.writestr(name, content)
        return self.inputs.read_bytes()

    def refuse(self, says):
        self.run_model(USAGE, "--input", f"@{self.inputs}", says=("inputs.npz", says))

    def test_what_is_no_archive_of_arrays(self):
        good = member_bytes(self.a)
        self.run_model(USAGE, "--input", "@nowhere.npz", says="nowhere.npz")
        self.write("inputs.npz", b"no archive")
        self.refuse("no .npz file")
        np.savez(self.inputs)
        self.refuse("no .npz file")
        self.archive([("a.txt", b"text")])
        self.refuse("'a.txt' is no .npy file")
        self.archive([("a.npy", b"text")])
        self.refuse("array 'a': is not a .npy file")
        self.archive([("a.npy", member_bytes(self.a.astype(np.complex64)))])
        self.refuse("'<c8'")
        self.archive([("a.npy", member_bytes(np.array([{}])))])
        self.refuse("'|O'")
        self.archive([("a.npy", good)], zipfile.ZIP_LZMA)
        self.refuse("packed by method 14")
        bytes = bytearray(self.archive([("a.npy", good)]))
        directory = bytes.rindex(b"PK\1\2")
        bytes[directory + 8] |= 1  # the flag of encryption
        self.write("inputs.npz", bytes)
        self.refuse("encrypted")

    def test_an_archive_with_two_arrays_of_one_name(self):
        with self.assertWarns(UserWarning):
            self.archive([("a.npy", member_bytes(self.a)), ("a.npy", member_bytes(self.b))])
        self.refuse("two arrays called 'a'")

    def test_damage_is_found(self):
        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            good = self.archive([("a.npy", member_bytes(self.a))], compression)
            # Of the last four bytes two are zeros anyway, and two the length of a comment that is not there.
            for cut in [*range(0, len(good) - 22, 17), *range(len(good) - 22, len(good) - 4)]:
                self.inputs.write_bytes(good[:cut])
                self.refuse("")
        good = self.archive([("a.npy", member_bytes(self.a))])
        inside = good.index(self.a.tobytes()) + 5
        self.inputs.write_bytes(good[:inside] + bytes([good[inside] ^ 1]) + good[inside + 1 :])
        self.refuse("array 'a' is damaged")

    def test_a_size_that_is_claimed_is_not_believed(self):
        bytes = bytearray(self.archive([("a.npy", member_bytes(self.a))], zipfile.ZIP_DEFLATED))
        directory = bytes.rindex(b"PK\1\2")
        bytes[directory + 24 : directory + 28] = (0xFFFFFFF0).to_bytes(4, "little")
        self.write("inputs.npz", bytes)
        limit = [] if IS_SANITIZED else ["--max-memory", "1G"]
        self.run_model(USAGE, "--input", f"@{self.inputs}", *limit, says="array 'a' is damaged")

    def test_outputs_appear_whole_or_not_at_all(self):
        self.run_model(USAGE, "--output", f"@{self.model}.npz/x.txt", says="write NAME=@FILE.npy or @FILE.npz")
        self.run_model(support.RESOURCES, "--output", "@nowhere/x.npz", says="nowhere")
        self.assertEqual([path.name for path in self.folder.glob("*.npz*")], [])


if __name__ == "__main__":
    support.main()
