"""What git makes of its own diffs, ours makes of them too, forwards and backwards."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from toolroll import ToolError
from toolroll.text.patch.plan import plan

Files = dict[str, tuple[bytes, bool]]  # content, and whether it may be run

NAMES = ["a.txt", "dir/b.py", "sp ace.txt", 'quo"te', "tab\tname", "ümlaut.txt", "x y/z w.txt"]
WORDS = ["", "a", "b", "    a", "def f():", "}", "-- a", "++ b", "@@ c", "a ", "x\ry", "\\ a"]


class Git:
    """A repository that is used only to compare trees and to apply diffs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        self.run("init", "-q")

    def run(self, *arguments: str, given: bytes = b"", check: bool = True) -> subprocess.CompletedProcess:
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(command, input=given, capture_output=True, check=check, env=self.env)

    def lay_out(self, files: Files) -> None:
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if ".git" not in path.relative_to(self.folder).parts:
                path.rmdir() if path.is_dir() else path.unlink()
        for name, (content, runs) in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if runs else 0o644)

    def found(self) -> Files:
        return {
            str(path.relative_to(self.folder)): (path.read_bytes(), os.access(path, os.X_OK))
            for path in self.folder.rglob("*")
            if path.is_file() and ".git" not in path.relative_to(self.folder).parts
        }

    def diff(self, before: Files, after: Files, *options: str) -> str:
        trees = []
        for files in (before, after):
            self.lay_out(files)
            self.run("add", "-A")
            trees.append(self.run("write-tree").stdout.decode().strip())
        return self.run("diff", *options, *trees).stdout.decode()

    def apply(self, files: Files, diff: str, *options: str) -> Files | None:
        self.lay_out(files)
        done = self.run("apply", *options, given=diff.encode(), check=False)
        return self.found() if done.returncode == 0 else None


@pytest.fixture(scope="module")
def git(tmp_path_factory):
    return Git(tmp_path_factory.mktemp("git"))


def ours(files: Files, diff: str, *, reverse: bool = False) -> Files:
    """The files once the plan has been carried out, step by step as it says."""

    def read(path: str) -> str:
        return files[path][0].decode()

    now = dict(files)
    for step in plan(diff, strip=None, reverse=reverse, exists=files.__contains__, read=read):
        assert step.created == (step.path not in now) or step.kind == "delete"
        if step.kind == "delete":
            del now[step.path]
            continue
        taken = step.source if step.source is not None else step.path
        content, runs = (now if step.kind in ("move", "copy") else files).get(taken, (b"", False))
        if step.kind == "move":
            del now[taken]
        if step.kind == "write" and step.created and step.source is None:
            runs = False
        now[step.path] = (
            content if step.text is None else step.text.encode(),
            runs if step.mode is None else step.mode == 0o755,
        )
    return now


@st.composite
def contents(draw) -> bytes:
    lines = draw(st.lists(st.sampled_from(WORDS), max_size=14))
    ends = draw(st.sampled_from(["\n", "\r\n", "mixed"]))
    text = "".join(line + (draw(st.sampled_from(["\n", "\r\n"])) if ends == "mixed" else ends) for line in lines)
    return (text.rstrip("\r\n") if draw(st.booleans()) else text).encode()


@st.composite
def edited(draw, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(lines)))
        lines[at : at + draw(st.integers(0, 2))] = draw(
            st.lists(st.sampled_from([b"new\n", b"a\r\n", b"z"]), max_size=2)
        )
    return b"".join(lines)


@st.composite
def versions(draw) -> tuple[Files, Files]:
    """Two versions of some files: changed, made, deleted, renamed, copied, allowed to run."""
    before = draw(st.dictionaries(st.sampled_from(NAMES), st.tuples(contents(), st.booleans()), max_size=3))
    after = {}
    for name, (content, runs) in before.items():
        fate = draw(st.sampled_from(["change", "change", "change", "keep", "delete", "rename", "copy", "mode"]))
        other = draw(st.sampled_from(NAMES))
        if fate in ("change", "keep", "copy"):
            after.setdefault(name, (draw(edited(content)) if fate == "change" else content, runs))
        if fate in ("rename", "copy"):
            after.setdefault(other, (draw(edited(content)), runs))
        if fate == "mode":
            after.setdefault(name, (content, not runs))
    for name, made in draw(
        st.dictionaries(st.sampled_from(NAMES), st.tuples(contents(), st.booleans()), max_size=1)
    ).items():
        after.setdefault(name, made)
    return before, after


OPTIONS = [
    (),
    ("-M",),
    ("-M", "-C", "--find-copies-harder"),
    ("-B", "-M"),
    ("-U1",),
    ("--no-prefix",),
    ("--full-index", "-U9"),
]
LONG = b"".join(b"line %d\n" % number for number in range(30))
QUICK = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


