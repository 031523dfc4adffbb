"""Generated graphs in ONNX Runtime: its results against those of Smelt's interpreter, which every other test trusts.

usage: onnxruntime_test.py --generate PATH [--count N] [--seed S]

Graphs that ONNX Runtime does not take (types or opsets that it has no kernel for) are counted, not judged. Skipped (77)
where it is not installed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
KINDS = "mixed,elementwise,views,reductions,norms,attention,convolutions,images,products,contrib,quantized,control"

# Where ONNX Runtime differs, ONNX's own evaluator decides. Seen so far, each time with Smelt on the evaluator's side: its
# float64 Softmax and Tanh are good to 1e-8 only, its Sigmoid loses all digits below -16.
LIMIT_FACTOR = 4  # its kernels round elsewhere, and have other polynomials
ITS_OWN = {"SimplifiedLayerNormalization"}  # in ONNX's domain, but unknown to onnx.checker
IN_FLOAT32 = {"GroupNormalization"}  # of float64, too: its statistics (stash_type), where Smelt's are float64's
FLOAT32_LIMIT = 1e-6  # of float64 results of such graphs


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--generate", required=True)
    parser.add_argument("--count", default="160")
    parser.add_argument("--seed", default="1")
    return parser.parse_args()


def error(numpy, got, wanted):
    """The relative norm of the difference, and whether anything that is not finite differs."""
    got, wanted = got.astype(numpy.float64), wanted.astype(numpy.float64)
    if got.shape != wanted.shape:
        return float("inf")
    same = (got == wanted) | (numpy.isnan(got) & numpy.isnan(wanted))
    difference = numpy.where(same, 0, got - wanted)
    if not numpy.isfinite(difference).all():
        return float("inf")
    finite = wanted[numpy.isfinite(wanted)]
    norm = numpy.linalg.norm(finite)
    distance = numpy.linalg.norm(difference)
    return 0.0 if distance == 0 else distance / norm if norm else float("inf")


def nodes_of(graph):
    """Those of the graphs that its nodes hold too."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from nodes_of(attribute.g)


def agrees_with_evaluator(numpy, onnx, model, feeds, output, wanted, limit):
    from onnx.reference import ReferenceEvaluator

    try:
        result = ReferenceEvaluator(model).run(None, feeds)[output]
    except Exception:  # it does not implement every op for every type
        return False
    return error(numpy, result, wanted) <= limit


def judge(folder, numpy, onnx, onnxruntime):
    """"agrees", "not taken", "known", or the text of a disagreement."""
    model = onnx.load(folder / "model.onnx")
    limits = json.loads((folder / "limits.json").read_text())["limits"]
    data = folder / "test_data_set_0"
    read = lambda path: onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
    try:
        if not any(node.op_type in ITS_OWN for node in nodes_of(model.graph)):
            onnx.checker.check_model(model)
    except Exception as problem:  # whatever the checker throws, the generator drew an invalid graph
        return f"onnx.checker refuses it: {problem}"
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        # Its optimiser makes integer products of what passes through bytes, which round elsewhere.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        feeds = {info.name: read(data / f"input_{i}.pb") for i, info in enumerate(model.graph.input)}
        results = session.run(None, feeds)
    except Exception:  # not implemented for a type, or an opset that it does not know
        return "not taken"
    rounds = any(node.op_type in IN_FLOAT32 for node in nodes_of(model.graph))
    for i, result in enumerate(results):
        wanted = read(data / f"output_{i}.pb")
        distance, limit = error(numpy, result, wanted), LIMIT_FACTOR * limits[i]
        if rounds and result.dtype == numpy.float64:
            limit = max(limit, FLOAT32_LIMIT)
        if distance > limit:
            if agrees_with_evaluator(numpy, onnx, model, feeds, i, wanted, limit):
                return "known"
            ops = "+".join(node.op_type for node in model.graph.node)
            return f"output {i}: relative norm {distance:.3g}, limit {limit:.3g} ({ops})"
    return "agrees"


def main():
    options = arguments()
    try:
        import numpy
        import onnx
        import onnx.numpy_helper
        import onnxruntime
    except ImportError as missing:
        print(f"SKIPPED: {missing}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as holder:
        command = [options.generate, "--export", holder, "--count", options.count, "--seed", options.seed, "--kinds", KINDS]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        verdicts = {folder.name: judge(folder, numpy, onnx, onnxruntime) for folder in sorted(Path(holder).iterdir())}
    counts = {word: sum(v == word for v in verdicts.values()) for word in ("agrees", "not taken", "known")}
    wrong = {name: verdict for name, verdict in verdicts.items() if verdict not in counts}
    for name, verdict in wrong.items():
        print(f"FAILED {name}: {verdict}")
    print(f"{len(verdicts)} graphs: {counts['agrees']} agree, {counts['not taken']} not taken, {counts['known']} known, {len(wrong)} differ")
    few = counts["agrees"] < len(verdicts) // 3
    return 1 if wrong or few else 0


if __name__ == "__main__":
    sys.exit(main())
