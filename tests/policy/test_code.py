"""`reads_stdin`: rows judged from their text; Python itself confirms each row by running it."""

import json
import subprocess
import sys

import pytest

from toolroll.policy.code import reads_stdin

READS = [
    "input()",
    "x = input('name? ')",
    "print(int(input()) + 1)",
    "def f():\n    return input()\nf()",
    "def outer():\n    def inner():\n        return input()\n    return inner()\nouter()",
    "class A:\n    x = input()",
    "if __name__ == '__main__':\n    input()",
    "def main():\n    input()\nif __name__ == '__main__':\n    main()",
    "try:\n    input()\nexcept EOFError: pass",
    "while True:\n    if input(): break",
    "x = [input() for _ in range(2)]",
    "print(f'{input()}')",
    "if (n := input()): pass",
    "import sys\nsys.stdin.read()",
    "import sys as s\ns.stdin.readline()",
    "from sys import stdin\nstdin.read()",
    "from sys import *\nstdin.read()",
    "import sys\nsys.stdin.buffer.read()",
    "import sys\nsys.__stdin__.read()",
    "import sys\nfor line in sys.stdin: pass",
    "import sys\nlist(sys.stdin)",
    "import sys\nprint(*sys.stdin)",
    "import sys\n[*sys.stdin]",
    "import sys, json\njson.load(sys.stdin)",
    "import sys, csv\nlist(csv.reader(sys.stdin))",
    "import sys\nif not sys.stdin.isatty(): sys.stdin.read()",
    "import builtins\nbuiltins.input()",
    "open(0).read()",
    "with open(0) as f: f.read()",
    "open('/dev/stdin').read()",
    "from pathlib import Path\nPath('/dev/stdin').read_text()",
    "import os\nos.read(0, 1)",
    "import os, sys\nos.read(sys.stdin.fileno(), 1)",
    "import os\nos.fdopen(0).read()",
    "import fileinput\nfor l in fileinput.input(): pass",
    "import fileinput\nfor l in fileinput.input('-'): pass",
    "import getpass\ngetpass.getpass()",
    "import code\ncode.interact()",
    "import pdb\npdb.set_trace()\nx = 1",
    "breakpoint()\nx = 1",
    "def input_(): return input()\ninput_()",
    "xs = []\nxs.append(1)\nfor x in xs: input()",
    "def f(**asks):\n    pass\nf(x=input())",
    "while True:\n    break\ninput()",
    "x = 1\nx += len(input())",
    "try:\n    pass\nfinally:\n    input()",
    "x = {input(): 1 for _ in range(1)}",
    "print({'a': input()}, not input())",
    "xs = [1]\nwhile xs:\n    xs.pop()\n    input()",
    "import asyncio\nasync def ask():\n    return input()\nasync def main():\n    await asyncio.gather(ask())\nasyncio.run(main())",
]

READS_NOT_RUN = [
    "import click\nclick.prompt('x')",
    "from rich.prompt import Prompt\nPrompt.ask('x')",
    "import typer\ntyper.confirm('x')",
    "from prompt_toolkit import prompt\nprompt('x')",
]

