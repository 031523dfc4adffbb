#!/usr/bin/env python3
"""Writes docs/passes.md and docs/kernels.md from what passes and kernel templates say of themselves.

usage: tools/write_docs.py          writes both pages
       tools/write_docs.py --check  fails where a page does not say what the sources do

A pass is described by the comment that its file opens with and by its entry in passes/passes.td, a template by the comments
of its files.
"""

import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
HEAD = "# {title}\n\nWritten by `tools/write_docs.py` from the sources; do not edit. {about}\n"
PASS = re.compile(r'^def (?P<name>\w+) : Smelt_\w*Pass<"(?P<flag>[\w-]+)"> \{\n(?P<body>.*?)^\}', re.MULTILINE | re.DOTALL)
PHASE = re.compile(r"^//=+-+=+//\n// (?P<title>.+)\n//=+-+=+//", re.MULTILINE)
SUMMARY = re.compile(r'let summary = "(?P<text>(?:[^"\\]|\\.)*)"')
DESCRIPTION = re.compile(r"let description = \[\{\n(?P<text>.*?)\n\s*\}\]", re.DOTALL)


def comment_of(path):
    """The comment that a file opens with, without its marks."""
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" ").rstrip())
    if not lines:
        raise SystemExit(f"{path.relative_to(REPOSITORY)}: opens with no comment that says what it is for")
    return lines


def escaped(line):
    """What Markdown would take for marks, but in `code`."""
    pieces = line.split("`")
    return "`".join(piece if i % 2 else re.sub(r"[<*\[]", r"\\\g<0>", piece) for i, piece in enumerate(pieces))


def markdown(lines):
    """A comment as Markdown: what is indented below no list stands as it does, as formulas and tables do."""
    result, is_list, is_block = [], False, False
    for line in lines:
        item = re.match(r" *- ", line)
        is_list = bool(line) and (bool(item) or is_list and line.startswith(" "))
        wants_block = line.startswith("  ") and not is_list
        if wants_block != is_block and (wants_block or line):
            result += ["```text"] if wants_block else ["```"]
            is_block = wants_block
            if not wants_block and result[-2] == "":
                result[-2:] = ["```", ""]
        if item and result and result[-1] and not result[-1].lstrip().startswith("- ") and not is_in_list(result):
            result.append("")
        result.append(line if is_block else item.group() + escaped(line[item.end() :]) if item else escaped(line))
    return "\n".join(result + ["```"] * is_block)


def is_in_list(lines):
    """Whether the paragraph at the end is one of a list."""
    for line in reversed(lines):
        if not line or not line.startswith(" "):
            return line.lstrip().startswith("- ")
        if line.lstrip().startswith("- "):
            return True
    return False


def dedented(text):
    lines = text.split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[margin:] for line in lines)


def pass_files():
    """The file of each pass, by the name that passes.td generates its definition under."""
    files = {}
    for path in sorted(REPOSITORY.glob("passes/*/*.cpp")):
        for name in re.findall(r"#define GEN_PASS_DEF_(\w+)", path.read_text()):
            files[name] = path
    return files


def pass_section(entry, files):
    path = files[entry["name"].upper()]
    summary = SUMMARY.search(entry["body"])["text"]
    description = DESCRIPTION.search(entry["body"])
    source = path.relative_to(REPOSITORY)
    parts = [
        f"### {entry['flag']}",
        escaped(summary) + ".",
        markdown(comment_of(path)),
        dedented(description["text"]) if description else "",
        f"[`{source}`](../{source}), tests in [`tests/passes/`](../tests/passes/)",
    ]
    return "\n\n".join(part for part in parts if part)


def passes_page():
    text = (REPOSITORY / "passes/passes.td").read_text()
    files = pass_files()
    marks = sorted([*PHASE.finditer(text), *PASS.finditer(text)], key=lambda match: match.start())
    sections = [f"## {escaped(mark['title'])}" if mark.re is PHASE else pass_section(mark, files) for mark in marks]
    about = "`passes/pipeline.cpp` has their order, and why it is so."
    return "\n\n".join([HEAD.format(title="Passes", about=about).rstrip(), *sections]) + "\n"


def kernel_section(folder):
    parts = [f"## {folder.name}"]
    for path in sorted(folder.glob("*.cpp")) + sorted(folder.glob("*.cuh")):
        if path.suffix == ".cpp" and not path.read_text().startswith("//"):
            continue  # its header says it
        source = path.relative_to(REPOSITORY)
        parts += [f"### [`{path.name}`](../{source})", markdown(comment_of(path))]
    return "\n\n".join(parts)


def kernels_page():
    folders = sorted(path for path in (REPOSITORY / "codegen/kernels").iterdir() if path.is_dir())
    about = "`codegen/select.cpp` says which template runs a fusion; `.cpp` files choose and write, `.cuh` files run."
    return "\n\n".join([HEAD.format(title="Kernels", about=about).rstrip(), *map(kernel_section, folders)]) + "\n"


def main():
    stale = False
    for name, text in (("passes", passes_page()), ("kernels", kernels_page())):
        page = REPOSITORY / "docs" / f"{name}.md"
        if "--check" not in sys.argv:
            page.write_text(text)
        elif not page.exists() or page.read_text() != text:
            print(f"docs/{name}.md does not say what the sources do; run tools/write_docs.py", file=sys.stderr)
            stale = True
    return 1 if stale else 0


sys.exit(main())
