"""The patch tool beside `git apply`: on diffs that git made, it does the same on disk, forwards and backwards."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolroll import Kit

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "    x", "\ty", "x = 1", "}"]), max_size=14)
TEXTS = st.builds(
    lambda lines, end, final: end.join(lines) + (end if final and lines else ""),
    LINES,
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.booleans(),
)
FILES = st.dictionaries(
    st.sampled_from(["f", "g", "d/h", "d/e/i j", "k\u00e9"]), st.tuples(TEXTS, st.booleans()), max_size=4
)


def git(folder, *words, check=True, stdin=None):
    return subprocess.run(["git", "-C", folder, *words], check=check, capture_output=True, input=stdin)


def lay_out(folder, files):
    for name, (text, executable) in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(0o755 if executable else 0o644)


def found(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes().decode(), os.access(path, os.X_OK))
        for path in Path(folder).rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def diff_between(before, after):
    with tempfile.TemporaryDirectory() as top:
        git(top, "init", "-q", ".")
        git(top, "config", "core.autocrlf", "false")
        lay_out(top, before)
        git(top, "add", "-A")
        tree = git(top, "write-tree").stdout.decode().strip()
        git(top, "rm", "-rqf", "--ignore-unmatch", ".")
        lay_out(top, after)
        git(top, "add", "-A")
        return git(top, "diff", "--cached", "-M", tree).stdout.decode()


@settings(max_examples=12, deadline=None)
@given(FILES, FILES)
def test_a_diff_of_git_gives_what_git_gives(before, after):
    diff = diff_between(before, after)
    if not diff:
        return
    with tempfile.TemporaryDirectory() as top, tempfile.TemporaryDirectory() as state:
        lay_out(top, before)
        with Kit(top, state_dir=state) as kit:
            result = kit.call("patch", {"patch": diff})
            assert result.ok, result.text
            assert found(top) == after
            result = kit.call("patch", {"patch": diff, "reverse": True})
            assert result.ok, result.text
            assert found(top) == before


@settings(max_examples=12, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_on_another_file_never_more_than_git_dares(before, after, other):
    """Where `git apply` takes the patch for a text it was not made for, we do the same or refuse; never another."""
    diff = diff_between({"f": (before, False)}, {"f": (after, False)})
    if not diff or "deleted file" in diff or "new file" in diff:
        return
    with tempfile.TemporaryDirectory() as top, tempfile.TemporaryDirectory() as state:
        git(top, "init", "-q", ".")
        git(top, "config", "core.autocrlf", "false")
        lay_out(top, {"f": (other, False)})
        with Kit(top, state_dir=state) as kit:
            result = kit.call("patch", {"patch": diff})
        ours = found(top) if result.ok else None
        lay_out(top, {"f": (other, False)})
        applied = git(top, "apply", "-", check=False, stdin=diff.encode()).returncode == 0
        if ours is not None and applied:
            assert ours == found(top)


@pytest.mark.parametrize("shift", [1, 7, 40])
def test_hunks_off_by_some_lines_are_found(tmp_path, shift):
    body = [f"line {n}\n" for n in range(60)]
    changed = body.copy()
    changed[10], changed[45] = "ten\n", "more\nthan one\n"
    diff = diff_between({"f": ("".join(body), False)}, {"f": ("".join(changed), False)})
    top = [f"# {n}\n" for n in range(shift)]
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/f").write_text("".join(top + body))
    with Kit(tmp_path / "ws", state_dir=tmp_path / "state") as kit:
        assert kit.call("patch", {"patch": diff}).ok
    assert (tmp_path / "ws/f").read_text() == "".join(top + changed)
