"""Models of very many nodes: the compiler's time stays in proportion, and nothing recurses over the model.

usage: long_chain_test.py [LENGTH]     chains of LENGTH nodes, 15 s and 2 GB each (without: growth from 5,000 to 10,000)
"""

import os
import resource
import subprocess
import sys
import unittest

from onnx import helper

import chains
import support
from support import OK, CliTest

LENGTH = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else None
COMPILE = ("compile", "--arch", "sm_90a", "-o", "chain.plan")
OPERATORS = ("Tanh", "Sigmoid", "Relu")
MOST_SECONDS = 12  # of processor time, slower cores as many times longer; what is quadratic in the nodes takes twice as long at least


def chain(length, shape):
    names = ["x", *(f"t{i}" for i in range(1, length)), "y"]
    nodes = [
        helper.make_node(OPERATORS[i % 3], names[i : i + 1], names[i + 1 : i + 2])
        for i in range(length)
    ]
    return support.model(
        nodes, [support.tensor_info("x", shape)], [support.tensor_info("y", shape)]
    )


def view_chain(length):
    """Transpose, Tanh and the transpose back, again and again."""
    nodes = []
    for i in range(length):
        back = {} if i % 3 == 1 else {"perm": [1, 0, 2]}
        op = "Tanh" if i % 3 == 1 else "Transpose"
        nodes.append(helper.make_node(op, [f"t{i}"], [f"t{i + 1}"], **back))
    infos = [support.tensor_info(name, ["b", "s", 16]) for name in ("t0", f"t{length}")]
    return support.model(nodes, infos[:1], infos[1:])


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Growth(CliTest):
    def cost(self, path, *command):
        """Seconds of processor time and peak MB of one run of `smelt`."""
        line = [support.SMELT, *command, str(path)]
        process = subprocess.Popen(line, env=self.environment, cwd=self.folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, OK, line)
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def each(self):
        for number, (name, kind) in enumerate(chains.KINDS.items()):
            for rows in ("n", 4) if LENGTH else (("n", 4)[number % 2],):
                yield name, rows, lambda length: self.save(kind(length, rows))

    @unittest.skipIf(LENGTH, "one length is given")
    def test_time_grows_with_the_length(self):
        """Twice the nodes take twice the time; the quadratic take four times. What fails is measured again."""
        for name, rows, save in self.each():
            ratios = []
            while len(ratios) < 3 and min(ratios, default=3) > 2.6:
                seconds = [self.cost(save(length), *COMPILE)[0] for length in (5_000, 10_000)]
                ratios.append(seconds[1] / seconds[0])
            self.assertLess(min(ratios), 2.6, name)

    @unittest.skipUnless(LENGTH, "no length is given")
    def test_length(self):
        for name, rows, save in self.each():
            path = save(LENGTH)
            for command in (COMPILE, ("check",), ("explain",)):
                seconds, megabytes = self.cost(path, *command)
                print(f"{name} [{rows}] {command[0]}: {seconds:.1f} s, {megabytes:.0f} MB", file=sys.stderr)
                self.assertLess(seconds, 15)
                self.assertLess(megabytes, 2_000)


class LongChain(CliTest):
    def test_static_sizes(self):
        path = self.save(chain(20_000, [8]))
        before = processor_seconds()
        for emit in ("mlir", "cuda"):
            self.expect(OK, "compile", path, "--emit", emit, "-o", f"out.{emit}")
        self.assertLess(processor_seconds() - before, MOST_SECONDS * support.slowness())

    def test_views_sink_in_linear_time(self):
        """Each view meets its inverse; four times the nodes take four times as long, not sixteen."""
        seconds = []
        for length in (3_000, 12_000):
            path = self.save(view_chain(length))
            before = processor_seconds()
            self.expect(OK, "compile", path, "--emit", "mlir", "-o", "out.mlir")
            seconds.append(processor_seconds() - before)
        self.assertLess(seconds[1], 8 * seconds[0] + 0.5)

    def test_kernels_are_limited(self):
        path = self.save(chain(20_000, [8]))
        report = self.expect_json("smelt.explain/1", "explain", path)
        self.assertGreaterEqual(report["counts"]["kernels"], 20_000 // 256)

    def test_dynamic_sizes(self):
        path = self.save(chain(150_000, ["n"]))
        self.expect(OK, "compile", path, "--emit", "cuda", "-o", "out.cu")


if __name__ == "__main__":
    support.main()
