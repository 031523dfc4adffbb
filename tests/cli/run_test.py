"""smelt run and compare on the CPU: inputs, outputs, and what is refused."""

import support
from support import ACCURACY, INVALID_MODEL, OK, RESOURCES, RUN_FAILED, USAGE, CliTest

import os
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Run(CliTest):
    def test_reads_inputs_and_writes_outputs(self):
        path = self.save(support.scale_model())
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        file = self.array("x", x)
        self.expect(
            OK, "run", path, "--device", "cpu", "--input", f"x=@{file}", "--output", "y=@y.npy"
        )
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), x * [1, 2, 3, 4] + 1)

    def test_writes_every_output_to_a_folder(self):
        nodes = [
            helper.make_node("Neg", ["x"], ["/a/b"]),
            helper.make_node("Abs", ["x"], ["c"]),
        ]
        outputs = [support.tensor_info("/a/b", [2]), support.tensor_info("c", [2])]
        path = self.save(support.model(nodes, [support.tensor_info("x", [2])], outputs))
        self.expect(OK, "run", path, "--device", "cpu", "--output-dir", "out")
        names = sorted(file.name for file in (self.folder / "out").iterdir())
        self.assertEqual(names, ["_a_b.npy", "c.npy"])

    def test_names_that_no_file_can_have(self):
        names = ["a\0b\x1b[2J", "..", "../../c"]
        nodes = [helper.make_node("Neg", ["x"], [name]) for name in names]
        outputs = [support.tensor_info(name, [2]) for name in names]
        path = self.save(support.model(nodes, [support.tensor_info("x", [2])], outputs))
        self.expect(OK, "run", path, "--device", "cpu", "--output-dir", "out")
        files = sorted(file.name for file in (self.folder / "out").iterdir())
        self.assertEqual(files, ["...npy", ".._.._c.npy", "a_b_[2J.npy"])

    def test_outputs_that_would_share_a_file_are_refused(self):
        nodes = [helper.make_node("Neg", ["x"], ["a/b"]), helper.make_node("Abs", ["x"], ["a_b"])]
        outputs = [support.tensor_info("a/b", [2]), support.tensor_info("a_b", [2])]
        path = self.save(support.model(nodes, [support.tensor_info("x", [2])], outputs))
        self.expect(USAGE, "run", path, "--output-dir", "out", says="a_b.npy")
        self.assertFalse((self.folder / "out").exists())

    def test_the_model_is_not_replaced(self):
        weight = TensorProto(data_type=TensorProto.FLOAT, name="w", dims=[64])
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="weights.npy")
        node = helper.make_node("Add", ["x", "w"], ["weights"])
        info = [support.tensor_info(name, [64]) for name in ("x", "weights")]
        model = self.save(support.model([node], info[:1], info[1:], [weight]))
        weights = self.write("weights.npy", bytes(256))
        before = model.read_bytes()
        (self.folder / "link.npy").symlink_to(model)
        for flags in (
            ("--output", "weights=@model.onnx"),
            ("--output", "weights=@link.npy"),
            ("--output-dir", "."),
        ):
            run = ("run", model, "--device", "cpu", *flags)
            self.expect(USAGE, *run, says=("the model's own file", "another output"))
        self.assertEqual((model.read_bytes(), weights.read_bytes()), (before, bytes(256)))
        self.expect(OK, "run", model, "--device", "cpu", "--output-dir", "out")

    def test_random_inputs_depend_on_the_seed_alone(self):
        path = self.save(support.scale_model())
        results = []
        for seed in (1, 1, 2):
            self.expect(OK, "run", path, "--device", "cpu", "--seed", seed, "--output", "y=@y.npy")
            results.append(np.load(self.folder / "y.npy"))
        np.testing.assert_array_equal(results[0], results[1])
        self.assertFalse(np.array_equal(results[0], results[2]))

    def test_random_ids_lie_within_their_table(self):
        path = self.save(support.lookup_model())
        self.expect(
            OK, "run", path, "--device", "cpu", "--shape", "ids=500", "--output", "rows=@rows.npy"
        )
        rows = np.load(self.folder / "rows.npy")
        self.assertEqual(set(rows[:, 0]), {0.0, 3.0, 6.0, 9.0, 12.0})

    def test_shapes_set_what_the_model_leaves_open(self):
        path = self.save(support.scale_model())
        report = self.expect_json("smelt.run/1", "run", path, "--device", "cpu", "--shape", "x=7x4")
        self.assertEqual(report["outputs"][0]["shape"], [7, 4])
        self.assertIn("cpu", report["device"])

    def test_wrong_inputs_are_usage_errors(self):
        path = self.save(support.scale_model())
        half = self.array("half", np.zeros((2, 4), np.float16))
        wide = self.array("wide", np.zeros((2, 5), np.float32))
        text = self.write("text.npy", b"not an array")
        run = ("run", path, "--device", "cpu")
        self.expect(USAGE, *run, "--input", f"x=@{half}", says=("'x'", "float32", "float16"))
        self.expect(USAGE, *run, "--input", f"x=@{wide}", says=("'x'", "dimension 1 must be 4"))
        self.expect(USAGE, *run, "--input", f"x=@{text}", says=("text.npy", "not a .npy"))
        self.expect(USAGE, *run, "--input", "x=@missing.npy", says="missing.npy")
        self.expect(USAGE, *run, "--input", f"z=@{half}", says="no input 'z'")
        self.expect(USAGE, *run, "--input", "x", says="NAME=@FILE")
        self.expect(USAGE, *run, "--shape", "x=2x5", says="must be 4")
        self.expect(USAGE, *run, "--shape", "x=-1x4", says="NAME=1x128")
        self.expect(USAGE, *run, "--shape", "x=2,4", says="NAME=1x128")
        self.expect(USAGE, *run, "--shape", "z=2", says="it has 'x'")
        self.expect(USAGE, *run, "--output", "z=@z.npy", says="no output 'z'")

    def test_sizes_may_be_0(self):
        path = self.save(support.scale_model())
        empty = self.array("empty", np.zeros((0, 4), np.float32))
        self.expect(OK, "run", path, "--device", "cpu", "--input", f"x=@{empty}", "--output", "y=@empty_y.npy")
        self.assertEqual(np.load(self.folder / "empty_y.npy").shape, (0, 4))

    def test_wrong_commands_are_usage_errors(self):
        self.expect(USAGE, "frobnicate", says=("'frobnicate'", "run, compile, bench"))
        self.expect(USAGE, "run")
        says = "'tpu' is no device; write auto, cpu, cuda, or a GPU's number"
        self.expect(USAGE, "run", "model.onnx", "--device", "tpu", says=says)
        for seed in ("-1", "1.5", "18446744073709551616"):
            self.expect(USAGE, "run", "model.onnx", "--seed", seed, says=f"'{seed}' is no integer")
        for tolerance in ("nan", "-1", "inf"):
            compare = ("compare", "model.onnx", "--tolerance", tolerance)
            self.expect(USAGE, *compare, says=f"'{tolerance}' is no number of at least 0")
        self.expect(USAGE, "run", "missing.onnx", says="missing.onnx")
        self.expect(USAGE, "run", self.folder, says="folder")

    def test_pipes_are_not_waited_for(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        run = ("run", self.save(support.scale_model()), "--device", "cpu")
        self.expect(USAGE, *run, "--input", f"x=@{pipe}", says="not a regular file")
        for command in ("inspect", "run", "check", "compile"):
            self.expect(USAGE, command, pipe, says="not a regular file")

    def test_failures_are_json_too(self):
        for code, command in (
            (USAGE, ["frobnicate"]),
            (USAGE, ["run", "missing.onnx"]),
            (USAGE, ["compile", "missing.onnx", "--arch"]),
            (USAGE, ["inspect", "missing.plan"]),
            (INVALID_MODEL, ["explain", self.write("bad.onnx", b"bad")]),
        ):
            error = self.expect_json("smelt.error/1", *command, code=code)
            self.assertEqual(error["code"], code)
            self.assertTrue(error["message"])

    def test_shapes_that_do_not_fit_are_usage_errors(self):
        nodes = [
            helper.make_node("Shape", ["x"], ["size"]),
            helper.make_node("Slice", ["table", "zero", "size"], ["part"], name="/position"),
            helper.make_node("Add", ["x", "part"], ["y"]),
        ]
        constants = [
            support.constant("table", np.zeros(512, np.float32)),
            support.constant("zero", np.zeros(1, np.int64)),
        ]
        infos = [support.tensor_info(name, ["seq"]) for name in "xy"]
        path = self.save(support.model(nodes, infos[:1], infos[1:], constants))
        done = self.expect(USAGE, "run", path, "--device", "cpu", "--shape", "x=513")
        self.assertIn("seq = 513 must be at most 512 (", done.stderr)

    def refuse_shape(self, path, says, *shapes):
        """Every command that takes --shape says the same of it: nothing about the model is wrong."""
        flags = [word for shape in shapes for word in ("--shape", shape)]
        for command in ("run", "compare", "bench"):
            self.expect(USAGE, command, path, "--device", "cpu", *flags, says=says)
        for command in ("compile", "check", "explain"):
            self.expect(USAGE, command, path, *flags, says=says)
        self.expect_json("smelt.error/1", "check", path, *flags, code=USAGE)

    def test_a_wrong_shape_is_one_error_everywhere(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
        infos = [support.tensor_info(name, ["n", 3, "n"]) for name in "xy"]
        path = self.save(support.model(nodes, infos[:1], infos[1:]))
        self.refuse_shape(path, "no input 'nosuch'; it has 'x'", "nosuch=1")
        self.refuse_shape(path, "it has 3 dimensions", "x=2x3")
        self.refuse_shape(path, "dimension 1 must be 3", "x=2x4x2")
        self.refuse_shape(path, "'n' is 2 by another dimension", "x=2x3x5")
        self.expect(OK, "check", path, "--shape", "x=2x3x?")

    def test_a_shape_that_no_node_takes_is_one_error_everywhere(self):
        node = helper.make_node("Add", ["a", "b"], ["y"], name="/sum")
        infos = [support.tensor_info(name, [name * 2]) for name in "ab"]
        path = self.save(support.model([node], infos, [support.tensor_info("y", ["aa"])]))
        self.refuse_shape(path, "node '/sum'", "a=2", "b=3")

    def cache_model(self):
        """scores of the new tokens and of all before them, under a mask of all: total = past + seq, and a table of 64."""
        nodes = [
            helper.make_node("Concat", ["past", "new"], ["all"], axis=1, name="/append"),
            helper.make_node("Mul", ["all", "mask"], ["masked"], name="/mask"),
            helper.make_node("Shape", ["new"], ["sizes"], start=1, end=2),
            helper.make_node("Slice", ["table", "zero", "sizes"], ["rows"], name="/positions"),
            helper.make_node("Add", ["new", "rows"], ["placed"], name="/place"),
        ]
        inputs = [
            support.tensor_info(name, [batch, size])
            for name, batch, size in (("new", "b", "seq"), ("past", "c", "past"), ("mask", "d", "total"))
        ]
        outputs = [support.tensor_info("masked", None), support.tensor_info("placed", None)]
        table = support.constant("table", np.arange(64, dtype=np.float32))
        zero = support.constant("zero", np.zeros(1, np.int64))
        return self.save(support.model(nodes, inputs, outputs, [table, zero], opset=20))

    def test_a_shape_follows_to_the_other_inputs(self):
        path = self.cache_model()
        flags = ("--shape", "new=2x7", "--shape", "mask=2x12")
        for command in ("check", "explain"):
            self.expect(OK, command, path, *flags)
        self.expect(OK, "compile", path, *flags, "--emit", "mlir", "-o", "out.mlir")
        text = (self.folder / "out.mlir").read_text()
        self.assertIn("%arg1: !smelt.tensor<[2, 5], f32>", text)
        for command in ("run", "compare", "bench"):
            self.expect(OK, command, path, "--device", "cpu", *flags)
        self.expect(OK, "run", path, "--device", "cpu", "--shape", "mask=3x9")

    def test_shapes_that_contradict_each_other_name_both_inputs(self):
        path = self.cache_model()
        shapes = ("new=2x7", "mask=2x5")
        for says in ("'new'", "'mask'", "must equal"):
            self.refuse_shape(path, says, *shapes)
        self.refuse_shape(path, "of input 'new'; node '/append'", "new=2x7", "past=3x5")
        self.refuse_shape(path, "at most 64", "new=2x65")

    def test_a_size_that_is_fixed_as_1_broadcasts(self):
        node = helper.make_node("Add", ["a", "b"], ["y"], name="/sum")
        infos = [support.tensor_info(name, [name * 2]) for name in "ab"]
        path = self.save(support.model([node], infos, [support.tensor_info("y", None)]))
        self.expect(OK, "check", path, "--shape", "a=1", "--shape", "b=5")
        self.expect(OK, "bench", path, "--device", "cpu", "--shape", "a=5", "--shape", "b=1")
        flags = ("--shape", "a=1", "--shape", "b=5")
        self.expect(USAGE, "run", path, "--device", "cpu", *flags, says="where it is compiled for")

    def test_a_wrong_model_is_no_wrong_shape(self):
        node = helper.make_node("Frobnicate", ["x"], ["y"])
        infos = [support.tensor_info(name, ["n"]) for name in "xy"]
        path = self.save(support.model([node], infos[:1], infos[1:]))
        for command in ("check", "compile"):
            self.expect(INVALID_MODEL, command, path, "--shape", "x=2")
            self.expect(USAGE, command, path, "--shape", "x=2x2")

    def test_a_run_without_memory_says_so(self):
        node = helper.make_node("Expand", ["x", "shape"], ["y"])
        shape = support.constant("shape", np.array([2**20, 2**18], np.int64))
        infos = [support.tensor_info("x", [1]), support.tensor_info("y", [2**20, 2**18])]
        path = self.save(support.model([node], infos[:1], infos[1:], [shape]))
        self.expect(RESOURCES, "run", path, "--device", "cpu", says="no memory for a tensor")

    def test_symbols_that_a_node_equates(self):
        node = helper.make_node("Add", ["a", "b"], ["y"], name="/sum")
        infos = [support.tensor_info(name, [name * 2]) for name in "ab"]
        path = self.save(support.model([node], infos, [support.tensor_info("y", ["aa"])]))
        shapes = ("--shape", "a=2", "--shape", "b=3")
        says = "node '/sum' needs 'bb' = 'aa'"
        self.expect(USAGE, "run", path, "--device", "cpu", *shapes, says=says)

    def test_initializers_are_constants(self):
        path = self.save(support.scale_model())
        model = onnx.load(path)
        model.graph.input.append(support.tensor_info("scale", [4]))
        self.save(model)
        file = self.array("scale", np.ones(4, np.float32))
        says = "initializers are constants for Smelt, so there is no input 'scale'; it has 'x'"
        run = ("run", path, "--device", "cpu")
        self.expect(USAGE, *run, "--input", f"scale=@{file}", says=says)
        self.expect(USAGE, *run, "--shape", "scale=4", says=says)

    def test_a_tensor_that_is_listed_twice_is_one_output(self):
        node = helper.make_node("Neg", ["x"], ["y"])
        infos = [support.tensor_info(name, [2]) for name in "xyy"]
        path = self.save(support.model([node], infos[:1], infos[1:]))
        run = ("run", path, "--device", "cpu", "--output-dir", "out")
        self.assertEqual(len(self.expect_json("smelt.run/1", *run)["outputs"]), 1)
        for command in ("check", "compile"):
            self.expect(OK, command, path)

    def test_a_run_that_nobody_watches(self):
        path = self.save(support.scale_model())
        for redirection in ("2>/dev/full", "2>&-"):
            command = f"{support.SMELT} run {path} --output y=@y.npy {redirection}"
            done = subprocess.run(command, shell=True, cwd=self.folder, stdout=subprocess.PIPE)
            self.assertEqual(done.returncode, OK, redirection)
            self.assertEqual(np.load(self.folder / "y.npy").shape, (1, 4))

    def test_help_is_short_and_has_examples(self):
        done = self.expect(OK, "--help")
        self.assertIn("examples:", done.stdout)
        self.assertIn("exit codes:", done.stdout)
        for command in ("run", "compile", "bench", "check", "explain", "inspect", "compare"):
            done = self.expect(OK, command, "--help")
            self.assertIn("example", done.stdout)
            self.assertIn("--json", done.stdout)
            self.assertLess(len(done.stdout.splitlines()), 60)
        for command, model in (("run", ".onnx or .plan file"), ("compare", "The .onnx file")):
            self.assertIn(model, self.expect(OK, command, "--help").stdout)
        self.assertIn("(default: sm_90a)", self.expect(OK, "compile", "--help").stdout)
        self.assertRegex(self.expect(OK, "--version").stdout, r"^\d+\.\d+\.\d+\n$")

    def test_out_of_range_indices_are_reported(self):
        path = self.save(support.lookup_model())
        for bad in (5, -6, 2**62):
            ids = self.array("ids", np.array([0, bad], np.int64))
            run = ("run", path, "--device", "cpu", "--input", f"ids=@{ids}")
            self.expect(RUN_FAILED, *run, says=(str(bad), "/lookup/Gather"))

    def test_nan_is_an_accuracy_failure_and_still_written(self):
        nodes = [helper.make_node("Sqrt", ["x"], ["y"])]
        info = [support.tensor_info(name, [2]) for name in "xy"]
        path = self.save(support.model(nodes, info[:1], info[1:]))
        x = self.array("x", np.array([4, -1], np.float32))
        run = ("run", path, "--device", "cpu", "--input", f"x=@{x}", "--output", "y=@y.npy")
        self.expect(ACCURACY, *run, says=("'y'", "NaN"))
        self.assertEqual(np.load(self.folder / "y.npy")[0], 2)

    def test_a_full_disk_leaves_no_file(self):
        path = self.save(support.scale_model())
        run = ("run", path, "--device", "cpu", "--shape", "x=4096x4")
        self.expect(RESOURCES, *run, "--output", "y=@y.npy", preexec=limit_file_size, says="y.npy")
        self.expect(RESOURCES, *run, "--output", "y=@no/such/y.npy", says="no/such/y.npy")
        self.assertEqual([f.name for f in self.folder.iterdir() if "npy" in f.name], [])

    def test_a_full_stdout_is_noticed(self):
        path = self.save(support.scale_model())
        for arguments in (["run", str(path), "--device", "cpu"], ["--help"], ["--version"]):
            with open("/dev/full", "w") as full:
                command = [support.SMELT, *arguments]
                done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, RESOURCES, done.stderr)
            self.assertIn("stdout cannot be written", done.stderr)


class Domains(CliTest):
    """Ops of com.microsoft against ONNX Runtime, whose own they are."""

    def test_gelus(self):
        try:
            import onnxruntime
        except ImportError:
            self.skipTest("onnxruntime is not installed")
        draw = np.random.default_rng(7)
        x = draw.normal(scale=3, size=(5, 64)).astype(np.float32)
        bias = draw.normal(size=64).astype(np.float32)
        node = lambda op, inputs, **attributes: helper.make_node(
            op, inputs, [f"{op}{len(inputs)}{len(attributes)}"], domain="com.microsoft", **attributes
        )
        nodes = [
            node("Gelu", ["x"]),
            node("FastGelu", ["x"]),
            node("FastGelu", ["x", "bias"]),
            node("BiasGelu", ["x", "bias"]),
            node("QuickGelu", ["x"]),
            node("QuickGelu", ["x"], alpha=0.9),
        ]
        names = [node.output[0] for node in nodes]
        outputs = [support.tensor_info(name, ["n", 64]) for name in names]
        inputs = [support.tensor_info("x", ["n", 64])]
        proto = support.model(nodes, inputs, outputs, [support.constant("bias", bias)])
        proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        path = self.save(proto)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        expected = session.run(names, {"x": x})
        flags = ("--input", f"x=@{self.array('x', x)}", "--output-dir", "out")
        self.expect(OK, "run", path, "--device", "cpu", *flags)
        for name, wanted in zip(names, expected):
            actual = np.load(self.folder / "out" / f"{name}.npy")
            np.testing.assert_allclose(actual, wanted, rtol=2e-5, atol=2e-6, err_msg=name)


class TestData(CliTest):
    """Folders of ONNX test data."""

    def setUp(self):
        super().setUp()
        self.model = self.save(support.scale_model())
        self.data = self.folder / "test_data_set_0"
        self.data.mkdir()
        self.x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)

    def put(self, name, value):
        (self.data / f"{name}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())

    def run_folder(self, code, **options):
        return self.expect(
            code, "run", self.model, "--device", "cpu", "--input", f"@{self.data}", **options
        )

    def test_agreeing_outputs_pass(self):
        self.put("input_0", self.x)
        self.put("output_0", self.x * np.arange(1, 5, dtype=np.float32) + 1)
        self.run_folder(OK)

    def test_typed_fields_are_read(self):
        tensor = helper.make_tensor("x", TensorProto.FLOAT, self.x.shape, self.x.flatten())
        (self.data / "input_0.pb").write_bytes(tensor.SerializeToString())
        self.put("output_0", self.x * np.arange(1, 5, dtype=np.float32) + 1)
        self.run_folder(OK)

    def test_disagreeing_outputs_fail(self):
        expected = self.x * np.arange(1, 5, dtype=np.float32) + 1
        expected[1, 2] += 0.5
        self.put("input_0", self.x)
        self.put("output_0", expected)
        self.run_folder(ACCURACY, says=("'y'", "[1, 2]"))
        self.put("output_0", expected[:2])
        self.run_folder(ACCURACY, says=("'y'", "[2, 4]"))

    def test_bad_folders_are_usage_errors(self):
        self.run_folder(USAGE, says="input_0.pb")
        self.put("input_0", self.x.astype(np.float64))
        self.run_folder(USAGE, says=("float32", "float64"))
        (self.data / "input_0.pb").write_bytes(b"\xff\xff\xff")
        self.run_folder(USAGE, says="input_0.pb")
        self.put("input_0", self.x)
        self.put("input_1", self.x)
        self.run_folder(USAGE, says="2 inputs")


class Compare(CliTest):
    def test_agreement_and_its_figures(self):
        path = self.save(support.scale_model())
        report = self.expect_json("smelt.compare/1", "compare", path, "--device", "cpu")
        self.assertTrue(report["agrees"])
        (output,) = report["outputs"]
        self.assertEqual(output["name"], "y")
        self.assertLessEqual(output["relative_norm"], output["tolerance"])

    def test_outputs_without_elements_agree(self):
        node = helper.make_node("Slice", ["x", "one", "one"], ["y"])
        one = support.constant("one", np.array([1], np.int64))
        info = [support.tensor_info("x", [2, 4]), support.tensor_info("y", [0, 4])]
        path = self.save(support.model([node], info[:1], info[1:], [one]))
        report = self.expect_json("smelt.compare/1", "compare", path, "--device", "cpu")
        self.assertEqual(report["outputs"][0]["shape"], [0, 4])
        self.expect(OK, "compare", path, "--device", "cpu")

    def test_what_float32_makes_of_a_model_is_no_difference(self):
        # 1.5 * 2^23 added and taken away rounds to an integer in float32, and does nothing in float64.
        magic = support.constant("magic", np.float32(12582912))
        nodes = [
            helper.make_node("Add", ["x", "magic"], ["shifted"]),
            helper.make_node("Sub", ["shifted", "magic"], ["y"]),
        ]
        info = [support.tensor_info(name, [64]) for name in "xy"]
        path = self.save(support.model(nodes, info[:1], info[1:], [magic]))
        report = self.expect_json("smelt.compare/1", "compare", path, "--device", "cpu")
        self.assertTrue(report["agrees"])
        self.assertEqual(report["outputs"][0]["reference"], "float32")
        self.expect(ACCURACY, "compare", path, "--device", "cpu", "--tolerance", 1e-5)

    def test_a_tolerance_of_zero_finds_rounding(self):
        node = helper.make_node("Exp", ["x"], ["y"], name="/exp")
        info = [support.tensor_info(name, [64]) for name in "xy"]
        path = self.save(support.model([node], info[:1], info[1:]))
        compare = ("compare", path, "--device", "cpu", "--tolerance", 0)
        self.expect(ACCURACY, *compare, says=("'y'", "exceeds"))
        self.expect(USAGE, "compare", path, "--tolerance", -1)


def limit_file_size():
    """For a child process: files end at 4 KiB, and writing past that is an error, as on a full disk."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


if __name__ == "__main__":
    support.main()
