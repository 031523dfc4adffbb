"""torch.compile(backend="smelt") and smelt.torch.Module, on the CPU: where PyTorch and its ONNX exporter are installed."""

import sys
import unittest
import warnings
from unittest import mock

try:
    import onnxscript  # noqa: F401  (what torch.onnx.export needs)
    import torch
except ImportError as error:
    print(f"nothing was tested: {error}", file=sys.stderr)
    sys.exit(77)

import numpy as np

import smelt
import smelt.torch
from support import DIGITS, digits, scale_model


class Block(torch.nn.Module):
    """An attention and a norm; its results are computed, an argument, a number and twice the same."""

    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm = torch.nn.LayerNorm(16)
        self.register_buffer("shift", torch.ones(16))

    def forward(self, x):
        y = self.norm(x + self.attention(x, x, x, need_weights=False)[0]) + self.shift
        return {"y": y, "again": y, "x": x, "rows": x.shape[0], "sum": y.sum()}


class Compiled(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)
        self.enterContext(torch.no_grad())
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore", smelt.SlowDeviceWarning)
        self.model = Block().eval()

    def check(self, compiled, x):
        got, expected = compiled(x), self.model(x)
        self.assertEqual(list(got), list(expected))
        for name in ("y", "again", "sum"):
            torch.testing.assert_close(got[name], expected[name])
        self.assertIs(got["x"], x)
        self.assertEqual(got["rows"], x.shape[0])

    def counted(self, model, **options):
        """(what torch.compile makes of it, the graphs that it handed to Smelt)"""
        graphs = []

        def backend(graph, examples):
            graphs.append(graph)
            return smelt.torch.backend(graph, examples, options=options)

        return torch.compile(model, backend=backend), graphs

    def test_by_its_name(self):
        self.assertIn("smelt", torch._dynamo.list_backends())
        self.check(torch.compile(self.model, backend="smelt", fullgraph=True), torch.randn(2, 5, 16))

    def test_sizes_that_change_are_open(self):
        compiled, graphs = self.counted(self.model)
        for rows in (2, 3, 4, 5):
            self.check(compiled, torch.randn(rows, 5, 16))
        self.assertEqual(len(graphs), 2)

    def test_sizes_that_turn_out_to_be_others(self):
        """TorchDynamo leaves them among the arguments, where no input has them any more."""
        graph = torch.fx.symbolic_trace(lambda size, x: (x * 2,))
        x = torch.randn(3, 4)
        (got,) = smelt.torch.backend(graph, [7, x])(7, x)
        torch.testing.assert_close(got, x * 2)

    def test_changed_weights_are_noticed(self):
        compiled = torch.compile(self.model, backend="smelt")
        x = torch.randn(2, 5, 16)
        self.check(compiled, x)
        self.model.norm.weight.mul_(2)
        with self.assertWarns(smelt.torch.WeightsWarning):
            self.check(compiled, x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.check(compiled, x)
        self.model.shift = torch.full((16,), 3.0)
        self.check(compiled, x)

    def test_half_precision_and_inference_mode(self):
        self.model.half()
        with torch.inference_mode():
            x = torch.randn(2, 5, 16).half()
            got, expected = torch.compile(self.model, backend="smelt")(x)["y"], self.model(x)["y"]
        self.assertEqual(got.dtype, torch.float16)
        torch.testing.assert_close(got, expected, atol=5e-3, rtol=5e-3)

    def test_gradients_are_refused(self):
        with torch.enable_grad(), self.assertRaisesRegex(Exception, r"computes no gradients.*no_grad"):
            torch.compile(self.model, backend="smelt")(torch.randn(2, 5, 16))

    def test_an_operator_without_onnx_is_named(self):
        eigenvalues = lambda x: torch.linalg.eigvals(x).real
        with self.assertRaisesRegex(Exception, "InvalidModelError.*aten.linalg_eig"):
            torch.compile(eigenvalues, backend="smelt")(torch.eye(3))
        torch._dynamo.reset()
        eager = torch.compile(eigenvalues, backend="smelt", options={"fallback": "eager"})
        with self.assertWarnsRegex(smelt.torch.FallbackWarning, "aten.linalg_eig"):
            torch.testing.assert_close(eager(torch.eye(3)), torch.ones(3))

    def test_what_else_is_refused(self):
        def writes(x):
            x.add_(1)
            return x * 2

        def number(x, factor):
            return x * factor

        for call, arguments, says in ((writes, [(torch.ones(3),)], "writes into its inputs"),
                                      (number, [(torch.ones(3), 2), (torch.ones(3), 3)], "the size of no input")):
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, says):
                for given in arguments:
                    torch.compile(call, backend="smelt")(*given)
        for options, says in (({"speed": 11}, "no option 'speed'"), ({"fallback": "gpu"}, "'error' or 'eager'"),
                              ({"precision": "int4"}, "no precision 'int4'")):
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, says):
                torch.compile(self.model, backend="smelt", options=options)(torch.ones(2, 5, 16))


