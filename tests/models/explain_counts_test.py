#!/usr/bin/env python3
"""`smelt explain --json` on every model: attention in every layer, every norm in a kernel, few kernels a layer; and all of
that at each form in which people give shapes: all open, all fixed, sizes of 1, one input's shape alone. Of images: no kernel
is generic, and one at most only brings the channels of the model's input to the end.
"""
import argparse
import sys
from dataclasses import dataclass

import models

KERNELS_PER_LAYER = 5
KERNELS_OUTSIDE_LAYERS = 6  # positions, embedding or patches, mask, first product of layer one, final norm, head


@dataclass(frozen=True)
class Export:
    """`layers` x attentions a layer, and the norms of the architecture: two a layer and those around the layers."""
    name: str
    family: str
    attention: int
    norms: int
    pointwise: int | None = None  # kernels of elementwise ops, of more than one token
    kernels: int | None = None  # altogether


# Depthwise convolution and two products in each of the 18 blocks; stem, downsampling and head have 10.
CONVNEXT = 3 * 18 + 10

# Positions, their angles, cosines and sines; projections turn queries and keys.
ROTARY = 4

EXPORTS = [
    Export('minilm.ts_fp16', 'masked', 6, 2 * 6 + 1),  # post-norm encoders: and one after the embedding
    Export('minilm.ts_fp32', 'masked', 6, 2 * 6 + 1),
    Export('minilm.dy20_fp16', 'masked', 6, 2 * 6 + 1),
    Export('bert_base.ts_fp16', 'masked', 12, 2 * 12 + 1),
    Export('bert_base.dy20_fp16', 'masked', 12, 2 * 12 + 1),
    Export('bert_base.dy23_fp16', 'masked', 12, 2 * 12 + 1),
    Export('distilbert.dy20_fp16', 'masked', 6, 2 * 6 + 1),
    Export('roberta.ts_fp16', 'masked', 4, 2 * 4 + 1),  # cut to 4 layers
    Export('roberta.dy20_fp16', 'masked', 4, 2 * 4 + 1),
    Export('gpt2.dy20_fp16', 'ids', 12, 2 * 12 + 1),  # pre-norm: and one before the head
    Export('llama1b.dy20_fp16', 'ids', 4, 2 * 4 + 1, ROTARY),  # cut to 4 layers
    Export('qwen2.dy20_fp16', 'ids', 4, 2 * 4 + 1, ROTARY),  # cut to 4 layers
    Export('t5_small.ts_fp16', 'ids', 6, 2 * 6 + 1),  # the encoder
    Export('llama1b_decode.ts_fp16', 'decode', 4, 2 * 4 + 1),
    Export('llama1b_past.dy20_fp16', 'past', 4, 2 * 4 + 1),
    Export('llama1b_past.ts_fp16', 'past', 4, 2 * 4 + 1),
    Export('vit_b16.ts_fp16', 'pixel_values', 12, 2 * 12 + 1),
    Export('vit_b16.dy20_fp16', 'pixel_values', 12, 2 * 12 + 1),
    Export('vit_b16.dy23_fp16', 'pixel_values', 12, 2 * 12 + 1),
    Export('clip_vision.dy20_fp16', 'pixel_values', 4, 2 * 4 + 1),  # cut to 4 layers; one after the patches
    Export('whisper_enc.ts_fp16', 'input_features', 6, 2 * 6 + 1),
    Export('whisper_enc.dy20_fp16', 'input_features', 6, 2 * 6 + 1),
    Export('convnext_t.ts_fp16', 'x', 0, 18 + 1 + 3 + 1, kernels=CONVNEXT),  # blocks, stem, downsampling, head
    Export('convnext_t.dy20_fp16', 'x', 0, 18 + 1 + 3 + 1, kernels=CONVNEXT),
    # Norms of blocks, patches, merging, head. Of the 12 blocks 5 shift their windows: their masks have windows, and no batch.
    Export('swin_t.ts_fp16', 'x', 12, 2 * 12 + 1 + 3 + 1),
    Export('swin_t.dy20_fp16', 'x', 12, 2 * 12 + 1 + 3 + 1),
    Export('resnet50.ts_fp16', 'x', 0, 0),
    Export('resnet50.dy20_fp16', 'x', 0, 0),
    Export('efficientnet.ts_fp16', 'x', 0, 0),
]

TOKENS = ((1, 128), (8, 512), (1, 1), (3, 77))
# Batch, new tokens, cached ones. One token beside one: no causal mask is left, another expression of the same.
CACHED = ((1, 1, 128), (8, 5, 512), (1, 1, 1), (3, 77, 5))
CACHES = tuple(f'past_key_values.{layer}.{kind}' for layer in range(4) for kind in ('key', 'value'))


def text(*shape):
    return 'x'.join(map(str, shape))


