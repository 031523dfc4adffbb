"""lit's view of the tree: every .mlir file below this folder is a test of smelt-opt or emit-cuda.

CMake passes the tools and the folder to run in as parameters (cmake/SmeltLit.cmake).
"""

import os

import lit.formats

config.name = "smelt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["exec_root"]
for tool in ("smelt-opt", "emit-cuda", "FileCheck", "not"):
    if tool in lit_config.params:
        config.substitutions.append((rf"\b(?<![/.-]){tool}\b(?![/.-])", lit_config.params[tool]))
