"""tools/c_abi.py against changes of headers: what breaks programs, what only has to be listed."""

import importlib.util
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("c_abi", ROOT / "tools/c_abi.py")
c_abi = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(c_abi)

HEADER = """#include <stddef.h>
#define SMELT_API __attribute__((visibility("default")))
typedef enum smelt_color { SMELT_RED = 1, SMELT_BLUE = 2 } smelt_color;
typedef struct smelt_paint { size_t struct_size; smelt_color color; void (*dry)(void *user); } smelt_paint;
typedef struct smelt_dot { int x, y; } smelt_dot;
SMELT_API int smelt_paint_mix(const smelt_paint *a, smelt_dot b);
SMELT_API void smelt_paint_wash(void);
"""


def listed(header, source=None):
    """The list of a header and of a library that has its functions, or those of `source`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.joinpath("paint.h").write_text(header)
        path.joinpath("paint.map").write_text("SMELT_1 { global: smelt_*; local: *; };\n")
        bodies = header.replace("smelt_dot b);", "smelt_dot b) { return 0; }").replace("(void);", "(void) {}")
        path.joinpath("paint.c").write_text(source or bodies)
        library = path / "libpaint.so"
        version = f"-Wl,--version-script={path / 'paint.map'}"
        subprocess.run(["clang-22", "-w", "-shared", "-fPIC", version, path / "paint.c", "-o", library], check=True)
        return c_abi.api(path / "paint.h", library)


class CAbi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.list = listed(HEADER)

    def changed(self, before, after):
        self.assertIn(before, HEADER)
        return c_abi.differences(self.list, listed(HEADER.replace(before, after)))

    def test_lists_functions_enumerators_and_fields(self):
        self.assertIn("function int smelt_paint_mix(const smelt_paint *a, smelt_dot b) [SMELT_1]", self.list)
        self.assertIn("enumerator SMELT_BLUE = 2", self.list)
        self.assertIn("struct smelt_paint has 24 bytes or more", self.list)
        self.assertIn("field smelt_paint.color at 8: smelt_color", self.list)
        self.assertIn("struct smelt_dot has 8 bytes", self.list)

    def test_nothing_changed(self):
        self.assertEqual(c_abi.differences(self.list, listed(HEADER)), ([], []))

    def test_a_function_that_went(self):
        gone, came = self.changed("SMELT_API void smelt_paint_wash(void);\n", "")
        self.assertEqual((gone, came), (["function void smelt_paint_wash(void) [SMELT_1]"], []))

    def test_a_function_of_another_type(self):
        gone, came = self.changed("void smelt_paint_wash(void)", "long smelt_paint_wash(void)")
        self.assertEqual((len(gone), len(came)), (1, 1))

    def test_a_function_that_came(self):
        gone, came = self.changed("SMELT_API void", "SMELT_API void smelt_paint_dry(void);\nSMELT_API void")
        self.assertEqual((gone, came), ([], ["function void smelt_paint_dry(void) [SMELT_1]"]))

    def test_another_number(self):
        self.assertEqual(self.changed("SMELT_BLUE = 2", "SMELT_BLUE = 3")[0], ["enumerator SMELT_BLUE = 2"])

    def test_fields_that_moved(self):
        gone, _ = self.changed("smelt_color color; void (*dry)(void *user);", "void (*dry)(void *user); smelt_color color;")
        self.assertEqual(len(gone), 2)

    def test_a_struct_that_says_its_size_grows(self):
        gone, came = self.changed("(void *user);", "(void *user); int gloss;")
        self.assertEqual(gone, [])
        self.assertIn("field smelt_paint.gloss at 24: int", came)
        self.assertIn("struct smelt_paint has 32 bytes or more", came)

    def test_another_struct_does_not(self):
        self.assertEqual(self.changed("int x, y;", "int x, y, z;")[0], ["struct smelt_dot has 8 bytes"])

    def test_a_function_that_the_library_lacks(self):
        with self.assertRaisesRegex(SystemExit, "smelt_paint_wash"):
            listed(HEADER, source="int smelt_paint_mix(void) { return 0; }\n")


if __name__ == "__main__":
    unittest.main()
