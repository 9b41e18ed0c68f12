"""The measure of localisation, on a small repository whose commits are made to be told apart."""

import os
import subprocess

import pytest

from bench import localise
from bench.localise import Score

FILES = {
    "engine.py": "class Engine:\n    def ignite(self): ...\n",
    "paint.py": "def mix(colour): return colour\n",
    "route.py": "from engine import Engine\n\ndef plan(stops): return Engine\n",
    "docs/engine.md": "# Engine, ignite, colour, stops\n",
    "tests/test_paint.py": "from paint import mix\n\ndef test_mix(): mix('red')\n",
}
# Message, and what is changed under it.
COMMITS = [
    ("Everything", FILES),
    ("The engine must not ignite twice", {"engine.py": "class Engine:\n    def ignite(self): return 1\n"}),
    ("Explain colours", {"docs/engine.md": "# Colours\n"}),
    ("Mix a colour with none", {"paint.py": "def mix(colour=None): return colour\n", "tests/test_paint.py": "pass\n"}),
    ("A new file", {"new.py": "x = 1\n"}),
    ("Zebra", {"route.py": "def plan(stops): return None\n"}),
]


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": "/"} | names

    def git(*words):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True)

    git("init", "-q")
    for message, files in COMMITS:
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
        git("add", ".")
        git("commit", "-qm", message)
    return folder


def test_each_commit_is_asked_of_the_tree_before_it(repository, tmp_path):
    before = sorted(path.relative_to(repository) for path in repository.rglob("*"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    scores, files = localise.run(repository, 10, scratch)
    assert {name: score.ranks for name, score in scores.items() if name != "aider's repo map"} == {
        "toolroll repo_map": [1, 1, localise.NOWHERE],
        "without history": [1, 1, localise.NOWHERE],
        "BM25 over contents": [1, 1, localise.NOWHERE],
        "BM25 over contents and messages": [1, 1, localise.NOWHERE],
        "PageRank": [1, 2, 4],
    }
    assert files == 4
    assert sorted(path.relative_to(repository) for path in repository.rglob("*")) == before


def test_only_the_newest_are_asked(repository, tmp_path):
    scores, _ = localise.run(repository, 2, tmp_path)
    assert scores["toolroll repo_map"].ranks == [1, localise.NOWHERE]


def test_the_table_tells_hits(repository, capsys):
    assert localise.main([str(repository), "--commits", "3"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "3 commits, 4 source files"
    assert told[2].split()[:6] == ["toolroll", "repo_map", "0.67", "0.67", "0.67", "0.67"]


def test_a_repository_without_such_commits_is_told(tmp_path, capsys):
    subprocess.run(["git", "init", "-q", str(tmp_path / "empty")], check=True)
    with pytest.raises(RuntimeError, match="git rev-list failed"):
        localise.main([str(tmp_path / "empty")])


def test_figures_are_shares_and_means():
    score = Score([1, 4, 8, localise.NOWHERE])
    assert (score.hit(1), score.hit(5), score.hit(10)) == (0.25, 0.5, 0.75)
    assert score.reciprocal() == pytest.approx((1 + 1 / 4 + 1 / 8) / 4)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", True),
        ("lisp/a.el", True),
        ("src/a.c", True),
        ("tests/a.py", False),
        ("docs/conf.py", False),
        ("a.json", False),
        ("README.md", False),
        ("Makefile", False),
        ("setup.cfg", False),
        ("", False),
    ],
)
def test_only_code_is_a_source(path, source):
    assert localise.is_source(path) is source
