"""smelt bench on the CPU: the figures and their schema."""

import support
from support import CliTest


class Bench(CliTest):
    def test_latency_figures(self):
        path = self.save(support.scale_model())
        report = self.expect_json(
            "smelt.bench/1", "bench", path, "--device", "cpu", "--shape", "x=2x4"
        )
        latency = report["latency_ms"]
        self.assertEqual(report["shapes"], {"x": [2, 4]})
        self.assertEqual(report["kernels"], [])
        self.assertGreaterEqual(latency["samples"], 5)
        self.assertLessEqual(latency["min"], latency["median"])
        self.assertLessEqual(latency["median"], latency["p99"])
        self.assertGreater(latency["mean"], 0)


if __name__ == "__main__":
    support.main()
