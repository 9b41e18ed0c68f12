"""Whether Python code reads standard input: told from its text, and checked by running it."""

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
    "def f():\n    return input\nf()()",
    "f = input\nf()",
    "f = g = input\ng()",
    "(lambda: input())()",
    "f = lambda: input()\nf()",
    "def outer():\n    def inner():\n        return input()\n    return inner()\nouter()",
    "def f(ask):\n    return ask('?')\nf(input)",
    "def f(ask=input):\n    return ask('?')\nf()",
    "list(map(lambda _: input(), range(2)))",
    "for line in iter(input, '1'): pass",
    "ask = {'q': input}\nask['q']()",
    "for ask in [input]: ask()",
    "from functools import partial\nask = partial(input, '?')\nask()",
    "class A:\n    def run(self):\n        return input()\nA().run()",
    "class A:\n    def __init__(self):\n        self.ask = input\n    def run(self):\n        return self.ask()\nA().run()",
    "class A:\n    @property\n    def name(self):\n        return input()\nA().name",
    "class A:\n    def __enter__(self):\n        return input()\n    def __exit__(self, *a): pass\nwith A(): pass",
    "class A:\n    def __call__(self):\n        return input()\na = A()\na()",
    "class A:\n    x = input()",
    "class A:\n    @staticmethod\n    def ask(): return input()\nA.ask()",
    "class A:\n    @classmethod\n    def ask(cls): return input()\nA.ask()",
    "class A:\n    def ask(self): return input()\nclass B(A): pass\nB().ask()",
    "def deco(f):\n    def inner():\n        input()\n        return f()\n    return inner\n@deco\ndef g(): pass\ng()",
    "if __name__ == '__main__':\n    input()",
    "def main():\n    input()\nif __name__ == '__main__':\n    main()",
    "import random\nif random.random() >= 0: input()",
    "try:\n    input()\nexcept EOFError: pass",
    "try:\n    1 / 0\nexcept ZeroDivisionError:\n    input()",
    "try: input = raw_input\nexcept NameError: pass\ninput()",
    "while True:\n    if input(): break",
    "x = [input() for _ in range(2)]",
    "print(f'{input()}')",
    "x = 1 and input()",
    "if (n := input()): pass",
    "n = 0\nwhile n < 2:\n    if n == 1: input()\n    n += 1",
    "import sys\nsys.stdin.read()",
    "import sys as s\ns.stdin.readline()",
    "from sys import stdin\nstdin.read()",
    "from sys import *\nstdin.read()",
    "import sys\nr = sys.stdin.readline\nr()",
    "import sys\nsys.stdin.buffer.read()",
    "import sys\nsys.__stdin__.read()",
    "import sys\nfor line in sys.stdin: pass",
    "import sys\nlist(sys.stdin)",
    "import sys\nprint(*sys.stdin)",
    "import sys\n[*sys.stdin]",
    "import sys\nfirst, *rest = sys.stdin",
    "import sys\nprint('1\\n' in sys.stdin)",
    "import sys\nit = iter(sys.stdin)\nnext(it)",
    "import sys\nwith sys.stdin as f: f.read()",
    "import sys, json\njson.load(sys.stdin)",
    "import sys, csv\nlist(csv.reader(sys.stdin))",
    "import sys, io\nio.TextIOWrapper(sys.stdin.buffer).read()",
    "import sys, codecs\ncodecs.getreader('utf-8')(sys.stdin.buffer).read()",
    "import sys\ndef lines(f):\n    return [l for l in f]\nlines(sys.stdin)",
    "import sys\nif not sys.stdin.isatty(): sys.stdin.read()",
    "import sys\ngetattr(sys, 'stdin').read()",
    "import sys, threading\nt = threading.Thread(target=sys.stdin.read)\nt.start()\nt.join()",
    "from threading import Thread\nclass T(Thread):\n    def run(self): input()\nt = T()\nt.start()\nt.join()",
    "import builtins\nbuiltins.input()",
    "__builtins__.input()",
    "getattr(__builtins__, 'input')()",
    "__import__('builtins').input()",
    "__import__('sys').stdin.read()",
    "import importlib\nimportlib.import_module('sys').stdin.read()",
    "eval('input()')",
    "exec('x = input()')",
    "exec(compile('input()', 'x', 'exec'))",
    "eval('inp' + 'ut()')",
    "open(0).read()",
    "with open(0) as f: f.read()",
    "open('/dev/stdin').read()",
    "from pathlib import Path\nPath('/dev/stdin').read_text()",
    "import os\nos.read(0, 1)",
    "import os, sys\nos.read(sys.stdin.fileno(), 1)",
    "import os\nos.fdopen(0).read()",
    "import os\nwith os.fdopen(os.dup(0)) as f: f.read()",
    "import fileinput\nfor l in fileinput.input(): pass",
    "import fileinput\nfor l in fileinput.input('-'): pass",
    "import getpass\ngetpass.getpass()",
    "import code\ncode.interact()",
    "import pdb\npdb.set_trace()\nx = 1",
    "breakpoint()\nx = 1",
    "import cmd\nclass C(cmd.Cmd):\n    def do_EOF(self, a): return True\nC().cmdloop()",
    "help()",
    "import subprocess\nsubprocess.run(['cat'])",
    "import subprocess\nsubprocess.run('cat', shell=True)",
    "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'input()'])",
    "import os\nos.system('cat > /dev/null')",
    "import os\nos.system('read x')",
    "import asyncio\nasync def main():\n    return await asyncio.to_thread(input)\nasyncio.run(main())",
    "import atexit\n@atexit.register\ndef f(): input()",
    "input = input\ninput()",
    "def input_(): return input()\ninput_()",
    "def f():\n    global ask\n    ask = input\nf()\nask()",
    "from unittest.mock import patch\nwith patch('builtins.input'): pass\ninput()",
    "match 1:\n    case _: input()",
    "import sys\nsys.stdin = open(0)\ninput()",
    "xs = []\nxs.append(1)\nfor x in xs: input()",
    "def f():\n    ask = None\n    def g():\n        nonlocal ask\n        ask = input\n    g()\n    ask()\nf()",
    "input = 1\ndel input\ninput()",
    "class A: pass\nA.ask = input\nA.ask()",
    "import sys\nx: object = sys.stdin\nx.read()",
    "def f(*asks):\n    asks[0]()\nf(input)",
    "def f(**asks):\n    pass\nf(x=input())",
    "while True:\n    break\ninput()",
    "class T:\n    def __iter__(self):\n        input()\n        return iter([])\nfor x in T(): pass",
    "class T:\n    def __next__(self):\n        return input()\nnext(T())",
    "import subprocess\nsubprocess.run(args=['cat', '-'])",
    "import os\nos.execvp('cat', ['cat'])",
    "x = 1\nx += len(input())",
    "try:\n    pass\nfinally:\n    input()",
    "x = {input(): 1 for _ in range(1)}",
    "print({'a': input()}, not input())",
    "xs = [1]\nwhile xs:\n    xs.pop()\n    input()",
    "def g():\n    yield input()\nlist(g())",
    "def g():\n    yield input()\nfor x in g(): pass",
    "import sys\ndef g():\n    yield from sys.stdin\nlist(g())",
    "import asyncio\nasync def ask():\n    return input()\nasync def main():\n    await asyncio.gather(ask())\nasyncio.run(main())",
    "import sys\nif len(sys.argv) > 1:\n    f = open(sys.argv[1])\nelse:\n    f = sys.stdin\nf.read()",
    "import sys\nname = sys.argv[1] if len(sys.argv) > 1 else input()",
    "import subprocess\nsubprocess.run(['bash', '-c', 'read x'])",
    "import subprocess\nsubprocess.run(['python3', '-c', 'input()'])",
    "import fileinput\nfor l in fileinput.input(files=('-',)): pass",
    "class A:\n    def __enter__(self): pass\n    def __exit__(self, *a): input()\nwith A(): pass",
    "class A:\n    def __str__(self): return input()\nprint(f'{A()}')",
    "class A:\n    def __getitem__(self, key): return input()\nA()[0]",
    "class A:\n    def __getattr__(self, name): return input()\nA().x",
    "class A:\n    def __len__(self): return int(input())\nlen(A())",
    "class A:\n    def __iter__(self): yield input()\nfor x in A(): pass",
    "class A:\n    def go(self): self.ask()\nclass B(A):\n    def go(self): super().go()\n    def ask(self): input()\nB().go()",
    "import sys\nvars(sys)['stdin'].read()",
    "def f(n):\n    if n == 0: return input()\n    return f(n - 1)\nf(3)",
    "match 1:\n    case 2: pass\n    case _: input()",
    "import csv, sys\nr = csv.reader(sys.stdin)\nnext(r)",
    "import threading\nt = threading.Thread(target=input)\nt.start()\nt.join()",
    "list(input() for _ in [1])",
]

