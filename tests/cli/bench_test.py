"""smelt bench: the figures and their schema, on the CPU and on the fake driver, whose times are those of a processor."""

import json
import os
import unittest

import support
from support import OK, RESOURCES, USAGE, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake
FAKE_NVML = os.environ["FAKE_NVML"]  # that of a libnvidia-ml.so.1


class Bench(CliTest):
    def test_latency_figures(self):
        path = self.save(support.scale_model())
        report = self.expect_json(
            "smelt.bench/1", "bench", path, "--device", "cpu", "--shape", "x=2x4", "--duration", "0.2"
        )
        latency = report["latency_ms"]
        self.assertEqual(report["shapes"], {"x": [2, 4]})
        self.assertEqual(report["kernels"], [])
        self.assertGreaterEqual(latency["samples"], 5)
        self.assertLessEqual(latency["min"], latency["median"])
        self.assertLessEqual(latency["median"], latency["p99"])
        self.assertGreater(latency["mean"], 0)
        self.assertAlmostEqual(
            report["single_runs"]["throughput_per_s"] * latency["mean"], 1000, delta=500
        )

    def test_iterations(self):
        path = self.save(support.scale_model())
        run = ("bench", path, "--device", "cpu", "--duration", "0.001")
        few = self.expect_json("smelt.bench/1", *run)["single_runs"]["compute_ms"]["samples"]
        many = self.expect_json("smelt.bench/1", *run, "--iterations", few + 5000)
        self.assertGreaterEqual(many["single_runs"]["compute_ms"]["samples"], few + 5000)

    def test_flags_of_a_gpu_alone(self):
        path = self.save(support.scale_model())
        for flags in (("--streams", "2"), ("--copies",)):
            self.expect(USAGE, "bench", path, "--device", "cpu", *flags, says="of a GPU")

    def test_values_that_are_none(self):
        path = self.save(support.scale_model())
        for flags in (("--duration", "0"), ("--iterations", "0"), ("--streams", "-1"), ("--percentiles", "101"),
                      ("--percentiles", "x"), ("--warm-up", "nan")):
            self.expect(USAGE, "bench", path, "--device", "cpu", *flags, says=flags[1])


class Durations(CliTest):
    """On a clock that goes on only when the binary looks at it: figures are the same on every machine."""

    def setUp(self):
        super().setUp()
        self.path = self.save(support.scale_model())
        self.use_fake_clock(10)

    def bench(self, *flags):
        report = self.expect_json("smelt.bench/1", "bench", self.path, *flags)
        return report, float(self.clock_end.read_text())

    def check(self, *device):
        (short, _), (long, _) = (self.bench(*device, "--duration", seconds) for seconds in (2, 6))
        for samples in (lambda report: report["latency_ms"]["samples"], lambda report: report["single_runs"]["compute_ms"]["samples"]):
            self.assertGreater(samples(short), 10)
            self.assertGreater(samples(long), 2 * samples(short))
        (_, cold), (_, warm) = (self.bench(*device, "--duration", 2, "--warm-up", seconds) for seconds in (0.01, 50))
        self.assertGreaterEqual(warm - cold, 49)

    def test_on_the_cpu(self):
        self.check("--device", "cpu")

    def test_on_a_gpu(self):
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        self.check("--device", "cuda")


class OnAGpu(CliTest):
    def setUp(self):
        super().setUp()
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        self.path = self.save(support.many_kernels())

    def bench(self, *flags):
        return self.expect_json("smelt.bench/1", "bench", self.path, "--dim", "n=5", "--duration", "0.05", *flags)

    def test_single_runs(self):
        runs = self.bench("--percentiles", "50,99.9", "--iterations", "40")["single_runs"]
        compute = runs["compute_ms"]
        self.assertGreaterEqual(compute["samples"], 40)
        self.assertEqual(compute["percentiles"].keys(), {"50", "99.9"})
        order = [compute["min"], compute["percentiles"]["50"], compute["percentiles"]["99.9"], compute["max"]]
        self.assertEqual(order, sorted(order))
        self.assertGreater(runs["enqueue_us"]["median"], 0)
        self.assertNotIn("in_ms", runs)

    def test_copies_and_streams(self):
        runs = self.bench("--copies", "--streams", "3")["single_runs"]
        self.assertEqual(runs["streams"], 3)
        self.assertGreater(runs["in_ms"]["max"], 0)
        self.assertGreater(runs["out_ms"]["max"], 0)

    def test_streams_take_turns(self):
        """A clock that goes on when it is looked at makes it the same number of runs anywhere."""
        self.use_fake_clock(10)
        file = self.folder / "launches"
        self.environment["SMELT_FAKE_LAUNCHES"] = str(file)
        streams = []
        for count in (1, 3):
            self.bench("--iterations", "60", "--warm-up", "0.01", "--streams", count)
            streams.append([int(line) for line in file.read_text().splitlines()])
        one, three = streams
        self.assertEqual(len(three) - len(one), 2)
        self.assertGreaterEqual(min(three), 20)

    def test_times_are_exported_whole_or_not_at_all(self):
        self.bench("--export-times", "times.json", "--iterations", "30", "--copies")
        times = json.loads((self.folder / "times.json").read_text())
        self.assertEqual(times["schema"], "smelt.times/1")
        self.assertGreaterEqual(len(times["runs"]), 30)
        self.assertEqual(times["runs"][0].keys(), {"in_ms", "compute_ms", "out_ms", "enqueue_us"})
        self.expect(RESOURCES, "bench", self.path, "--dim", "n=5", "--duration", "0.05", "--export-times", "no/such.json")

    def test_the_profile_groups_and_adds_up(self):
        report = self.bench()
        profile, kernels = report["profile"], report["kernels"]
        self.assertEqual(sum(group["launches"] for group in profile), len(kernels))
        self.assertAlmostEqual(sum(group["share"] for group in profile), 1, places=6)
        self.assertEqual(profile, sorted(profile, key=lambda group: -group["time_us"]))
        total = sum(kernel["time_us"] for kernel in kernels)
        self.assertAlmostEqual(sum(group["time_us"] for group in profile), total, places=3)
        text = self.expect(OK, "bench", self.path, "--dim", "n=5", "--duration", "0.05", "--profile").stdout
        self.assertRegex(text, r"share, %")
        self.assertRegex(text, rf"(?m)^all +{len(kernels)} +[0-9.]+ +100\.0$")

    def test_a_gpu_that_is_shared_and_slowed_down(self):
        self.environment["LD_LIBRARY_PATH"] = f"{FAKE_DRIVER}:{FAKE_NVML}"
        report = self.bench()
        self.assertEqual([state["celsius"] for state in report["gpu_states"]], [87, 87])
        self.assertEqual(report["gpu_states"][1]["slowed_by"], ["heat"])
        warnings = "\n".join(report["warnings"])
        self.assertIn("the clocks moved from 1980 to 1400 MHz", warnings)
        self.assertIn("slowed down by heat", warnings)
        self.assertIn("shared: 3 processes", warnings)

    def test_without_the_management_library(self):
        self.assertEqual(self.bench()["gpu_states"], [])


if __name__ == "__main__":
    support.main()
