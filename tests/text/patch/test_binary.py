"""Binary patches of git are applied and taken back."""

import os
import subprocess

import pytest

from toolroll import ToolError
from toolroll.text.patch.plan import plan

OLD, NEW = bytes(range(256)) * 40, bytes(range(256)) * 20 + b"new" + bytes(range(256)) * 20


def made(folder, before, after) -> str:
    """git's diff of one file between two contents; None for no file."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    run = lambda *words: subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, env=env).stdout  # noqa: E731
    run("init", "-q")
    trees = []
    for content in (before, after):
        (folder / "f").unlink(missing_ok=True)
        if content is not None:
            (folder / "f").write_bytes(content)
        run("add", "-A")
        trees.append(run("write-tree").decode().strip())
    return run("diff", "--binary", *trees).decode()


@pytest.mark.parametrize(("before", "after"), [(OLD, NEW), (b"\0a", b"\0b"), (None, b"\0x"), (b"\0x", None)])
def test_a_binary_file(tmp_path, before, after):
    patch = made(tmp_path, before, after)
    for reverse, was, wanted in ((False, before, after), (True, after, before)):
        files = {} if was is None else {"f": was}
        (step,) = plan(patch, reverse=reverse, exists=files.__contains__, read=str, read_bytes=files.__getitem__)
        assert (step.kind, step.path, step.data) == ("write" if wanted is not None else "delete", "f", wanted)


def test_another_file_is_refused(tmp_path):
    patch = made(tmp_path, OLD, NEW)
    for content, words in ((b"\0other", "is not the file"), (NEW, "applied already")):
        with pytest.raises(ToolError, match=words):
            plan(patch, exists=lambda _name: True, read=str, read_bytes=lambda _name, content=content: content)


@pytest.mark.parametrize("body", ["bogus", "literal 3\nzc", "literal 3\n!!!", "delta 2\nAc", "literal 99999999\nzcmV"])
def test_damaged_data_is_refused(body):
    with pytest.raises(ToolError, match=r"binary patch|bytes that it says|are missing"):
        plan(f"diff --git a/f b/f\nindex 1..2\nGIT binary patch\n{body}\n", exists=lambda _name: True, read=str)