HARMLESS = [
    "",
    "# input()",
    "'input()'",
    "print('sys.stdin.read()')",
    "def f():\n    return input()",
    "class A:\n    def run(self):\n        return input()\nA()",
    "f = input",
    "print(input, callable(input))",
    "f = lambda: input()",
    "def outer():\n    def inner():\n        return input()\nouter()",
    "def input(p=''): return 'x'\ninput()",
    "input = lambda *a: 'x'\ninput()",
    "from os.path import join as input\ninput('a')",
    "def f(input):\n    return input()\nf(lambda: 1)",
    "class A:\n    def input(self): return 1\nA().input()",
    "class A:\n    input = staticmethod(lambda: 1)\nA.input()",
    "import builtins\nbuiltins.input = lambda *a: 'x'\ninput()",
    "import sys, io\nsys.stdin = io.StringIO('a\\n')\ninput()",
    "import sys, io\nsys.stdin = io.StringIO('a\\n')\nsys.stdin.read()",
    "from unittest.mock import patch\nwith patch('builtins.input', return_value='x'):\n    input()",
    "from unittest.mock import patch\n@patch('builtins.input', return_value='x')\ndef f(m): return input()\nf()",
    "from unittest import mock\nimport sys, io\nwith mock.patch.object(sys, 'stdin', io.StringIO('a')):\n    input()",
    "if False: input()",
    "if 0:\n    input()\nelse:\n    pass",
    "x = 1\nif x == 2: input()",
    "DEBUG = False\nif DEBUG: input()",
    "DEBUG = False\nif not DEBUG: pass\nelse: input()",
    "while False: input()",
    "x = False and input()",
    "x = True or input()",
    "x = input() if False else 1",
    "import sys\nsys.exit()\ninput()",
    "def main():\n    raise SystemExit\n    input()\nmain()",
    "def f():\n    return 1\n    input()\nf()",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING: input()",
    "if __name__ != '__main__': input()",
    "import sys\nif sys.stdin.isatty(): input()",
    "import sys\nprint(sys.stdin.encoding, sys.stdin.fileno(), sys.stdin)",
    "import sys\nsys.stdin.close()",
    "import sys\nprint(isinstance(sys.stdin, object), hasattr(sys.stdin, 'read'))",
    "import sys\nx = sys.stdin",
    "import sys\nr = sys.stdin.read",
    "import io\nio.StringIO('input()').read()",
    "open('/dev/null').read()",
    "open(__file__).read() if '__file__' in dir() else 0",
    "import os\nr, w = os.pipe()\nos.write(w, b'x')\nos.read(r, 1)",
    "import fileinput\nfor l in fileinput.input('/dev/null'): pass",
    "import fileinput\nfor l in fileinput.input(files=['/dev/null']): pass",
    "import subprocess\nsubprocess.run(['true'])",
    "import subprocess\nsubprocess.run(['cat', '/dev/null'])",
    "import subprocess\nsubprocess.run(['cat'], stdin=subprocess.DEVNULL)",
    "import subprocess\nsubprocess.run(['cat'], input=b'x')",
    "import subprocess\nsubprocess.run(['grep', 'x', '/dev/null'])",
    "import subprocess\nsubprocess.run('echo x | cat', shell=True)",
    "import subprocess\nsubprocess.run('cat < /dev/null', shell=True)",
    "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(1)'])",
    "import os\nos.system('echo input')",
    "exec('print(1)')",
    "eval('1 + 1')",
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('--input', default='x')\nprint(p.parse_args([]).input)",
    "d = {'input': 1}\nd['input']",
    "user_input = 3\nprint(user_input)",
    "import signal\ndef ask(*a): input()\nsignal.signal(signal.SIGUSR1, ask)",
    "def app(f): return f\n@app\ndef f(): input()",
    "match 1:\n    case 2: pass",
    "def f(n):\n    return f(n - 1) if n else 0\nf(3)",
    "def g():\n    yield input()\ng()",
    "import builtins\nsetattr(builtins, 'input', lambda: 'x')\ninput()",
    "def f(): return 1\nif f() == 2: input()",
    "if 'a' + 'b' == 'ba': input()",
    "import subprocess\nsubprocess.run(['cat', '--version'])",
    "import subprocess\nsubprocess.run([])",
    "import os\nos.system('cat \"/dev/null')",
    "def f(n=0, *, m=1): return n + m\nf(1, m=2)\nopen",
    "async def f():\n    return input()\nf",
    "import select, sys\nselect.select([sys.stdin], [], [], 0)",
    "import subprocess\nsubprocess.run(['bash', '-c', 'echo x'])",
    "import sys\nm = map(int, sys.stdin)",
    "import csv, sys\nr = csv.reader(sys.stdin)",
    "x = (input() for _ in [1])",
    "import threading\nthreading.Thread(target=input)",
    "import functools\nfunctools.partial(input, 'x')",
    "try:\n    x = 1\nexcept ValueError:\n    input()",
    "for i in range(3):\n    break\nelse:\n    input()",
    "x = 1\nmatch x:\n    case 1: pass\n    case _: input()",
    "do = {'a': input, 'b': print}\ndo['b'](1)",
    "class A:\n    def go(self): input()\nclass B(A):\n    def go(self): return 1\nB().go()",
]  # fmt: skip