@settings(QUICK, max_examples=15)
@given(versions(), st.sampled_from(OPTIONS))
@example(({"a.txt": (LONG, False)}, {"dir/b.py": (LONG + b"more", True)}), ("-M",))
@example(
    ({"a.txt": (LONG, False), "b": (LONG[9:], True)}, {"b": (LONG, False), "a.txt": (LONG[9:], True)}), ("-B", "-M")
)
@example(({"a.txt": (LONG, False)}, {"a.txt": (LONG + b"x", False), "c": (LONG, False)}), ("-M", "-C"))
@example(({"a.txt": (b"", False)}, {"sp ace.txt": (b"", True)}), ())
@example(({"a.txt": (b"x\r\ny", False)}, {"a.txt": (b"x\ny\n", False)}), ())
@example(({"x": (b"1", False)}, {"x/y": (b"1", False)}), ("-M",))
def test_every_diff_applies_as_git_applies_it(git, pair, options):
    before, after = pair
    diff = git.diff(before, after, *options)
    if not diff:
        return
    assert ours(before, diff) == after
    assert ours(after, diff, reverse=True) == before
    bare = ["-p0"] if "--no-prefix" in options else []
    assert git.apply(before, diff, *bare) == after, "git itself, so that the test tests something"


def numbered(low: int, high: int) -> list[str]:
    return [f"    {'call' if number % 3 else 'def f'}{number}()\n" for number in range(low, high)]


@QUICK
@given(st.data())
def test_what_git_applies_at_an_offset_so_does_ours(git, data):
    """Lines are distinct, so a hunk has one place at most: where git finds it, and never where git finds none."""
    old = numbered(0, data.draw(st.integers(4, 60)))
    new = list(old)
    for at in sorted(data.draw(st.sets(st.integers(0, len(old) - 1), min_size=1, max_size=4)), reverse=True):
        new[at : at + data.draw(st.integers(0, 2))] = [f"new {at}\n"]
    drifted = list(old)
    for at in sorted(data.draw(st.sets(st.integers(0, len(old)), max_size=3)), reverse=True):
        drifted[at : at + data.draw(st.integers(0, 1))] = [
            f"other {at} {n}\n" for n in range(data.draw(st.integers(0, 30)))
        ]
    files = {"f": ("".join(drifted).encode(), False)}
    diff = git.diff({"f": ("".join(old).encode(), False)}, {"f": ("".join(new).encode(), False)})
    expected = git.apply(files, diff)
    try:
        found = ours(files, diff)
    except ToolError as error:
        assert error.code == "Conflict"
        found = None
    assert expected in (None, found)
    if found is not None and expected is None:  # git ties a hunk to the begin or the end of the file
        assert git.apply(files, diff, "--unidiff-zero") == found


HEADER = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@", re.MULTILINE)


def disturbed(diff: str, kind: str, number: int) -> str:
    """The diff with a fault that models make."""
    if kind == "shift":
        return HEADER.sub(lambda m: f"@@ -{int(m[1]) + number}{m[2] or ''} +{int(m[3]) + number}{m[4] or ''} @@", diff)
    if kind == "counts":
        return HEADER.sub(lambda m: f"@@ -{m[1]},{number} +{m[3]},{number + 2} @@", diff)
    if kind == "bare":
        return HEADER.sub("@@", diff)
    if kind == "blanks":
        return re.sub(r"(?m)^( .*)$", r"\1" + " " * (number + 1), diff)
    if kind == "lost":
        return re.sub(r"(?m)^ $", "", diff)
    if kind == "crlf":
        return diff.replace("\n", "\r\n")
    return f"Here it is:\n\n```diff\n{diff}```\nThat was it.\n"


@QUICK
@given(st.data(), st.sampled_from(["shift", "counts", "bare", "blanks", "lost", "crlf", "fence"]), st.integers(0, 40))
def test_the_faults_of_models_do_no_harm(git, data, kind, number):
    old = [line if n % 5 else "\n" for n, line in enumerate(numbered(0, data.draw(st.integers(4, 50))))]
    new = list(old)
    for at in sorted(data.draw(st.sets(st.integers(0, len(old) - 1), min_size=1, max_size=4)), reverse=True):
        new[at : at + 1] = [f"new {at}\n", "\n"][: data.draw(st.integers(0, 2))]
    before, after = ({"f": ("".join(lines).encode(), False)} for lines in (old, new))
    diff = git.diff(before, after)
    if diff and after["f"][0]:
        assert ours(before, disturbed(diff, kind, number)) == after


@QUICK
@given(st.lists(st.sampled_from(["a\n", "b\n", "    c\n"]), min_size=6, max_size=40), st.data())
def test_twins_are_never_taken_for_each_other(git, lines, data):
    """With the numbers off and twins about, the right place or none: nothing else may happen."""
    at = data.draw(st.integers(0, len(lines) - 1))
    new = [*lines[:at], "changed\n", *lines[at + 1 :]]
    before, after = ({"f": ("".join(one).encode(), False)} for one in (lines, new))
    number = data.draw(st.integers(1, 40))
    diff = git.diff(before, after)
    for kind in ("bare", "counts"):
        try:
            assert ours(before, disturbed(diff, kind, number)) == after
        except ToolError as error:
            assert error.code == "Conflict"
            assert kind == "bare"
