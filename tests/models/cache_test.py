#!/usr/bin/env python3
"""A decoder that starts with an empty cache, takes 7 tokens and then 64 single ones, against the same decoder without
a cache: at every step the same logits. One model for all lengths, run by the interpreter; in its plan the caches grow in
place. Exported decoders, where they are there, take 2 steps.
"""
import argparse
import sys
import tempfile

import numpy as np

import decoder
import models

PREFILL, BATCH, SEED = 7, 2, 1


def run(smelt, model, inputs):
    return models.run(smelt, model, inputs, 'cpu', '--random-weights', SEED)


def check_in_place(smelt, subject):
    fused = models.call(smelt, 'compile', subject.cached, '--in-place', decoder.IN_PLACE, '--emit', 'mlir',
                        '--random-weights', SEED).stdout
    lines = [line.split('=', 1)[1].strip() for line in fused.splitlines() if '= smelt.' in line]
    appends = sum(line.startswith('smelt.append') for line in lines)
    attentions = sum(line.startswith('smelt.attention') for line in lines)
    copies = [line for line in lines if line.startswith('smelt.concat') and 'past' in line.split('"')[0]]
    if appends != len(subject.caches) or attentions != len(subject.caches) // 2 or copies:
        raise RuntimeError(f'{appends} caches grow in place and {attentions} attentions read them, of '
                           f'{len(subject.caches)} caches; copies: {copies}')


def check(smelt, subject, steps, seed):
    check_in_place(smelt, subject)
    tokens = np.random.default_rng(seed).integers(0, subject.vocabulary, (BATCH, PREFILL + steps))
    expected = list(run(smelt, subject.whole, {'input_ids': tokens}).values())[0]
    caches, worst = decoder.empty_caches(subject, BATCH), 0.0
    for begin in [0, *range(PREFILL, PREFILL + steps)]:
        end = begin + (PREFILL if begin == 0 else 1)
        mask = {'attention_mask': np.ones((BATCH, end), np.int64)} if subject.masked else {}
        outputs = run(smelt, subject.cached, {'input_ids': tokens[:, begin:end], **mask, **caches})
        caches = {decoder.PAST + name: outputs[decoder.PRESENT + name] for name in subject.caches}
        norm, _ = models.relative_error(outputs[subject.logits], expected[:, begin:end])
        worst = max(worst, norm)
    good = worst <= subject.tolerance
    print(f'{"ok  " if good else "FAIL"} {subject.title}: {PREFILL + steps} tokens, worst step {worst:.2e} '
          f'(limit {subject.tolerance:.0e})', flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--smelt', required=True)
    parser.add_argument('--model-dir', default=models.default_model_dir())
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = [check(args.smelt, subject, 64 if subject.title.startswith('decoder') else 2, seed)
                for seed, subject in enumerate(decoder.subjects(folder, args.model_dir))]
    return 0 if all(good) else 1


sys.exit(main())
