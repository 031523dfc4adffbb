#!/usr/bin/env python3
"""Compares the C APIs with the list of what programs were built against, docs/c_abi.txt.

usage: tools/c_abi.py BUILD [--update [--break]]

BUILD is the folder of a release build. The list has every function with the version of its symbol, every
enumerator, and every field of every struct with its place. What went or changed breaks programs; what came
must be added. --update adds it; with --break it also drops what went, which asks for a new SONAME. A struct
that begins with struct_size may grow at its end. Exits with 1 where list and APIs differ.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "docs" / "c_abi.txt"
# Each header, and the library that has its functions.
APIS = {
    "runtime/smelt.h": "runtime/libsmelt_rt.so.1",
    "runtime/smelt_fake_driver.h": "runtime/fake_driver/libcuda.so.1",
    "compiler/smelt_compiler.h": "compiler/installed/libsmelt_compiler.a",
}
FUNCTION = re.compile(r'__attribute__\(\(visibility\("default"\)\)\)\s*([^;]*?\b(smelt_\w+)\([^;]*\));')
ENUMERATOR = re.compile(r"\b(SMELT_\w+) = (-?\d+)")
RECORD = re.compile(r"\*\*\* Dumping AST Record Layout\n(.*?)\[sizeof=(\d+)", re.DOTALL)
FIELD = re.compile(r"^ *(\d+) \|   (.*) (\w+)$", re.MULTILINE)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def clang(header, *options):
    return output("clang-22", "-std=c89", f"-I{ROOT / 'runtime'}", "-x", "c", *options, ROOT / header)


def exported(library):
    """{function: version of its symbol, or "archive"}"""
    kind = "-g" if library.suffix == ".a" else "-D"
    names = output("nm", kind, "--defined-only", "--format=just-symbols", library).split()
    symbols = (name.replace("@@", "@").partition("@") for name in names if name.startswith("smelt_"))
    return {name: version or "archive" for name, _, version in symbols if not name.endswith(".o:")}


def functions(text, library):
    """A line a function that the header declares; fails where header and library differ."""
    declared = {match[2]: " ".join(match[1].split()) for match in FUNCTION.finditer(text)}
    symbols = exported(library)
    if foreign := symbols.keys() ^ declared.keys():
        sys.exit(f"c_abi: either declared or in {library.name}, not both: {', '.join(sorted(foreign))}")
    return [f"function {declared[name]} [{symbols[name]}]" for name in sorted(declared)]


def records(dump):
    """A line a struct and a line a field, of those that are ours."""
    for body, size in sorted(RECORD.findall(dump), key=lambda record: record[0].split("\n")[0]):
        name = re.search(r"\| (?:struct )?(smelt_\w+)$", body, re.MULTILINE)
        if not name:
            continue
        fields = FIELD.findall(body)
        grows = " or more" if fields[0][2] == "struct_size" else ""
        yield f"struct {name[1]} has {size} bytes{grows}"
        yield from (f"field {name[1]}.{field} at {place}: {kind}" for place, kind, field in fields)


def api(header, library):
    text = clang(header, "-E", "-P")
    lines = functions(text if header == "runtime/smelt.h" else without_runtime(text), library)
    lines += [f"enumerator {name} = {value}" for name, value in ENUMERATOR.findall(text)]
    return lines + list(records(clang(header, "-fsyntax-only", "-Xclang", "-fdump-record-layouts-complete")))


def without_runtime(text):
    """The header's own part of its preprocessed text: the runtime's functions, which it includes, are left out."""
    runtime = {match[2] for match in FUNCTION.finditer(clang("runtime/smelt.h", "-E", "-P"))}
    return FUNCTION.sub(lambda match: "" if match[2] in runtime else match[0], text)


def size_of(line):
    match = re.fullmatch(r"(struct \w+) has (\d+) bytes or more", line)
    return (match[1], int(match[2])) if match else None


def differences(old, new):
    """(what went or changed, what came). A size that grows is something that came."""
    sizes = dict(filter(None, map(size_of, new)))
    gone = [line for line in old if line not in set(new)]
    grown = [line for line in gone if (size := size_of(line)) and sizes.get(size[0], 0) > size[1]]
    return [line for line in gone if line not in grown], [line for line in new if line not in set(old)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--break", dest="breaks", action="store_true")
    options = parser.parse_args()
    new = list(dict.fromkeys(line for header, library in APIS.items() for line in api(header, options.build / library)))
    old = LIST.read_text().splitlines() if LIST.exists() else []
    gone, came = differences(old, new)
    if options.update and (options.breaks or not gone):
        LIST.write_text("".join(line + "\n" for line in new))
        return 0
    for line in gone:
        print(f"c_abi: gone or changed, which breaks programs: {line}")
    for line in came:
        print(f"c_abi: not in docs/c_abi.txt: {line}")
    if gone:
        print("c_abi: keep it, or raise SOVERSION and run tools/c_abi.py BUILD --update --break")
    elif came:
        print("c_abi: run tools/c_abi.py BUILD --update")
    return 1 if gone or came else 0


if __name__ == "__main__":
    sys.exit(main())
