"""What the tests of generated models share: a subject has a name, shapes, inputs for each, and writes itself to a folder
(one_layer.py, edges.py); a check looks at one and says whether it holds, and a line of text.
"""
import argparse
import tempfile

import models


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('--smelt', required=True, help='the smelt binary')
    parser.add_argument('--models', help='comma-separated names; all by default')
    parser.add_argument('--seed', type=int, default=0, help='of the weights')
    return parser.parse_args()


def check_agreement(args, subject, path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    worst = 0.0
    for seed, shape in enumerate(subject.shapes):
        inputs = subject.make_inputs(shape, seed)
        actual = models.run(args.smelt, path, inputs, 'cpu')
        for output, reference in zip(session.get_outputs(), session.run(None, inputs)):
            worst = max(worst, models.relative_error(actual[output.name], reference)[0])
    return worst <= subject.tolerance, \
        f'relative error at most {worst:.1e} (limit {subject.tolerance:.0e}) at {len(subject.shapes)} shapes'


def have_onnxruntime():
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        print('SKIPPED agreement: the onnxruntime package is not installed')
        return False
    return True


def run(args, subjects, checks):
    """Applies `checks`, and agreement with ONNX Runtime where that is installed, to each subject; an exit code."""
    checks = checks + ([check_agreement] if have_onnxruntime() else [])
    tally = models.Tally()
    for subject in subjects:
        with tempfile.TemporaryDirectory() as folder:
            path = subject.write(folder, args.seed)
            for check in checks:
                try:
                    good, text = check(args, subject, path)
                except RuntimeError as error:
                    good, text = False, str(error)
                tally.add(good, subject.name, text)
    return tally.finish()
