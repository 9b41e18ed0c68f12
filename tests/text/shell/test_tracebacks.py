"""Tracebacks cut to the frames that matter."""

import re
import subprocess
import sys

import pytest

from toolroll.text.shell.tracebacks import compact


def frame(file, line, name, code="x()"):
    return f'  File "{file}", line {line}, in {name}\n    {code}\n'


HEAD = "Traceback (most recent call last):\n"
OWN = [frame("app.py", n, f"f{n}") for n in range(10)]
LIB = [frame(f"/usr/lib/python3.11/lib{n}.py", n, "g") for n in range(5)]
SITE = [frame(f"/v/lib/python3.12/site-packages/a/b{n}.py", n, "h") for n in range(5)]


def left_out(count):
    return f"  ... {count} frame{'s' if count > 1 else ''} left out ...\n"


@pytest.mark.parametrize(
    ("frames", "shown"),
    [
        (OWN[:1], OWN[:1]),
        (OWN[:5], OWN[:5]),
        (OWN[:6], [left_out(1), *OWN[1:6]]),
        (OWN, [left_out(5), *OWN[5:]]),
        ([*OWN[:2], *LIB], [*OWN[:2], left_out(2), *LIB[2:]]),
        ([*OWN[:2], *LIB, *OWN[2:5]], [*OWN[:2], left_out(5), *OWN[2:5]]),
        ([*SITE, *OWN[:4], SITE[0]], [left_out(5), *OWN[:4], SITE[0]]),
        ([LIB[0], OWN[0], LIB[1], OWN[1], LIB[2], OWN[2], LIB[3], OWN[3], LIB[4]],
         [left_out(1), OWN[0], left_out(1), OWN[1], left_out(1), OWN[2], left_out(1), OWN[3], LIB[4]]),
        ([frame("<frozen importlib._bootstrap>", 1, "f"), *OWN[:5]], [left_out(1), *OWN[:5]]),
    ],
)  # fmt: skip
def test_the_last_frames_stay_and_those_of_libraries_go_first(frames, shown):
    before, after = "started\n", "ValueError: bad\nmore\n"
    text = before + HEAD + "".join(frames) + after
    assert compact(text) == before + HEAD + "".join(shown) + after
    assert compact(compact(text)) == compact(text)


def test_so_many_frames_as_asked_for():
    text = HEAD + "".join(OWN) + "E: x"
    assert compact(text, frames=1) == HEAD + left_out(9) + OWN[9] + "E: x"
    assert compact(text, frames=0) == compact(text, frames=1)
    assert compact(text, frames=99) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no traceback here\n",
        "Traceback (most recent call last):",
        "Traceback (most recent call last):\nnothing follows\n",
        "the words Traceback (most recent call last): in a line\n" + "".join(OWN),
        HEAD.replace("\n", "\r\n") + "".join(OWN[:3]).replace("\n", "\r\n") + "E: x\r\n",
        '  File "x.py", line 1, in f\n' * 20,
    ],
)
def test_everything_else_stays(text):
    assert compact(text) == text


def test_lines_end_as_they_did():
    text = (HEAD + "".join(OWN) + "E: x\n").replace("\n", "\r\n")
    assert compact(text).replace("\r\n", "\n") == HEAD + left_out(5) + "".join(OWN[5:]) + "E: x\n"


def run(source, *flags):
    done = subprocess.run(
        [sys.executable, "-I", *flags, "-c", source],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    return done.stderr


DEEP = "".join(f"def f{n}(): f{n + 1}()\n" for n in range(9))


def names(text):
    return re.findall(r"in (\S+)$", text, re.MULTILINE)


def test_a_real_error():
    text = run(DEEP + "def f9(): raise ValueError('a\\nb')\nf0()")
    cut = compact(text)
    assert names(text) == ["<module>", *(f"f{n}" for n in range(10))]
    assert cut.startswith(HEAD + "  ... 6 frames left out ...\n")
    assert names(cut) == ["f5", "f6", "f7", "f8", "f9"]
    assert cut.endswith("ValueError: a\nb\n")


def test_chained_exceptions_are_all_kept():
    text = run(
        DEEP
        + "def f9():\n  try: 1 / 0\n  except Exception as error: raise KeyError('x') from error\n"
        + "try: f0()\nexcept KeyError:\n  f0()"
    )
    cut = compact(text, frames=2)
    kept = ("ZeroDivisionError", "KeyError", "direct cause", "During handling")
    assert {word: text.count(word) for word in kept} == {word: cut.count(word) for word in kept}
    assert cut.count("Traceback (most") == text.count("Traceback (most") == 4
    assert names(cut).count("f9") == 4
    assert len(cut) < len(text)


def test_repetitions_are_told():
    text = run("def a(): b()\ndef b(): a()\ndef f(n): f(n + 1)\ndef g(): f(0)\ng()")
    cut = compact(text)
    assert re.findall(r"\[Previous line repeated \d+ more times\]", cut) == re.findall(r"\[Prev.*\]", text) != []
    assert cut.endswith("RecursionError: maximum recursion depth exceeded\n")
    assert compact(run("def a(): b()\ndef b(): a()\na()")).count("\n") < 20


def test_groups_of_exceptions():
    text = run(DEEP + "def f9(): raise ExceptionGroup('many', [ValueError(1), KeyError(2)])\nf0()")
    cut = compact(text, frames=2)
    assert "  |   ... 9 frames left out ...\n" in cut
    assert ("ValueError: 1" in cut, "KeyError: 2" in cut, "ExceptionGroup: many (2 sub-exceptions)" in cut) == (
        True,
    ) * 3


def test_an_error_of_syntax_shows_its_place():
    text = run(DEEP + "def f9(): compile('x = (', 'there.py', 'exec')\nf0()")
    cut = compact(text, frames=2)
    assert ('File "there.py", line 1\n    x = (' in cut, cut.endswith("SyntaxError: '(' was never closed\n")) == (
        True,
        True,
    )


def test_what_pytest_prints_stays(tmp_path):
    (tmp_path / "test_x.py").write_text(DEEP + "def f9(): assert 0\ndef test_x(): f0()\n")
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tb=native", "test_x.py"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.count("Traceback (most recent call last)") == 1
    assert compact(done.stdout) == done.stdout


def test_many_tracebacks_take_no_time():
    text = (HEAD + "".join(OWN) + "E: x\n\n") * 1_000
    assert compact(text).count("left out") == 1_000
    compact(HEAD * 30_000)
    compact(HEAD + OWN[0] * 30_000)
