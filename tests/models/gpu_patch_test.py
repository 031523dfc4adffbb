#!/usr/bin/env python3
"""smelt patch on a GPU: every kernel of a plan takes its own text with another comment, and refuses one that computes nothing.

Each is judged by the interpreter on random inputs of the kernel's fusion; a patch, compilation included, may take two
seconds. Needs a GPU. Models are the demo's and, where the exports are there, one whole transformer's plan for a shape.
"""
import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

import models

ACCURACY = 4  # smelt's exit code where outputs differ
LIMIT_S = 2
SHAPES = {'digits_vit': ['images=3x1x8x8'], 'bert_base.dy20_fp16': ['input_ids=1x77', 'attention_mask=1x77']}
BODY = re.compile(r'extern "C" __global__ .*?\) \{\n', re.DOTALL)


def judged(smelt, plan, entry, text, folder):
    """(exit code, seconds, what was said) of a patch into another file."""
    source = Path(folder, 'kernel.cu')
    source.write_text(text)
    started = time.monotonic()
    done = models.attempt(smelt, 'patch', plan, f'{entry}={source}', '-o', f'{folder}/patched.plan')
    return done.returncode, time.monotonic() - started, (done.stdout + done.stderr).strip()


def check(smelt, plan, entry, folder, tally):
    text = models.call(smelt, 'inspect', plan, '--source', entry).stdout
    code, seconds, said = judged(smelt, plan, entry, '// by hand\n' + text, folder)
    tally.add(code == 0 and seconds < LIMIT_S, entry, f'its own text: {seconds:.2f} s{"" if code == 0 else ", " + said}')
    nothing, replaced = BODY.subn(lambda body: body[0] + '  return;\n', text)
    assert replaced == 1, f'{entry}: {replaced} kernels in one text'
    code, seconds, said = judged(smelt, plan, entry, nothing, folder)
    refused = code == ACCURACY and 'relative error' in said and seconds < LIMIT_S
    tally.add(refused, entry, f'computes nothing: {seconds:.2f} s{"" if refused else f", code {code}: {said}"}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    models.arguments(parser)
    parser.add_argument('--arch', default='sm_90a')
    parser.add_argument('--json', help='file for the results')
    args = parser.parse_args()
    args.models, tally = args.models or ','.join(SHAPES), models.Tally()
    for model, (path, flags) in models.selected(args, models.find_structure):
        shapes = [part for shape in SHAPES[model.name] for part in ('--shape', shape)]
        with tempfile.TemporaryDirectory() as folder:
            plan = f'{folder}/model.plan'
            models.call(args.smelt, 'compile', path, '-o', plan, '--arch', args.arch, *flags, *shapes)
            launches = models.smelt_json(args.smelt, 'inspect', plan)['programs'][0]['launches']
            for entry in dict.fromkeys(launch['entry'] for launch in launches):
                check(args.smelt, plan, entry, folder, tally)
    models.write_figures(args.json, 'smelt.gpu_patch/1', models.gpu() if args.json else {}, tally.rows)
    return tally.finish()


if __name__ == '__main__':
    sys.exit(main())
