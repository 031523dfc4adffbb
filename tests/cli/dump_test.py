"""smelt compile --dump-dir: the IR after phases or passes, an index with their times, remarks."""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import support
from support import INVALID_MODEL, OK, SMELT, USAGE, CliTest


def softmax_model():
    """A softmax by its formula, of a product."""
    w = support.constant("w", np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="/MatMul"),
        helper.make_node("ReduceMax", ["a"], ["m"], axes=[-1], keepdims=1, name="/ReduceMax"),
        helper.make_node("Sub", ["a", "m"], ["d"], name="/Sub"),
        helper.make_node("Exp", ["d"], ["e"], name="/Exp"),
        helper.make_node("ReduceSum", ["e", "axes"], ["s"], keepdims=1, name="/ReduceSum"),
        helper.make_node("Div", ["e", "s"], ["y"], name="/Div"),
    ]
    infos = [support.tensor_info(name, ["n", 64]) for name in ("x", "y")]
    return support.model(nodes, infos[:1], infos[1:], [w, support.constant("axes", np.array([-1], np.int64))])


class Dumps(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.save(softmax_model())
        self.dump = self.folder / "dump"
        self.fused = self.expect(OK, "compile", self.model, "--emit", "mlir").stdout

    def compile(self, *flags):
        self.expect(OK, "compile", self.model, "--emit", "mlir", "--dump-dir", self.dump, *flags)
        return [line.split() for line in (self.dump / "index.txt").read_text().splitlines()]

    def files(self):
        return sorted(path.name for path in self.dump.glob("*.mlir"))

    def test_phases_that_change_nothing_are_not_written_twice(self):
        index = self.compile()
        phases = {words[1]: words[2:] for words in index if words[0] == "phase"}
        self.assertEqual(list(phases), ["import", "simplify", "raise", "fuse", "lower"])
        self.assertEqual(phases["raise"], ["02_raise.mlir"])
        self.assertEqual(phases["lower"], ["changed", "nothing:", "04_fuse.mlir"])
        self.assertEqual(self.files(), sorted({words[-1] for words in phases.values()}))

    def test_a_file_after_every_pass_that_changed_something(self):
        index = self.compile("--every", "pass")
        passes = [words for words in index if "pass" in words]
        written = {words[3]: words[4] for words in passes if words[4:] != ["changed", "nothing"]}
        number = 1 + next(i for i, words in enumerate(passes) if words[3] == "raise-softmax")
        self.assertEqual(written["raise-softmax"], f"{number:02}_raise-softmax.mlir")
        self.assertNotIn("fuse-selection", written)
        self.assertEqual(self.files(), sorted({"00_import.mlir", *written.values()}))
        self.assertIn("smelt.softmax", (self.dump / written["raise-softmax"]).read_text())
        self.assertTrue(all(float(words[0]) >= 0 and words[1] == "s" for words in passes))

    def test_one_goes_on_from_where_phases_end_and_is_told_so_elsewhere(self):
        index = self.compile("--every", "pass")
        ends = {words[-1] for words in index if words[0] == "phase"}
        self.assertGreaterEqual(len(ends), 3)
        self.assertGreater(len(self.files()), len(ends))
        for name in self.files():
            again = ("compile", self.dump / name, "--emit", "mlir")
            if name in ends:
                self.assertEqual(self.expect(OK, *again).stdout, self.fused, name)
            else:
                self.expect(USAGE, *again, says=("in the middle of a phase", "index.txt"))

    def test_remarks_have_a_file_of_their_own(self):
        self.compile("--every", "pass")
        remarks = (self.dump / "remarks.txt").read_text().splitlines()
        self.assertTrue(any(line.startswith('taken "gemm" of "/MatMul" by ""') for line in remarks), remarks)
        self.assertTrue(any(re.fullmatch(r'refused ".+" of "/.+" by ".+", ".*"', line) for line in remarks), remarks)
        for name in self.files():
            self.assertNotIn("smelt.remark<", (self.dump / name).read_text(), name)

    def test_explain_of_a_dump_knows_what_passes_decided_before(self):
        proto = softmax_model()
        proto.graph.node[0].name = 'a "quoted"\nname'
        self.model = self.save(proto)
        explained = self.expect_json("smelt.explain/1", "explain", self.model)["nodes"]
        ends = {words[-1] for words in self.compile("--every", "pass") if words[0] == "phase"}
        for name in ends:
            again = self.expect_json("smelt.explain/1", "explain", self.dump / name)["nodes"]
            self.assertEqual(again, explained, name)
        (self.dump / "remarks.txt").unlink()
        told = self.expect(OK, "explain", self.dump / max(ends), says=("remarks.txt should hold", "is not known"))
        self.assertIn("/Sub", told.stdout)

    def test_values_are_called_as_the_weights_are(self):
        """After every pass alike, and no longer than what says which."""
        stem = "encoder.with.a.long.name.and.more.of.it.layer.{}.attention.output.dense.weight"
        draw = np.random.default_rng(0)
        names = ["w", "a/b", *(stem.format(layer) for layer in range(3))]
        weights = [support.constant(name, draw.normal(size=(64, 64)).astype(np.float32)) for name in names]
        nodes = [helper.make_node("MatMul", [f"x{i}", name], [f"p{i}"]) for i, name in enumerate(names)]
        nodes += [helper.make_node("Softmax", [f"p{i}"], [f"x{i + 1}"]) for i in range(len(names))]
        infos = [support.tensor_info(name, ["n", 64]) for name in ("x0", f"x{len(names)}")]
        self.model = self.save(support.model(sorted(nodes, key=lambda node: node.output[0][1:]), infos[:1], infos[1:], weights))
        self.compile("--every", "pass")
        called = {}
        for name in self.files():
            for value, weight in re.findall(r'(%\S+) = smelt\.weight "([^"]+)"', (self.dump / name).read_text()):
                called.setdefault(weight, set()).add(value)
        self.assertEqual(set(called), set(names))
        self.assertEqual([len(values) for values in called.values()], [1] * len(names))
        values = [values.pop() for values in called.values()]
        self.assertEqual(len(set(values)), len(names))
        self.assertLessEqual(max(map(len, values)), 33)
        self.assertEqual([called_so for called_so in values if len(called_so) < 6], ["%w", "%a_b"])
        self.assertTrue(all("dense.weight_" in value for value in values[2:]), values)

    def test_fusions_say_once_where_they_are(self):
        self.compile()
        text = (self.dump / self.files()[-1]).read_text()
        arguments = [line for line in text.splitlines() if line.lstrip().startswith("^bb0")]
        self.assertEqual(len(arguments), text.count("smelt.fusion"))
        self.assertFalse(any("/" in line for line in arguments), arguments)

    def test_every_needs_a_folder(self):
        self.expect(USAGE, "compile", self.model, "--every", "pass", says="--dump-dir")
        self.expect(USAGE, "compile", self.model, "--dump-dir", self.dump, "--every", "op", says="none of pass, phase")


class Kernels(CliTest):
    """What lies beside the CUDA text of each kernel, and that the text compiles alone."""

    ARCHES = ("sm_90a", "sm_80", "compute_80")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = cls.make_once()
        cls.model, cls.plan, cls.dump = made.save(softmax_model()), made.folder / "m.plan", made.folder / "dump"
        made.expect(OK, "compile", cls.model, "-o", cls.plan, "--arch", ",".join(cls.ARCHES), "--dump-dir", cls.dump)
        programs = made.expect_json("smelt.inspect/1", "inspect", cls.plan)["programs"]
        cls.launches = {program["arch"]: program["launches"] for program in programs}

    def texts(self, arch):
        return {re.match(r"[0-9.]+_(.*)", path.stem)[1]: path for path in (self.dump / arch).glob("*.cu")}

    def test_every_kernel_has_its_facts_as_inspect_tells_them(self):
        for arch in self.ARCHES:
            texts = self.texts(arch)
            self.assertEqual(set(texts), {launch["entry"] for launch in self.launches[arch]})
            for launch in self.launches[arch]:
                page = texts[launch["entry"]].with_suffix(".txt").read_text()
                self.assertIn(f": {launch['name']}\n", page)
                self.assertIn(f"blocks of {launch['block']} threads", page)
                if arch == "compute_80":
                    self.assertIn("PTX, which the driver translates", page)
                    continue
                facts = launch["machine_code"]
                self.assertRegex(page, rf"(?m)^registers +{facts['registers']} of a thread$")
                self.assertRegex(page, rf"(?m)^spills +0 bytes stored and loaded, {facts['local_bytes']} bytes of")
                static = facts["static_shared_bytes"]
                self.assertIn(f"{static} bytes static, {facts['shared_bytes'] - static} bytes dynamic", page)
                self.assertRegex(page, rf"(?m)^occupancy +{facts['blocks_per_multiprocessor']} blocks? on .* limited by {facts['limited_by']}$")

    def test_every_kernel_has_its_ptx(self):
        for arch, target in zip(self.ARCHES, ("sm_90a", "sm_80", "sm_80")):
            for entry, path in self.texts(arch).items():
                ptx = path.with_suffix(".ptx").read_text()
                self.assertRegex(ptx, rf"(?m)^\.target {target}$")
                self.assertIn(f".entry {entry}(", ptx)
                self.assertEqual(path.with_suffix(".cubin").exists(), arch != "compute_80")

    def test_the_printed_command_gives_the_code_of_the_plan(self):
        environment = {**self.made.environment, "PATH": f"{Path(SMELT).parent}:{os.environ['PATH']}"}
        for arch in self.ARCHES:
            for path in self.texts(arch).values():
                command = re.match(r"// alone, here: (.*)", path.read_text().splitlines()[1])[1]
                code = path.with_name(command.split()[-1])
                dumped = code.read_bytes()
                code.unlink()
                subprocess.run(command, shell=True, check=True, cwd=path.parent, env=environment, capture_output=True)
                self.assertEqual(code.read_bytes(), dumped, command)
                self.assertRegex(path.with_suffix(".txt").read_text(), rf"(?m)^alone, here +{re.escape(command)}$")

    def test_changed_headers_count(self):
        path = next(path for entry, path in self.texts("sm_90a").items() if entry.startswith("rowwise"))
        headers = self.folder / "include"
        shutil.copytree(self.dump / "include", headers)
        said = self.expect(OK, "kernel", path, "--headers", headers).stdout
        self.assertRegex(said, r"^rowwise\w+: \d+ registers, 0 bytes spilled$")
        header = headers / "kernels/rowwise/rowwise.cuh"
        header.write_text(header.read_text() + "#error changed\n")
        self.expect(INVALID_MODEL, "kernel", path, "--headers", headers, says=("rowwise.cuh", "changed"))
        self.expect(OK, "kernel", path)  # Smelt's own headers

    def test_spills_are_told(self):
        live = "".join(f"float v{i} = in[{i}]; " for i in range(96)) + "__syncthreads(); "
        text = f"extern \"C\" __global__ void __launch_bounds__(1024, 2) k(volatile float *in) {{ {live}"
        text += "".join(f"in[{i}] = v{i} * v{95 - i}; " for i in range(96)) + "}\n"
        report = self.expect_json("smelt.kernel/1", "kernel", self.write("k.cu", text.encode()))
        self.assertEqual([kernel["entry"] for kernel in report["kernels"]], ["k"])
        self.assertLessEqual(report["kernels"][0]["registers"], 32)
        self.assertGreater(report["spill_bytes"], 0)
        self.assertGreater(report["kernels"][0]["local_bytes"], 0)

    def test_why_this_tile(self):
        w = support.constant("w", np.zeros((512, 512), np.float16))
        infos = [support.tensor_info(name, ["n", 512], TensorProto.FLOAT16) for name in ("x", "y")]
        model = self.save(support.model([helper.make_node("MatMul", ["x", "w"], ["y"])], infos[:1], infos[1:], [w]))
        self.expect(OK, "compile", model, "-o", "m.plan", "--dump-dir", "dump")
        products = self.expect_json("smelt.inspect/1", "inspect", "m.plan")["programs"][0]["launches"]
        self.assertGreater(len(products), 2)
        for launch in products:
            page = next((self.folder / "dump/sm_90a").glob(f"*{launch['entry']}.txt")).read_text()
            reasons = page.split("\nwhy this tile: ")[1:]
            mine = [text for text in reasons if text.startswith(launch["rule"]["text"] + ": ")]
            self.assertEqual(len(mine), 1, reasons)
            candidates = re.findall(r"(?m)^ +([0-9.]+) us  (.*)$", mine[0])
            times = [float(time) for time, _ in candidates]
            self.assertEqual(times, sorted(times))
            self.assertGreater(len(times), 3)
            chosen = [name for _, name in candidates if ": this one" in name]
            self.assertEqual([name.split(": this one")[0] in launch["name"] for name in chosen], [True])

    def test_without_a_plan_there_is_the_text_alone(self):
        dump = self.folder / "dump"
        self.expect(OK, "compile", self.model, "--emit", "mlir", "--dump-dir", dump)
        self.assertEqual({path.suffix for path in (dump / "sm_90a").iterdir()}, {".cu"})

    def test_what_is_no_kernel(self):
        path = next(iter(self.texts("sm_90a").values()))
        self.expect(USAGE, "kernel", self.folder / "none.cu", says=("none.cu", "cannot be read"))
        self.expect(USAGE, "kernel", path, "--headers", path, says="no folder")
        self.expect(USAGE, "kernel", path, "--arch", "sm_70", says="known are sm_80")
        self.expect(INVALID_MODEL, "kernel", self.write("bad.cu", b"int x = y;\n"), "-o", "bad.cubin", says=("bad.cu(1)", "undefined"))
        self.assertFalse((self.folder / "bad.cubin").exists())


if __name__ == "__main__":
    unittest.main()
