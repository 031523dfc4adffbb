"""--timeout and --max-memory: `smelt` ends with code 5, says what it was doing, and leaves no unfinished file behind."""

import json
import random
import sys
import time

import numpy as np
from onnx import TensorProto, helper

import support
from support import OK, RESOURCES, USAGE, CliTest

SLACK = 10  # seconds that a process may take to end, on a busy machine
FLAGS = {"--timeout": ["0", "-1", "nan", "inf", "soon", ""], "--max-memory": ["0", "-1", "1.5G", "4GB", "much", "16777216T"]}


def long_chain(count=3000):
    """Of unlike ops, so that passes have something to do."""
    ops = ["Relu", "Tanh", "Neg", "Sigmoid", "Exp", "Softmax"]
    nodes = [helper.make_node(ops[i * 7 % len(ops)], [f"x{i}"], [f"x{i + 1}"]) for i in range(count)]
    infos = [support.tensor_info(f"x{i}", ["n", 8]) for i in (0, count)]
    return support.model(nodes, infos[:1], infos[1:])


def powers(count=64):
    """Of a matrix: minutes of work for the interpreter, on a small input."""
    nodes = [helper.make_node("MatMul", ["x0", f"x{i}"], [f"x{i + 1}"]) for i in range(count)]
    infos = [support.tensor_info(f"x{i}", ["n", "n"]) for i in (0, count)]
    return support.model(nodes, infos[:1], infos[1:])


class Limits(CliTest):
    def left_behind(self):
        return [file for file in self.folder.rglob("*") if ".tmp" in file.name or file.suffix == ".plan"]

    def limited(self, flag, value, *arguments, json_too=False):
        """Runs within a limit. What it was doing when that was reached; None where it was not."""
        done = self.smelt(*arguments, flag, value, *(["--json"] if json_too else []))
        shown = f"{arguments} {flag} {value}\n{done.stdout}{done.stderr}"
        self.assertIn(done.returncode, (OK, RESOURCES), shown)
        if done.returncode == OK:
            return None
        for whole in self.folder.glob("*.plan"):  # the limit was reached behind its last byte
            self.expect(OK, "inspect", whole)
            whole.unlink()
        self.assertEqual(self.left_behind(), [], shown)
        self.assertIn(flag, done.stderr, shown)
        if json_too:
            report = json.loads(done.stdout)
            self.assertEqual((report["schema"], report["code"]), ("smelt.error/1", RESOURCES))
            self.assertIn(flag, report["message"])
        return done.stderr.rpartition(" while ")[2].strip()


class Flags(Limits):
    def test_values_that_are_no_limit(self):
        model = self.save(support.scale_model())
        for flag, values in FLAGS.items():
            for value in values:
                self.expect(USAGE, "check", model, f"{flag}={value}", says=flag)

    def test_wide_limits_change_nothing(self):
        model = self.save(support.scale_model())
        for command in (("check", model), ("explain", model), ("run", model, "--device", "cpu"), ("compare", model, "--device", "cpu")):
            plain, limited = self.smelt(*command), self.smelt(*command, "--timeout", "3600", "--max-memory", "1T")
            self.assertEqual((plain.returncode, limited.returncode), (OK, OK), limited.stderr)
            if command[0] != "compare":
                self.assertEqual(plain.stdout, limited.stdout)


class Timeout(Limits):
    def test_stops_a_compilation_wherever_it_is(self):
        model = self.save(support.many_kernels())
        plan, start = self.folder / "out.plan", time.monotonic()
        self.expect(OK, "compile", model, "-o", plan)
        whole = time.monotonic() - start
        plan.unlink()
        seed = random.randrange(1 << 32)
        draw, doing = random.Random(seed), []
        for i in range(12):
            self.environment["SMELT_CACHE_DIR"] = str(self.folder / f"cache{i}")
            seconds = draw.uniform(0.001, whole / 2)
            doing.append(self.limited("--timeout", seconds, "compile", model, "-o", plan, json_too=i % 2))
            plan.unlink(missing_ok=True)
        reached = [what for what in doing if what]
        self.assertGreater(len(reached), 3, f"seed {seed}: {doing}")
        self.assertTrue(any("compiling the kernel" in what and "for sm_90a" in what for what in reached), doing)
        print(f"{len(reached)} of {len(doing)} stopped, seed {seed}", file=sys.stderr)

    def test_names_the_pass(self):
        model = self.save(long_chain())
        doing = {self.limited("--timeout", seconds, "explain", model) for seconds in np.geomspace(0.02, 2, 12)}
        self.assertTrue(any(what and what.startswith("running the pass smelt-") for what in doing), doing)

    def test_names_the_import(self):
        model = self.save(long_chain(30000))
        doing = [self.limited("--timeout", seconds, "check", model) for seconds in np.geomspace(0.02, 1, 8)]
        self.assertTrue(any(what and what.startswith("importing ") for what in doing), doing)

    def test_stops_what_never_looks_up(self):
        model = self.save(powers())
        shapes = ("--device", "cpu", "--shape", "x0=2500x2500")
        for command, doing in (("run", "running the model"), ("compare", "running the model"), ("bench", "measuring")):
            start = time.monotonic()
            self.assertIn(doing, self.limited("--timeout", 5, command, model, *shapes))
            self.assertLess(time.monotonic() - start, 5 + SLACK)


class MaxMemory(Limits):
    def test_stops_wherever_memory_runs_out(self):
        model = self.save(support.many_kernels())
        plan, doing = self.folder / "out.plan", []
        for megabytes in (1, 10, 20, 30, 40, 50, 60, 80, 100, 150, 200):
            self.environment["SMELT_CACHE_DIR"] = str(self.folder / f"cache{megabytes}")
            doing.append(self.limited("--max-memory", f"{megabytes}M", "compile", model, "-o", plan, json_too=megabytes % 20))
            plan.unlink(missing_ok=True)
        self.assertTrue(doing[0], doing)

    def test_names_what_took_it(self):
        model = self.save(support.first_row_model("n", "m"))
        run = ("run", model, "--device", "cpu", "--shape", "x=20000x20000")
        self.assertEqual(self.limited("--max-memory", "500M", *run), "reading and drawing the inputs")
        model = self.save(long_chain(20000))
        self.assertRegex(self.limited("--max-memory", "60M", "explain", model), "importing|running the pass smelt-")

    def test_mapped_weights_do_not_count(self):
        weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[64, 1 << 20], data_location=TensorProto.EXTERNAL)
        weights.external_data.add(key="location", value="weights.bin")
        with open(self.folder / "weights.bin", "wb") as file:
            for _ in range(64):
                file.write(np.random.default_rng(7).normal(size=1 << 20).astype(np.float32).tobytes())
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
        infos = [support.tensor_info("x", ["n", 64]), support.tensor_info("y", ["n", 1 << 20])]
        model = self.save(support.model([node], infos[:1], infos[1:], [weights]))
        self.expect(OK, "compile", model, "-o", "out.plan", "--max-memory", "200M")


if __name__ == "__main__":
    support.main()
