"""Texts that nest deeper than a parser's stack: IR in dumps and in plans, JSON. They are refused, or left alone, and crash nothing."""

import os
import subprocess
import unittest
from itertools import accumulate

from onnx import TensorProto, helper

import support
from support import INVALID_MODEL, OK, PLAN, RUN_FAILED, USAGE, CliTest

DEPTH = 100000
# What is put before and behind something to have it one level down, in an attribute.
LEVELS = {
    "arrays": ("[", "]"),
    "dictionaries": ("{a = ", "}"),
    "tuples": ("tuple<", ">"),
    "functions": ("() -> (", ")"),
    "sizes": ("!smelt.tensor<[(", ")], f32>"),
    "minima": ("min(", ", q)"),
}


def module(attribute, before=""):
    return before + "module attributes {func.a = " + attribute + "} {}\n"


def texts():
    """Each with what the refusal says."""
    too_deep = "brackets nest more than 256 deep, which no text that smelt writes does; compile the model again"
    for name, (before, behind) in LEVELS.items():
        yield name, module(before * DEPTH + "i1" + behind * DEPTH), too_deep
    yield "elements", module("dense<" + "[" * DEPTH + "1" + "]" * DEPTH + "> : tensor<" + "1x" * DEPTH + "i8>"), too_deep
    yield "regions", "module {\n" * DEPTH + "}\n" * DEPTH, too_deep
    yield "generic regions", '"builtin.module"() ({\n' * DEPTH + "}) : () -> ()\n" * DEPTH, too_deep
    yield "locations", "module {} loc(" + "callsite(unknown at " * DEPTH + "unknown" + ")" * DEPTH + ")\n", too_deep
    aliases = "#a0 = []\n" + "".join(f"#a{i + 1} = [#a{i}]\n" for i in range(DEPTH))
    yield "aliases", module(f"#a{DEPTH}", aliases), "'#a0' is an alias, of which smelt writes and reads none"
    types = "!a0 = i1\n" + "".join(f"!a{i + 1} = tuple<!a{i}>\n" for i in range(DEPTH))
    yield "aliases of types", module(f"!a{DEPTH}", types), "'!a0' is an alias"
    yield "an affine map", module("affine_map<(d0) -> (" + "-" * DEPTH + "d0)>"), "affine_map is in no text that smelt writes"
    sums = "*".join(f"(a{i} + b{i})" for i in range(64))
    yield "a product of sums", module(f"!smelt.tensor<[{sums}], f32>"), "a product of sizes has more than 4096 terms"


def function(name, called):
    node = helper.make_node(called, ["a"], ["b"], name=f"/{name}", domain="" if called == "Relu" else "local")
    return helper.make_function("local", name, ["a"], ["b"], [node], [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])


def nested_functions(depth):
    """y = Relu(x), by functions that call one another."""
    made = support.model([helper.make_node("F0", ["x"], ["y"], name="/call", domain="local")], [support.tensor_info("x", (4,))], [support.tensor_info("y", (4,))])
    made.functions.extend(function(f"F{i}", f"F{i + 1}" if i + 1 < depth else "Relu") for i in range(depth))
    made.opset_import.append(helper.make_opsetid("local", 1))
    return made


def nested_graphs(depth):
    """y = x or Relu(x), by branches in branches whose conditions the model is given."""
    nodes = [helper.make_node("Relu", ["x"], ["y0"], name="/Relu")]
    for i in range(1, depth + 1):
        out = lambda: [support.tensor_info(f"y{i - 1}", (4,))]
        other = helper.make_graph([helper.make_node("Neg", ["x"], [f"y{i - 1}"], name=f"/Neg{i}")], "else", [], out())
        then = helper.make_graph(nodes, "then", [], out())
        nodes = [helper.make_node("If", ["c"], [f"y{i}"], name=f"/If{i}", then_branch=then, else_branch=other)]
    inputs = [support.tensor_info("x", (4,)), helper.make_tensor_value_info("c", TensorProto.BOOL, ())]
    return support.model(nodes, inputs, [support.tensor_info(f"y{depth}", (4,))])


class NestedTexts(CliTest):
    def write(self, text):
        path = self.folder / "nested.mlir"
        path.write_text(text)
        return path

    def test_dumps_are_refused(self):
        for name, text, says in texts():
            path = self.write(text)
            for command in (("compile", path, "-o", self.folder / "out.plan"), ("explain", path)):
                with self.subTest(name, command=command[0]):
                    self.expect(INVALID_MODEL, *command, says=("nested.mlir", says))
        self.assertFalse((self.folder / "out.plan").exists())

    def test_bytecode_is_refused(self):
        path = self.folder / "nested.mlir"
        path.write_bytes(b"ML\xefR" + bytes(64))
        self.expect(INVALID_MODEL, "explain", path, says=("nested.mlir", "is MLIR's bytecode, and smelt reads text"))

    def test_dumps_of_models_that_nest_as_deep_as_they_may_are_read(self):
        dump = self.folder / "dump.mlir"
        for name, model in (("functions", nested_functions(99)), ("graphs", nested_graphs(30))):
            with self.subTest(name):
                self.expect(OK, "compile", self.save(model), "--emit", "mlir", "-o", dump)
                self.expect(OK, "compile", dump, "--emit", "mlir", "-o", self.folder / "again.mlir")
                self.assertLess(max(accumulate((char in "([{<") - (char in ")]}>") for char in dump.read_text().replace("->", ""))), 128)

    def test_json_is_refused(self):
        path = self.folder / "nested.json"
        model = self.save(support.scale_model())
        plan = self.folder / "model.plan"
        self.expect(OK, "compile", model, "-o", plan)
        for text in ("[" * DEPTH, '{"a": "' + "]" * DEPTH + '", "b": ' + "[" * DEPTH):
            path.write_text(text)
            self.expect(PLAN, "compile", model, "--tuning", path, "-o", self.folder / "out.plan", says="nested.json")
            self.expect(USAGE, "report", plan, "--profile", path, "-o", self.folder / "page.html", says=("nested.json is no JSON", "more than 64 deep"))
        self.assertFalse((self.folder / "page.html").exists())

    @unittest.skipUnless(os.environ.get("MAKE_PLAN"), "the sanitizers' build makes no plans for tests")
    def test_plans_are_shown_without_it(self):
        plain = self.folder / "plain.plan"
        subprocess.run([os.environ["MAKE_PLAN"], plain], check=True)
        for name, text, _ in texts():
            with self.subTest(name):
                plan = self.folder / "nested.plan"
                subprocess.run([os.environ["MAKE_PLAN"], plan, "ir", self.write(text)], check=True)
                self.assertIn("model add_scale", self.expect(OK, "inspect", plan).stdout)
                self.expect(RUN_FAILED, "diff", plain, plan, says="the plans differ in 1 thing")


if __name__ == "__main__":
    support.main()