def forms(family):
    """Each form as a list of `--shape` values; none of them first."""
    yield []
    if family in ('masked', 'ids'):
        for shape in TOKENS:
            ids, mask = f'input_ids={text(*shape)}', f'attention_mask={text(*shape)}'
            yield from [[ids], [mask], [ids, mask]] if family == 'masked' else [[ids]]
    elif family == 'decode':
        yield from [['input_ids=1x1'], ['input_ids=8x1'], ['past_k=3x4x8x16x64']]
    elif family == 'past':
        for batch, new, old in CACHED:
            ids, mask = f'input_ids={text(batch, new)}', f'attention_mask={text(batch, new + old)}'
            caches = [f'{name}={text(batch, 8, old, 64)}' for name in CACHES]
            yield from [[ids], [mask], [ids, caches[0]], [ids, mask, *caches]]
    else:
        rest = (80, 3000) if family == 'input_features' else (3, 224, 224)
        for batch in (1, 8, 64):
            yield [f'{family}={text(batch, *rest)}']


MOVES = {'constant', 'expand', 'reshape', 'transpose', 'slice', 'windows', 'concat'}


def explain(args, path, flags, shapes):
    return models.smelt_json(args.smelt, 'explain', path, *flags, *(f'--shape={shape}' for shape in shapes))


def counts_of(args, path, flags, shapes):
    return explain(args, path, flags, shapes)['counts']


def layout_fault(kernels):
    """What is wrong with the kernels of a model of images, as text; None where nothing is."""
    transposes = [kernel for kernel in kernels if 'transpose' in kernel['ops'] and MOVES.issuperset(kernel['ops'])]
    generic = [kernel for kernel in kernels if kernel['kind'] == 'generic']
    if generic or len(transposes) > 1:
        return f'{len(generic)} generic kernels, {len(transposes)} that transpose'
    return None


def check_forms(args, export, path):
    """(whether every form has the architecture's counts, a line about those that do not)"""
    wrong, count = [], 0
    flags = ['--random-weights', '1']
    for shapes in forms(export.family):
        answer = explain(args, path, flags, shapes)
        counts = answer['counts']
        count += 1
        fault = layout_fault(answer['kernels']) if export.family in ('x', 'pixel_values', 'input_features') else None
        if fault:
            wrong.append(f'{" ".join(shapes) or "open"}: {fault}')
        if counts['attention'] != export.attention or counts['norm'] != export.norms:
            wrong.append(f'{" ".join(shapes) or "open"}: attention {counts["attention"]}, norms {counts["norm"]}')
        if export.kernels not in (None, counts['kernels']):
            wrong.append(f'{" ".join(shapes) or "open"}: kernels {counts["kernels"]}, not {export.kernels}')
        pointwise = sum(kernel['kind'] == 'pointwise' for kernel in answer['kernels'])
        if export.pointwise not in (None, pointwise) and shapes[:1] != ['input_ids=1x1']:
            wrong.append(f'{" ".join(shapes) or "open"}: pointwise {pointwise}, not {export.pointwise}')
    return not wrong, f'attention {export.attention}, norms {export.norms} at {count} forms of shapes' \
        + ''.join(f'\n  but {line}' for line in wrong)


def check_kernels(args, model):
    """Few kernels a layer, none for shape arithmetic, for open shapes and for fixed ones."""
    path, flags = models.find_structure(model, args.model_dir, args.cache)
    shapes = [f'{name}={text(*value.shape)}'
              for name, value in models.make_inputs(model, models.SHAPES[model.inputs][0], 0).items()]
    limit = KERNELS_PER_LAYER * model.layers + KERNELS_OUTSIDE_LAYERS
    open_counts, fixed = counts_of(args, path, flags, []), counts_of(args, path, flags, shapes)
    good = all(counts['attention'] == model.attention and counts['norm'] == model.norms
               and counts['kernels'] <= limit and counts['shape_kernels'] == 0 for counts in (open_counts, fixed))
    return good, f'kernels {open_counts["kernels"]}, for one shape {fixed["kernels"]} (limit {limit}), ' \
        f'shape arithmetic on the GPU {open_counts["shape_kernels"]}'


def attempt(tally, name, check):
    """A model whose ops are not all supported is no failure of what is found in it."""
    try:
        good, line = check()
    except models.Missing as reason:
        print(f'SKIPPED {name}: {reason}', flush=True)
        return
    except RuntimeError as error:
        if 'exit 3' in str(error) and 'is not supported' in str(error):
            print(f'SKIPPED {name}: {str(error).splitlines()[-1][:160]}', flush=True)
            return
        good, line = False, str(error)
    tally.add(good, name, line)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    args = parser.parse_args()
    tally = models.Tally()
    wanted = set(args.models.split(',')) if args.models else None
    for model in models.MODELS:
        if not wanted or model.name in wanted:
            attempt(tally, model.name, lambda: check_kernels(args, model))
    for export in EXPORTS:
        if not wanted or export.name in wanted:
            attempt(tally, export.name,
                    lambda: check_forms(args, export, models.structure_of(export.name, args.model_dir)))
    return tally.finish()


sys.exit(main())
