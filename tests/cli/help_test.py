"""smelt help: the manual page and the completions, as troff and the shells take them."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SMELT = os.environ["SMELT"]
FORMATS = ("man", "bash", "zsh", "fish")


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def flags_of(text):
    """Options that a command's --help lists at the beginnings of its lines."""
    heads = (re.split(r"\s{2,}", line.strip())[0] for line in text.splitlines() if line.startswith("  -"))
    return {flag for head in heads for flag in re.findall(r"(?<![\w-])--?[a-z][A-Za-z0-9-]*", head)}


def commands():
    """{command: its flags}, by --help alone."""
    text = output(SMELT, "--help")
    names = re.findall(r"^  ([a-z]+) +\S", re.split("(?i)\\b(?:sub)?commands:", text)[1].split("\n\n")[0], re.MULTILINE)
    return {name: flags_of(output(SMELT, name, "--help")) for name in names}


def section(text, start, end):
    """From a command's start to the next one's."""
    begin = text.index(start)
    found = re.search(end, text[begin + len(start) :])
    return text[begin : begin + len(start) + found.start()] if found else text[begin:]


class Help(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.commands = commands()
        cls.texts = {name: output(SMELT, "help", name) for name in FORMATS}
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        for name, text in cls.texts.items():
            cls.path.joinpath(name).write_text(text)
        cls.path.joinpath("model.onnx").touch()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_there_is_something_to_complete(self):
        self.assertGreaterEqual(len(self.commands), 8)
        self.assertIn("--device", self.commands["run"])
        self.assertIn("-o", self.commands["compile"])

    def test_every_flag_is_in_each(self):
        ways = {
            "man": (lambda command: f'.SS "smelt {command} ', r"\n\.S[SH] ", lambda flag: flag.replace("-", r"\-") + r"\f"),
            "bash": (lambda command: f"\n  {command})\n", r";;\n  \S", lambda flag: flag),
            "zsh": (lambda command: f"\n  {command})\n", r";;\n  \S", lambda flag: f"*{flag}["),
        }
        for name, (start, end, spelled) in ways.items():
            for command, flags in self.commands.items():
                part = section(self.texts[name], start(command), end)
                for flag in flags:
                    self.assertIn(spelled(flag), part, f"{name}: {command} {flag}")
        for command, flags in self.commands.items():
            lines = [line for line in self.texts["fish"].splitlines() if f"subcommand_from {command}'" in line]
            for flag in flags:
                spelled = f" -l {flag[2:]} " if flag.startswith("--") else f" -s {flag[1:]} "
                self.assertTrue(any(spelled in line for line in lines), f"fish: {command} {flag}")

    def test_the_manual_page_is_without_warnings(self):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", self.path / "man"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        page = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
        self.assertIn("smelt run model.onnx --shape ids=1x128 --output-dir out", page)
        self.assertIn("5 out of memory, disk or time", page)

    def bash(self, *words):
        script = f'source {self.path}/bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _smelt; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return output("bash", "--norc", "-c", script, "bash", "smelt", *words, cwd=self.path).split()

    def test_bash_completes(self):
        self.assertIn("_smelt", output("bash", "--norc", "-c", f"source {self.path}/bash; complete -p smelt"))
        self.assertEqual(self.bash("comp"), ["compile", "compare"])
        self.assertEqual(set(self.bash("")), set(self.commands) | {"-h", "--help", "--version"})
        self.assertEqual(self.bash("run", "--dev"), ["--device"])
        self.assertEqual(set(self.bash("compile", "model.onnx", "-")), self.commands["compile"])
        self.assertEqual(self.bash("run", "--device", "c"), ["cpu", "cuda"])
        self.assertEqual(self.bash("compile", "--emit", ""), ["plan", "mlir", "cuda"])
        self.assertEqual(self.bash("run", "mod"), ["model.onnx"])
        self.assertEqual(self.bash("compile", "-o", "mod"), ["model.onnx"])
        self.assertEqual(self.bash("help", ""), list(FORMATS))
        self.assertEqual(self.bash("no-command", ""), [])

    def test_fish_completes(self):
        def fish(line):
            command = f"source {self.path}/fish; complete -C '{line}'"
            text = output("fish", "--no-config", "-c", command, cwd=self.path, env={**os.environ, "HOME": str(self.path)})
            return [row.split("\t")[0] for row in text.splitlines()]

        self.assertEqual(sorted(fish("smelt comp")), ["compare", "compile"])
        self.assertEqual(fish("smelt run --dev"), ["--device"])
        self.assertEqual(fish("smelt run --device c"), ["cpu", "cuda"])
        self.assertIn("model.onnx", fish("smelt run mod"))
        self.assertEqual(sorted(fish("smelt help ")), sorted(FORMATS))

    def test_zsh_takes_it(self):
        script = f"autoload -U compinit; compinit -D -u; source {self.path}/zsh; print $_comps[smelt]"
        self.assertEqual(output("zsh", "-f", "-c", script), "_smelt\n")

    def test_zsh_completes_from_its_folder(self):
        self.path.joinpath("_smelt").write_text(self.texts["zsh"])

        def called(*words):
            """What the function hands to zsh's own, which stand in for the line editor."""
            script = (
                f"fpath=({self.path}); autoload -U _smelt; compadd() {{ print -l -- $@ }}; _arguments() {{ print -l -- $@ }}; "
                'words=("$@"); CURRENT=$#; _smelt'
            )
            return output("zsh", "-f", "-c", script, "zsh", "smelt", *words).splitlines()

        self.assertEqual(set(called("")) - {"--"}, set(self.commands) | {"-h", "--help", "--version"})
        self.assertTrue(any(line.startswith("*--device[") and line.endswith("(auto cpu cuda)") for line in called("run", "")))
        self.assertIn("1:value:(man bash zsh fish)", called("help", ""))

    def test_an_unknown_format_is_refused(self):
        done = subprocess.run([SMELT, "help", "csh"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'csh' is none of man, bash, zsh, fish", done.stderr)


if __name__ == "__main__":
    unittest.main()
