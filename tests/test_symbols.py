"""The measure of references and renames, on a small project: one row of each."""

import json
import shlex
import sys

import pytest

from bench import symbols

FILES = {
    "a.py": "def one(): ...\n\n\ndef two():\n    return one()\n",
    "b.py": "from a import one, two\n\none()\ntwo()\ntwo()\n",
}
PLACES = [["a.py", 1, 5], ["a.py", 5, 12], ["b.py", 1, 15], ["b.py", 3, 1], ["b.py", 9, 9]]
JUDGE = "import sys, json\nfor line in sys.stdin: print({answer!r} if 'a.py' in line and ' 1,' in line else 'null', flush=True)"


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["symbols", *map(str, words)])
    symbols.main()


def test_precision_and_recall(project, monkeypatch, capsys):
    judge = shlex.join([sys.executable, "-c", JUDGE.format(answer=json.dumps(PLACES))])
    run(monkeypatch, "references", project, "--server", "none", "--truth", judge)
    said = capsys.readouterr().out
    assert f"{project.name}, all: 1 symbols, 4 places, 0 resolved, precision 1.000, recall 0.750\n" in said


def test_renames_that_still_pass_a_check(project, monkeypatch, capsys):
    check = shlex.join([sys.executable, "b.py"])
    run(monkeypatch, "renames", project, "--server", "none", "--count", "2", "--check", check)
    assert capsys.readouterr().out == (
        f"{project.name}: 2 made, 0 named, 0 broken, 0 refused, 0 half done\n"
        f"{project.name}: 8 resolved, 0 ruled_out, 0 unknown, 0 missing\n"
    )
