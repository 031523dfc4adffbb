#!/usr/bin/env python3
"""compute-sanitizer's four tools over the kernel templates and over graphs drawn at random. Needs a GPU.

usage: tests/kernels/gpu_kernel_sanitizer.py [--kernel-check build/release/tests/kernels/kernel_check] [--cubins DIR] [--json FILE]
                                             [--generate build/release/bin/smelt_generate] [--graphs 200]

Templates: the small checks of kernel_check, which are of every template, tiling and type, with operands aligned and not, strided,
transposed and repeated, and with sizes that no tile divides. Row-wise, pointwise, columnwise, generic and selecting kernels have no
checks there: graphs reach them. A case is clean where its tool attached and found nothing, and right where it passed
its own comparison, too. Each tool's cases are dealt to several processes; a row of the results is one tool over one template.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / 'tests/models'))
import models  # noqa: E402

FINDING = 86  # the exit code that stands for "the tool found something"
SUMMARY = re.compile(r'^=+ (?:ERROR|RACECHECK) SUMMARY: (.*)$', re.MULTILINE)
COUNTED = re.compile(r'(\d+) (?:error|hazard)')
TEMPLATE = re.compile(r'(gemm_tma_tile|gemm_tma|gemm_wgmma|gemm_simt|gemm_split|gemm|attention_tma|attention_decode|attention_simt|attention|'
                      r'split_reduction)_')


def sanitized(args, tool, command):
    """(findings, None where the tool did not finish; whether the command itself was content; the whole output)."""
    prefix = [args.sanitizer, '--tool', tool, '--error-exitcode', str(FINDING), '--print-limit', '5']
    if tool == 'memcheck':
        prefix += ['--report-api-errors', 'no']  # the driver is asked for entry points that it may lack
    try:
        done = subprocess.run(prefix + command, capture_output=True, text=True, timeout=args.timeout)
    except subprocess.TimeoutExpired:
        return None, False, f'no end within {args.timeout} s'
    output = done.stdout + done.stderr
    found = SUMMARY.search(output)
    findings = int(COUNTED.match(found[1])[1]) if found else None
    return findings, done.returncode == 0, output


def check_part(args, tool, part):
    """(checks by template, findings, failures, output) of one process."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / 'results.json'
        command = [str(args.kernel_check), '--no-timings', '--small', '--part', f'{part}/{args.parts}', '--filter', args.filter,
                   '--source', str(REPOSITORY), '--json', str(results)]
        command += ['--cubins', str(args.cubins)] if args.cubins else []
        findings, is_content, output = sanitized(args, tool, command)
        ran = json.loads(results.read_text())['results'] if results.exists() else []
    checks = Counter(TEMPLATE.match(result['kernel'])[1] for result in ran)
    failed = sum(not result['passed'] for result in ran)
    return checks, findings, failed + (not is_content and not failed), output


def check_graphs(args, tool):
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / 'results.json'
        command = [str(args.generate), '--jobs', '0', '--count', str(args.graphs), '--device', 'cuda', '--arch', args.arch, '--json',
                   str(results)]
        findings, is_content, output = sanitized(args, tool, command)
    return Counter({'graphs': args.graphs if is_content else 0}), findings, int(not is_content), output


def rows_of(tool, outcomes):
    """One row a template. Findings are those of all the tool's processes."""
    checks, findings, failed, outputs = Counter(), 0, 0, []
    for part, found, wrong, output in outcomes:
        checks += part
        findings += 1 if found is None else found
        failed += wrong
        if found != 0 or wrong:
            outputs.append(output[-2000:])
    for template, count in sorted(checks.items()):
        yield {'kernels': template, 'tool': tool, 'checks': count}
    yield {'kernels': 'all', 'tool': tool, 'checks': sum(checks.values()), 'findings': findings, 'failed': failed,
           **({'output': outputs[:3]} if outputs else {})}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    built = REPOSITORY / 'build/release'
    parser.add_argument('--kernel-check', type=Path, default=built / 'tests/kernels/kernel_check')
    parser.add_argument('--generate', type=Path, default=built / 'bin/smelt_generate')
    parser.add_argument('--cubins', type=Path, help='made by kernel_compile --output; else NVRTC compiles')
    parser.add_argument('--filter', default='', help='only kernels whose names hold this text')
    parser.add_argument('--graphs', type=int, default=200, help='drawn at random')
    parser.add_argument('--arch', default='sm_90a')
    parser.add_argument('--tools', default='memcheck,racecheck,synccheck,initcheck')
    parser.add_argument('--sanitizer', default='compute-sanitizer', help='the program')
    parser.add_argument('--parts', type=int, default=6, help='processes for the checks of a tool')
    parser.add_argument('--jobs', type=int, default=14, help='processes at a time')
    parser.add_argument('--timeout', type=int, default=900, help='seconds for one process')
    parser.add_argument('--json', help='file for the results')
    return parser.parse_args()


def main():
    args = arguments()
    machine, rows = models.gpu(), []
    with ThreadPoolExecutor(args.jobs) as pool:
        running = {}
        for tool in args.tools.split(','):
            running[tool] = [pool.submit(check_part, args, tool, part) for part in range(args.parts)]
            if args.graphs:
                running[tool].append(pool.submit(check_graphs, args, tool))
        for tool, parts in running.items():
            for row in rows_of(tool, [part.result() for part in parts]):
                rows.append(row)
                print(row, flush=True)
            models.write_figures(args.json, 'smelt.kernel_sanitizer/2', machine, rows)
    totals = [row for row in rows if row['kernels'] == 'all']
    return 0 if all(row['checks'] and not row['findings'] and not row['failed'] for row in totals) else 1


if __name__ == '__main__':
    sys.exit(main())
