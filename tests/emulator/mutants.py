#!/usr/bin/env python3
"""How much the kernels' checks see: one synchronisation after the other is taken out of the templates, and the checks run.

usage: mutants.py KERNEL_CHECK NVRTC [--file TEXT] [--tries N] [--list]

NVRTC is the emulator's; its libcuda.so.1 lies in LD_LIBRARY_PATH. A mutant is a copy of the device headers without one
statement: a barrier, an arrival at one, a wait. It dies where a check fails, a thread waits for ever, or the machine
reports what a kernel does wrong. Prints a line for each, and the survivors last: those statements are needed by nothing
that is checked, or order what the emulator orders anyway (a warp's threads that the hardware lets run apart).
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[2]
STATEMENT = re.compile(
    r'^\s*(?:if \([^;]*\) )?((?:mbarrier::(?:wait|arrive)|__syncthreads|__syncwarp|wgmma::wait<\d>|ptx::(?:copyAsyncWait|barrierSync)<[^;]*>'
    r'|ptx::clusterWait)\([^;]*\);)'
)
# Which kernels a template is in: the first file that begins so counts.
FILTERS = {
    'gemm_tma_tile': 'gemm_tma_tile', 'gemm_tma': 'gemm_tma_', 'gemm_wgmma': 'gemm_wgmma', 'gemm_simt': 'gemm_simt',
    'gemm_': 'gemm_', 'gemm': 'gemm_', 'attention_tma': 'attention_tma', 'attention_simt': 'attention_simt',
    'attention_decode': 'attention_decode', 'attention': 'attention_', 'columnwise': 'columnwise',
}  # fmt: skip
PARTS = 97  # of the checks with a filter; a try is one of them


class Mutant(NamedTuple):
    file: Path
    line: int
    statement: str


def mutants(text):
    for file in sorted((SOURCE / 'codegen/kernels').rglob('*.cuh')):
        if text not in file.name or not filter_of(file):
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if found := STATEMENT.match(line):
                yield Mutant(file.relative_to(SOURCE), number, found[1])


def filter_of(file):
    return next((names for prefix, names in FILTERS.items() if file.stem.startswith(prefix)), None)


def write_tree(folder, mutant):
    shutil.copytree(SOURCE / 'codegen/device', folder / 'codegen/device')
    shutil.copytree(SOURCE / 'codegen/kernels', folder / 'codegen/kernels')
    shutil.copytree(SOURCE / 'tests/kernels/device', folder / 'tests/kernels/device')
    changed = folder / mutant.file
    lines = changed.read_text().split('\n')
    lines[mutant.line - 1] = lines[mutant.line - 1].replace(mutant.statement, ';')
    changed.write_text('\n'.join(lines))


def cause_of_death(options, mutant):
    """What killed it; nothing where it lives on."""
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder), mutant)
        for part in range(options.tries):
            command = [options.kernel_check, '--nvrtc', options.nvrtc, '--no-timings', '--small', '--source', folder]
            command += ['--filter', filter_of(mutant.file), '--part', f'{part * 13 % PARTS}/{PARTS}']
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            except subprocess.TimeoutExpired:
                return 'it took too long'
            if done.returncode:
                said = [line for line in (done.stdout + done.stderr).splitlines() if 'emulator:' in line or 'FAILED' in line]
                return said[0][:150] if said else f'exit code {done.returncode}'
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('kernel_check')
    parser.add_argument('nvrtc')
    parser.add_argument('--file', default='', help='only of templates whose file name has this text')
    parser.add_argument('--tries', type=int, default=4, help='parts of the checks that each mutant has to live through')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    survivors = []
    for mutant in mutants(options.file):
        place = f'{mutant.file}:{mutant.line}: {mutant.statement}'
        cause = 'not tried' if options.list else cause_of_death(options, mutant)
        survivors += [] if cause else [place]
        print(place, '->', cause or 'LIVES', flush=True)
    print(f'{len(survivors)} live', *survivors, sep='\n')


if __name__ == '__main__':
    sys.exit(main())