# Runs each program in a process of its own, with a pipe for standard input, and tells which of them took anything from
# it, as the kernel knows. They are forked: starting Python for each would take far longer.
OBSERVER = """
import array, fcntl, json, os, sys, termios
took, silent = [], os.open(os.devnull, os.O_WRONLY)
for source in json.load(open(sys.argv[1])):
    reading, writing = os.pipe()
    os.write(writing, b"1\\n" * 20)
    os.close(writing)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.dup2(reading, 0)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        sys.stdin = sys.__stdin__ = open(0, closefd=False)
        del sys.argv[1:]
        exec(compile(source, "<source>", "exec"), {"__name__": "__main__", "__builtins__": sys.modules["builtins"]})
        sys.exit()
    os.waitpid(child, 0)
    left = array.array("i", [0])
    fcntl.ioctl(reading, termios.FIONREAD, left)
    took.append(left[0] < 40)
    os.close(reading)
print(json.dumps(took))
"""


def consuming(sources, folder):
    """The programs that take something from their standard input when they are run."""
    (folder / "sources.json").write_text(json.dumps(sources))
    argv = [sys.executable, "-I", "-W", "ignore", "-c", OBSERVER, str(folder / "sources.json")]
    done = subprocess.run(argv, stdout=subprocess.PIPE, timeout=100, check=True, cwd=folder)
    return [source for source, took in zip(sources, json.loads(done.stdout), strict=True) if took]


def ids(rows):
    return [row.replace("\n", "; ")[:60] or "nothing" for row in rows]


@pytest.mark.parametrize("source", READS + READS_NOT_RUN, ids=ids(READS + READS_NOT_RUN))
def test_it_reads(source):
    assert reads_stdin(source)


@pytest.mark.parametrize("source", HARMLESS, ids=ids(HARMLESS))
def test_it_does_not_read(source):
    assert not reads_stdin(source)


def test_the_rows_are_right(tmp_path):
    """Python itself agrees with the tables above, and looking for words would not."""
    assert consuming(READS, tmp_path) == READS
    assert consuming(HARMLESS, tmp_path) == []
    assert len([source for source in HARMLESS if "input(" in source or "stdin.read" in source]) > 20


@pytest.mark.parametrize(
    "source",
    [
        "input(" * 5000,
        "(" * 150 + "input()" + ")" * 150,
        "x = " + "-" * 90_000 + "1; input()",
        "input()\0",
        "\ud800input()",
        "def f(:\n    input()",
        "input() " + "+ 1" * 40_000,
        "a." * 60_000 + "input()",
        "x" * 300_000 + " = input()",
        "def f():\n f(); f()\n" + "f();" * 20_000 + "open",
        "\n".join(f"def f{n}(): f{n + 1}(); f{n + 1}()" for n in range(60)) + "\ndef f60(): pass\nf0()\nopen",
        "while True:\n" * 90 + " " * 90 + "input()",
        "open" + "[0]" * 50_000,
        "if input: pass\nelif x: pass\n" + "elif x: pass\n" * 5_000,
        "lambda: " * 3_000 + "input()",
        "\ufeffprint(1)",
        "f'{" * 100 + "input()" + "}'" * 100,
    ],
    ids=range(17),
)
def test_hostile_sources_get_an_answer(source):
    assert reads_stdin(source) in (True, False)


def test_what_is_too_large_is_not_looked_into():
    most = "input()" + "\n" * (200_000 - len("input()"))
    assert reads_stdin(most)
    assert not reads_stdin(f"{most}\n")


def test_what_is_no_program_reads_nothing():
    assert reads_stdin("input(") is False
    assert reads_stdin("x = 1\ninput()\n") is True
