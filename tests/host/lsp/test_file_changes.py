import os
import time

import pytest

from toolroll.host.lsp import file_changes as watch
from toolroll.host.lsp.servers import SERVERS
from toolroll.host.runtime.cancellation import Token
from toolroll.result import ToolError

PYTHON = next(one for one in SERVERS if one.program == "ty")
LONG_AGO = time.time_ns() - 10**12


@pytest.fixture
def look(workspace, ws):
    def now(settle=True):
        for folder, _, names in os.walk(ws):
            for name in names if settle else ():
                if os.stat(f"{folder}/{name}").st_mtime_ns > LONG_AGO:
                    os.utime(f"{folder}/{name}", ns=(LONG_AGO, LONG_AGO + os.stat(f"{folder}/{name}").st_ino))
        return watch.take_snapshot(workspace.root, PYTHON, Token())

    return now


def test_what_is_looked_at(look, put):
    put({"a.py": "", "sub/b.pyi": "", "c.txt": "", ".git/d.py": "", "node_modules/e.py": "", "build/f.py": ""})
    put({".gitignore": "build\n", "sub/pyproject.toml": "x", ".venv/lib/python3.11/site-packages/g.py": ""})
    seen = look()
    assert set(seen.files) == {"a.py", "sub/b.pyi", "build/f.py"}
    assert set(seen.config) == {"sub/pyproject.toml", ".venv/lib/python3.11/site-packages"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda _: None, {}),
        (lambda ws: (ws / "new.py").write_text(""), {"new.py": 1}),
        (lambda ws: (ws / "a.py").write_text("longer"), {"a.py": 2}),
        (lambda ws: (ws / "a.py").unlink(), {"a.py": 3}),
        (lambda ws: (ws / "a.py").rename(ws / "b.py"), {"a.py": 3, "b.py": 1}),
        (lambda ws: (ws / "c.txt").write_text("longer"), {}),
        (lambda ws: os.replace(ws / "other.py", ws / "a.py"), {"a.py": 2, "other.py": 3}),
    ],
)
def test_changes(change, told, look, put, ws):
    put({"a.py": "x", "other.py": "y", "c.txt": ""})
    before = look()
    change(ws)
    assert watch.find_changes(before.files, look().files) == told


def test_folders_that_come_and_go():
    old, new = ["a.py", "x/y/b.py", "x/c.py"], ["a.py", "x/c.py", "new/deep/d.py"]
    assert watch.find_changed_folders(old, new) == {"new": 1, "new/deep": 1, "x/y": 3}
    assert list(watch.find_changed_folders([], new)) == ["new", "new/deep", "x"], "the outermost first"


def test_a_file_that_was_just_written_counts_as_changed_until_its_time_can_be_trusted(look, put, ws):
    """Two writes within one tick of the file system's clock leave no other trace."""
    put({"a.py": "x"})
    before = look(settle=False)
    about = os.stat(ws / "a.py")
    (ws / "a.py").write_text("y")
    os.utime(ws / "a.py", ns=(about.st_atime_ns, about.st_mtime_ns))
    after = os.stat(ws / "a.py")
    assert (after.st_mtime_ns, after.st_size, after.st_ino) == (about.st_mtime_ns, about.st_size, about.st_ino)
    assert watch.find_changes(before.files, look(settle=False).files) == {"a.py": 2}


def test_a_changed_configuration_is_seen_by_its_content(look, put):
    put({"pyproject.toml": "a"})
    before = look()
    put({"pyproject.toml": "b"})
    assert look().config != before.config
    put({"pyproject.toml": "a"})
    assert look().config == before.config


def test_looking_can_be_cancelled(workspace):
    token = Token()
    token.cancel()
    with pytest.raises(ToolError, match="cancelled"):
        watch.take_snapshot(workspace.root, PYTHON, token)