class Feeds(unittest.TestCase):
    """PyTorch's tensors in a session."""

    def setUp(self):
        self.session = smelt.Session(DIGITS, device="cpu")
        self.images = torch.from_numpy(digits()[0][:4])
        (self.expected,) = self.session.run(None, {"images": self.images.numpy()})

    @unittest.skipUnless(hasattr(torch.Tensor, "__dlpack_c_exchange_api__"), "this PyTorch has no C functions for DLPack")
    def test_they_come_by_c_functions(self):
        logits = torch.empty(self.expected.shape)
        with mock.patch.object(torch.Tensor, "__dlpack__", side_effect=AssertionError):
            (out,) = self.session.run(None, {"images": self.images})
            (returned,) = self.session.run(None, {"images": self.images}, outputs={"logits": logits})
        np.testing.assert_array_equal(out, self.expected)
        self.assertIs(returned, logits)
        np.testing.assert_array_equal(logits.numpy(), self.expected)
        with self.assertRaisesRegex(smelt.UsageError, "not contiguous"):
            self.session.run(None, {"images": self.images.transpose(-1, -2)})

    def test_gradients_are_not_lost(self):
        with self.assertRaisesRegex(BufferError, "require gradient"):
            self.session.run(None, {"images": self.images.clone().requires_grad_()})


class Module(unittest.TestCase):
    def test_digits(self):
        layer = smelt.torch.Module(DIGITS, device="cpu")
        images, labels = digits()
        with torch.no_grad():
            logits = layer(torch.from_numpy(images))
            named = layer(images=torch.from_numpy(images))
        self.assertGreater((logits.argmax(1).numpy() == labels).mean(), 0.97)
        torch.testing.assert_close(named, logits, rtol=0, atol=0)
        with self.assertRaisesRegex(smelt.UsageError, "the model takes images: 0 in order and \\['pixels'\\]"):
            layer(pixels=torch.from_numpy(images))
        with self.assertRaisesRegex(smelt.UsageError, "computes no gradients"):
            layer(torch.from_numpy(images).requires_grad_())
        with self.assertRaisesRegex(smelt.UsageError, "axes"):
            layer(torch.zeros(3))

    def test_inside_other_graphs(self):
        layer = smelt.torch.Module(smelt.compile(scale_model()), device="cpu")
        x = torch.randn(3, 4)
        twice = lambda x: layer(x.t().contiguous().t()) * 2  # not contiguous there
        expected = x * torch.arange(1.0, 5) * 2
        torch.testing.assert_close(torch.compile(twice, backend="eager", fullgraph=True, dynamic=True)(x), expected)

        class Twice(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = layer

            def forward(self, x):
                return self.layer(x) * 2

        program = torch.export.export(Twice(), (x,), dynamic_shapes=({0: torch.export.Dim("rows")},))
        self.assertIn("smelt.run", str(program.graph))
        torch.testing.assert_close(program.module()(torch.cat([x, x])), torch.cat([expected, expected]))


if __name__ == "__main__":
    unittest.main()
