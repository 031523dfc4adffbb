"""tools/check_layers: each rule fires on a tree that breaks it, and only there."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "check_layers"


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, path: str, text: str):
        file = Path(self.folder.name) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def check(self) -> tuple[int, list[str]]:
        command = [sys.executable, str(SCRIPT), self.folder.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    def expect_clean(self):
        self.assertEqual(self.check(), (0, []))

    def expect(self, *starts: str):
        """Exactly these breaches, each given as the start of its line."""
        code, lines = self.check()
        self.assertEqual(code, 1)
        self.assertEqual(len(lines), len(starts), lines)
        for line, start in zip(lines, starts):
            self.assertTrue(line.startswith(start), f"{line!r} does not start with {start!r}")

    def test_a_clean_tree_passes(self):
        self.write("ir/dim.h", "#pragma once\n#include <vector>\n")
        self.write("frontend/import.cpp", '#include "ir/dim.h"\n#include "mlir/IR/Builders.h"\n')
        self.write("codegen/write_plan.cpp", '#include "runtime/plan_format.h"\n')
        self.write("tools/smelt/main.cpp", '#include "runtime/engine.h"\n#include <CLI/CLI.hpp>\n')
        self.expect_clean()

    def test_a_folder_may_not_include_a_later_one(self):
        self.write("frontend/import.cpp", '#include "ir/dim.h"\n#include "passes/pipeline.h"\n')
        self.expect("frontend/import.cpp:2: layers: frontend/ must not include")

    def test_codegen_sees_only_the_plan_format_of_the_runtime(self):
        self.write("codegen/write_plan.cpp", '#include "runtime/engine.h"\n')
        self.expect("codegen/write_plan.cpp:1: layers: codegen/ must not include")

    def test_the_runtime_knows_no_compiler_library(self):
        self.write("runtime/engine.cpp", "#include <llvm/Support/JSON.h>\n#include <cuda.h>\n")
        self.write("runtime/graph.cpp", "#include <google/protobuf/message_lite.h>\n")
        self.expect(
            "runtime/engine.cpp:1: layers: runtime/ knows nothing of mlir",
            "runtime/graph.cpp:1: layers: runtime/ knows nothing of protobuf",
        )

    def test_the_ir_knows_no_cuda(self):
        self.write("ir/interpret/run.cpp", "#include <Eigen/Core>\n#include <cuda.h>\n")
        self.expect("ir/interpret/run.cpp:2: layers: ir/ knows nothing of cuda")

    def test_the_compiler_library_knows_no_command_line(self):
        self.write("compiler/model.cpp", '#include "passes/pipeline.h"\n#include "runtime/text.h"\n')
        self.expect_clean()
        self.write("compiler/model.cpp", '#include "tools/smelt/report.h"\n#include <CLI/CLI.hpp>\n')
        self.expect(
            "compiler/model.cpp:1: layers: compiler/ must not include",
            "compiler/model.cpp:2: layers: compiler/ knows nothing of cli11",
        )
        self.write("compiler/model.cpp", "")
        self.write("codegen/compile.cpp", '#include "compiler/model.h"\n')
        self.expect("codegen/compile.cpp:1: layers: codegen/ must not include")

    def test_quoted_includes_start_at_the_root(self):
        self.write("passes/fuse.cpp", '#include "pipeline.h"\n')
        self.expect('passes/fuse.cpp:1: layers: "pipeline.h" is not a path from the repository')

    def test_generated_text_names_templates(self):
        self.write("codegen/kernels/gemm/gemm.cpp", '#include "kernels/gemm/gemm.cuh"\n')
        self.expect_clean()

    def test_tablegen_includes_count(self):
        self.write("passes/passes.td", 'include "frontend/ops.td"\n')
        self.expect("passes/passes.td:1: layers: passes/ must not include")

    def test_templates_include_only_templates(self):
        self.write("codegen/device/reduce.cuh", '#pragma once\n#include "device/math.cuh"\n')
        self.write("codegen/device/math.cuh", "#pragma once\n#include <cuda_fp16.h>\n")
        self.expect("codegen/device/math.cuh:2: device:")

    def test_every_pass_has_a_test(self):
        self.write("passes/fuse/fuse_norm.cpp", "#define GEN_PASS_DEF_FUSENORM\n")
        self.write("passes/cost.cpp", "int cost;\n")
        self.expect("passes/fuse/fuse_norm.cpp:1: tests: has no test: add tests/passes/fuse_norm.*")
        self.write("tests/passes/fuse_norm.mlir", "// RUN: true\n")
        self.expect_clean()

    def test_every_op_family_and_kernel_has_a_test(self):
        self.write("ir/ops/shape.cpp", "int a;\n")
        self.write("frontend/ops/conv.cpp", "int a;\n")
        self.write("codegen/kernels/gemm/gemm.cuh", "#pragma once\n")
        self.expect(
            "codegen/kernels/gemm/gemm.cuh:1: tests:",
            "frontend/ops/conv.cpp:1: tests:",
            "ir/ops/shape.cpp:1: tests:",
        )
        self.write("tests/ir/shape.mlir", "")
        self.write("tests/frontend/conv_test.cpp", "")
        self.write("tests/kernels/gemm_cases.cpp", "")
        self.expect_clean()

    def test_a_part_of_a_kernel_is_tested_with_it(self):
        self.write("codegen/kernels/gemm/gemm_epilogue.cuh", "#pragma once\n")
        self.expect("codegen/kernels/gemm/gemm_epilogue.cuh:1: tests:")
        self.write("tests/codegen/gemm.mlir", "")
        self.expect_clean()

    def test_every_op_appears_in_a_test(self):
        self.write("ir/ops.td", 'def Smelt_AddOp : Smelt_BinaryOp<"add">;\n')
        self.write("tests/ir/other.mlir", "smelt.addition\n")
        self.expect("ir/ops.td:1: tests: op smelt.add appears in no test")
        self.write("tests/ir/elementwise.mlir", "%0 = smelt.add %a, %b\n")
        self.expect_clean()

    def test_length(self):
        self.write("ir/long.cpp", "int a;\n" * 600)
        self.expect_clean()
        self.write("ir/long.cpp", "int a;\n" * 601)
        self.expect("ir/long.cpp:601: length: 601 lines")

    def test_machine_paths(self):
        self.write("README.md", "see docs/work/a, $HOME/work and https://x.org/home/\n")
        self.expect_clean()
        for folder in ("work", "root", "tmp", "home"):
            self.write("README.md", f"fine\nlook at /{folder}/x\n")
            self.expect("README.md:2: paths:")

    def test_marks_of_unfinished_work(self):
        self.write("ir/dim.cpp", "int a; // TO" + "DO later\n")
        self.expect("ir/dim.cpp:1: marks:")

    def test_only_tools_read_the_environment(self):
        self.write("tools/smelt/main.cpp", 'getenv("SMELT_NVRTC_PATH");\n')
        self.expect_clean()
        self.write("runtime/driver.cpp", 'std::getenv("A");\n')
        self.expect("runtime/driver.cpp:1: ambient:")

    def test_headers_are_guarded(self):
        self.write("ir/dim.h", "int a;\n")
        self.expect("ir/dim.h:1: guard:")
        self.write("ir/dim.h", "#ifndef SMELT_DIM_H\n#endif\n")
        self.expect_clean()


if __name__ == "__main__":
    unittest.main()
