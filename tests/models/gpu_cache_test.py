#!/usr/bin/env python3
"""Decoders whose caches grow in place on a GPU: one plan starts with an empty cache, takes 7 tokens and then 64 single
ones, in buffers of a fixed capacity that input and output share. Every step's logits are those of the same model
without a cache; a step too many is refused. Prints milliseconds a step, and the bytes that the plan's kernels write
into caches beside those that copying them would take.

Needs a GPU. The generated decoder always runs; llama1b_past where its structure-only export is there, with weights drawn
from one seed, against llama1b, whose weights are given the same names.
"""
import argparse
import glob
import os
import sys
import tempfile
import time

import numpy as np
import onnx

import decoder
import models
from decoder import PAST, PRESENT
from smelt_runtime import DeviceArray, Runtime, Session

PREFILL, STEPS, CAPACITY, SEED = 7, 64, 96, 1


def compile_plan(smelt, model, plan, arch, *flags):
    models.call(smelt, 'compile', model, '-o', plan, '--arch', arch, '--random-weights', SEED, *flags)


class Decoding:
    """The steps of one plan on one set of buffers."""

    def __init__(self, runtime, subject, plan, batch, limit):
        self.subject, self.batch, self.past = subject, batch, 0
        self.runtime, self.session = runtime, Session(runtime, plan)
        self.ids = DeviceArray(runtime, [batch, limit], np.int64)
        self.mask = DeviceArray(runtime, [batch, limit], np.int64)
        self.logits = DeviceArray(runtime, [batch, limit, subject.vocabulary], subject.element)
        shape = [batch, subject.heads, CAPACITY, subject.head]
        self.caches = {name: DeviceArray(runtime, shape, subject.element) for name in subject.caches}
        self.session.bind('input', 'input_ids', self.ids)
        self.session.bind('output', subject.logits, self.logits)
        if subject.masked:
            self.session.bind('input', 'attention_mask', self.mask)
            self.mask.write(np.ones([batch, limit], np.int64))
        for name, buffer in self.caches.items():
            self.session.bind('input', PAST + name, buffer, CAPACITY)
            self.session.bind('output', PRESENT + name, buffer, CAPACITY)

    def step(self, ids):
        """Logits of `ids` behind what was seen, and the milliseconds of host work and of the whole step."""
        count = ids.shape[1]
        self.ids.write(ids)
        self.runtime.wait()
        start = time.perf_counter()
        self.session.shape('input_ids', ids.shape)
        if self.subject.masked:
            self.session.shape('attention_mask', [self.batch, self.past + count])
        for name in self.caches:
            self.session.shape(PAST + name, [self.batch, self.subject.heads, self.past, self.subject.head])
        self.session.prepare()
        self.session.enqueue()
        host = time.perf_counter()
        self.runtime.wait()
        end = time.perf_counter()
        self.past += count
        logits = self.logits.read([self.batch, count, self.subject.vocabulary])
        return logits, (host - start) * 1e3, (end - start) * 1e3

    def close(self):
        self.session.close()
        for array in [self.ids, self.mask, self.logits, *self.caches.values()]:
            array.free()


def whole_logits(runtime, subject, plan, tokens):
    """Of the model without a cache, all tokens at once."""
    session = Session(runtime, plan)
    name = onnx.load(subject.whole, load_external_data=False).graph.output[0].name
    ids = DeviceArray(runtime, tokens.shape, np.int64)
    logits = DeviceArray(runtime, [*tokens.shape, subject.vocabulary], subject.element)
    ids.write(tokens)
    session.shape('input_ids', tokens.shape)
    session.bind('input', 'input_ids', ids)
    session.bind('output', name, logits)
    session.prepare()
    session.enqueue()
    runtime.wait()
    result = logits.read(logits.shape)
    session.close()
    ids.free(), logits.free()
    return result


def check(runtime, subject, plan, whole, batch):
    limit = PREFILL + STEPS
    tokens = np.random.default_rng(7).integers(0, subject.vocabulary, (batch, limit))
    expected = whole_logits(runtime, subject, whole, tokens)
    decoding = Decoding(runtime, subject, plan, batch, CAPACITY + 1)
    worst, times = 0.0, []
    for begin in [0, *range(PREFILL, limit)]:
        ids = tokens[:, begin:begin + (PREFILL if begin == 0 else 1)]
        logits, host, total = decoding.step(ids)
        norm, _ = models.relative_error(logits, expected[:, begin:begin + ids.shape[1]])
        worst = max(worst, norm)
        times.append((host, total))
    refused = ''
    try:
        decoding.step(np.zeros([batch, CAPACITY + 1 - limit], np.int64))
    except RuntimeError as error:
        refused = str(error)
    decoding.close()
    row = batch * subject.heads * subject.head * np.dtype(subject.element).itemsize * len(subject.caches)
    host, total = np.median(np.array(times[1:]), axis=0)
    good = worst <= subject.tolerance and 'capacity' in refused
    print(f'{"ok  " if good else "FAIL"} {subject.title} batch {batch}: {limit} tokens, worst step {worst:.2e} '
          f'(limit {subject.tolerance:.0e}); {total:.3f} ms a step, {host:.3f} of them until it is enqueued; {row} bytes '
          f'written into caches a step, where copies would read and write {2 * row * (limit - 1)} at the last; '
          f'too many tokens: {refused or "NOT REFUSED"}', flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--smelt', required=True)
    parser.add_argument('--library', help='libsmelt_rt.so (default: of the build tree of --smelt)')
    parser.add_argument('--model-dir', default=models.default_model_dir())
    parser.add_argument('--arch', default='sm_90a')
    args = parser.parse_args()
    built = os.path.join(os.path.dirname(os.path.abspath(args.smelt)), '..', 'runtime', 'libsmelt_rt.so')
    library = args.library or next(iter(glob.glob(built)), None)
    if library is None:
        print(f'SKIPPED: {built} is not there')
        return 77
    runtime = Runtime(library)
    with tempfile.TemporaryDirectory() as folder:
        plan, whole, good = os.path.join(folder, 'cached.plan'), os.path.join(folder, 'whole.plan'), []
        for subject in decoder.subjects(folder, args.model_dir):
            compile_plan(args.smelt, subject.cached, plan, args.arch, '--in-place', decoder.IN_PLACE)
            compile_plan(args.smelt, subject.whole, whole, args.arch)
            good += [check(runtime, subject, plan, whole, batch) for batch in (1, 3)]
    print(f'{sum(good)} passed, {len(good) - sum(good)} failed')
    return 0 if all(good) else 1


sys.exit(main())
