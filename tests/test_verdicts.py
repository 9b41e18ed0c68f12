"""The measure of verdicts, on a small repository: commits that were fine, and faults of each kind."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from bench import faults, verdicts

ENGINE = "import os\n\n\ndef ignite(times):\n    return os.sep * times\n\n\ndef start() -> str:\n    return ignite(2)\n"
COMMITS = [
    {"engine.py": ENGINE, "car.py": "from engine import start\n\nstart()\n"},
    {"engine.py": ENGINE.replace("ignite(2)", "ignite(3)")},
    {"engine.py": ENGINE.replace("* times", "* (times + 1)"), "README.md": "# Engine\n"},
    {"car.py": "from engine import start\n\nprint(start())\n"},
]


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    who = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*words):
        subprocess.run(["git", *words], cwd=folder, env={"PATH": os.environ["PATH"], "HOME": "/"} | who, check=True)

    git("init", "-q")
    for files in COMMITS:
        for name, content in files.items():
            (folder / name).write_text(content)
        git("add", ".")
        git("commit", "-qm", "x")
    return folder


def test_commits_that_were_fine_raise_no_alarm(tree):
    alarms, written, _ = verdicts.run_commits(tree, 10)
    assert (alarms, written) == ([], 3)


@pytest.mark.skipif(not (Path(sys.executable).parent / "ty").exists(), reason="ty is not installed")
def test_a_fault_of_each_kind_is_caught(tree, monkeypatch):
    monkeypatch.setattr("toolroll.host.code.verdicts.BUDGET_S", 60.0)
    monkeypatch.setattr(verdicts, "LEAST_CHARS", 10)
    found = verdicts.run_mutations(tree, 1)
    assert found == dict.fromkeys(verdicts.PYTHON, (1, 0, 1))


SOURCES = {
    "typescript": "export function f(a: number): string {\n  return String(a);\n}\n\nfunction g() {\n  f(1);\n}\n",
    "go": 'package a\n\nfunc f(a int) string {\n\treturn g(a)\n}\n\nfunc g(a int) string {\n\treturn ""\n}\n',
    "c": "static int f(int a) {\n    return a;\n}\n\nint g(void) {\n    return f(1);\n}\n",
}


@pytest.mark.parametrize("language", SOURCES)
def test_faults_of_other_languages(language):
    source = SOURCES[language]
    made = {kind: make(source, random.Random(1)) for kind, make in faults.kinds(language).items()}
    assert None not in made.values()
    assert len({source, *made.values()}) == len(made) + 1
    assert "_misspelled(" in made["undefined name"]
    assert made["syntax"].count("(") == made["syntax"].count(")") + 1