READS_NOT_RUN = [
    "import click\nclick.prompt('x')",
    "from rich.prompt import Prompt\nPrompt.ask('x')",
    "import typer\ntyper.confirm('x')",
    "from prompt_toolkit import prompt\nprompt('x')",
    "import pty\npty.spawn(['ls'])",
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
    "for _ in []: input()",
    "for _ in range(0): input()",
    "[input() for _ in ()]",
    "x = False and input()",
    "x = True or input()",
    "x = input() if False else 1",
    "import sys\nsys.exit()\ninput()",
    "def main():\n    raise SystemExit\n    input()\nmain()",
    "import sys\ndef main():\n    sys.exit(0)\nmain()\ninput()",
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
    "import sys\nwhile True:\n    sys.exit()\ninput()",
    "assert False\ninput()",
    "def f(): return 1\nif f() == 2: input()",
    "if 'a' + 'b' == 'ba': input()",
    "import subprocess\nsubprocess.run(['cat', '--version'])",
    "import subprocess\nsubprocess.run([])",
    "import os\nos.system('cat \"/dev/null')",
    "def f(n=0, *, m=1): return n + m\nf(1, m=2)\nopen",
    "async def f():\n    return input()\nf",
    "import sys\nif len(sys.argv) < 2:\n    sys.exit(1)\ninput()",
    "import sys\nfor name in sys.argv[1:]: input()",
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
    assert reads_stdin("input()\n" + "x = 1\n" * 20_000)
    assert not reads_stdin("input()\n" + "x = 1\n" * 200_000)
