"""The seven tools of pigo and their native twins on files in memory and commands in another process."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.values import assert_values
from toolroll import Executed, FileInfo, Kit, Policy, Result, ToolError
from toolroll.host.files import file_ops as module
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.policy.commands import Rule


class Memory:
    """Files in memory."""

    root = "/remote"

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.times = dict.fromkeys(files, 1.0)

    def read(self, path: str) -> bytes:
        if self.stat(path).kind == "directory":
            raise IsADirectoryError(21, "Is a directory", path)
        return self.files[path]

    def write(self, path: str, data: bytes) -> None:
        self.files[path] = data
        self.times[path] = max(self.times.values()) + 1

    def stat(self, path: str) -> FileInfo:
        if path in self.files:
            return FileInfo(path.rpartition("/")[2], "file", len(self.files[path]), self.times[path])
        if path == "." or any(name.startswith(f"{path}/") for name in self.files):
            return FileInfo(path.rpartition("/")[2], "directory")
        raise FileNotFoundError(2, "No such file or directory", path)

    def list(self, path: str) -> Iterable[FileInfo]:
        if self.stat(path).kind == "file":
            raise NotADirectoryError(20, "Not a directory", path)
        above = "" if path == "." else f"{path}/"
        inside = {name.removeprefix(above).split("/")[0] for name in self.files if name.startswith(above)}
        return [self.stat(above + name) for name in inside]


class Elsewhere:
    """Commands in another process, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: list[tuple[str, str]] = []

    def run(self, command: str, *, cwd: str, seconds: float, cancelled: Callable[[], bool]) -> Executed:
        assert not cancelled()
        self.seen.append((command, cwd))
        try:
            done = subprocess.run(
                ["bash", "-c", command], cwd=self.folder, capture_output=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        return Executed(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def memory() -> Memory:
    files = {
        "a.txt": "one\ntwo\n",
        "src/b.py": "needle = 1\n",
        "src/deep/c.py": "x = 'needle'\n",
        ".hidden": "needle\n",
    }
    files |= {".gitignore": "build/\n", "build/out.txt": "needle\n"}
    return Memory({name: text.encode() for name, text in files.items()})


@pytest.fixture
def elsewhere(tmp_path: Path) -> Elsewhere:
    (tmp_path / "there").mkdir()
    return Elsewhere(tmp_path / "there")


@pytest.fixture(params=["native", "pigo"])
def kit(
    request: pytest.FixtureRequest, ws: Path, tmp_path: Path, memory: Memory, elsewhere: Elsewhere
) -> Iterator[Kit]:
    with Kit(ws, request.param, files=memory, commands=elsewhere, state_dir=tmp_path / "state") as made:
        yield made
    assert list(ws.iterdir()) == []


@pytest.fixture
def native(ws: Path, tmp_path: Path, memory: Memory, elsewhere: Elsewhere) -> Iterator[Kit]:
    with Kit(ws, files=memory, commands=elsewhere, state_dir=tmp_path / "state") as made:
        yield made


def call(kit: Kit, name: str, **given: Any) -> Result:
    if name == "edit" and kit.dialect.name == "pigo":
        given = {"old_string": given.pop("old"), "new_string": given.pop("new"), **given}
    return kit.call(name, given)


def code(result: Result) -> str:
    assert result.error is not None
    return str(result.error.code)


def test_read_write_and_edit(kit: Kit, memory: Memory) -> None:
    assert call(kit, "read", path="a.txt").text.endswith("2\ttwo")
    assert call(kit, "read", path="/remote/a.txt").ok
    assert call(kit, "edit", path="a.txt", old="two", new="2").ok
    assert memory.files["a.txt"] == b"one\n2\n"
    assert call(kit, "write", path="new/d.txt", content="d\n").ok
    assert call(kit, "write", path="a.txt", content="whole\n").ok
    assert (memory.files["new/d.txt"], memory.files["a.txt"]) == (b"d\n", b"whole\n")


def test_errors_are_those_of_local_files(kit: Kit) -> None:
    assert code(call(kit, "read", path="nope")) == "NotFound"
    assert code(call(kit, "read", path="src")) == "ValidationError"
    assert code(call(kit, "read", path="../x")) == "SecurityError"
    assert code(call(kit, "read", path="src/../../x")) == "SecurityError"
    assert code(call(kit, "read", path="/etc/passwd")) == "SecurityError"
    assert code(call(kit, "write", path=".git/config", content="x")) == "SecurityError"
    assert code(call(kit, "edit", path="a.txt", old="zzz", new="y")) in ("NotFound", "Conflict", "ValidationError")
    assert code(call(kit, "ls", path="nope")) == "NotFound"


def test_searches(kit: Kit) -> None:
    found = call(kit, "grep", pattern="need.e").text
    assert "src/b.py" in found
    assert "src/deep/c.py" in found
    assert "build" not in found
    assert "hidden" not in found
    assert "src/deep/c.py" not in call(kit, "grep", pattern="needle", include="b.*").text
    assert "b.py" not in call(kit, "grep", pattern="needle", path="src/deep").text
    assert "c.py" in call(kit, "grep", pattern="needle", path="src/deep/c.py").text
    assert call(kit, "find", pattern="*.py").text.split("\n")[:2] == ["src/b.py", "src/deep/c.py"]
    assert "src/deep/c.py" in call(kit, "find", pattern="**/deep/*").text
    assert "No" in call(kit, "find", pattern="*.rs").text
    listed = call(kit, "ls", path=".").text
    assert all(name in listed for name in ("a.txt", "src", "build"))


def test_commands_run_where_the_operations_run_them(kit: Kit, elsewhere: Elsewhere, ws: Path) -> None:
    done = call(kit, "bash", command="pwd; echo err >&2; touch made")
    assert done.text.startswith(f"{elsewhere.folder}\nerr")
    assert elsewhere.seen == [("pwd; echo err >&2; touch made", ".")]
    assert (elsewhere.folder / "made").exists()
    assert "3" in call(kit, "bash", command="exit 3").text
    assert code(call(kit, "bash", command="sleep 5", timeout=1)) == "TimeoutError"
    assert code(call(kit, "bash", command="rm -rf /")) in ("SecurityError", "PermissionDenied")
    assert len(elsewhere.seen) == 3


def test_long_output_is_kept_and_read(native: Kit) -> None:
    done = call(native, "bash", command=f"{sys.executable} -c 'print(\"word \" * 20000)'")
    handle = done.meta["spill"]
    assert call(native, "grep", pattern="word", path=handle, output="count").ok


def test_a_change_by_others_is_noticed(native: Kit, memory: Memory) -> None:
    call(native, "read", path="a.txt")
    memory.write("a.txt", b"one\nother\n")
    assert code(call(native, "write", path="a.txt", content="mine\n")) == "Conflict"
    assert code(call(native, "write", path="a.txt", content="x", overwrite=False)) == "Conflict"
    assert memory.files["a.txt"] == b"one\nother\n"


def test_rules_hold(ws: Path, tmp_path: Path, memory: Memory) -> None:
    policy = Policy(rules=(Rule("deny", path="src/**"),))
    with Kit(ws, files=memory, state_dir=tmp_path / "state", policy=policy) as kit:
        assert code(call(kit, "read", path="src/b.py")) == "PermissionDenied"
        assert "b.py" not in call(kit, "grep", pattern="needle").text


LOCAL: list[tuple[str, dict[str, Any]]] = [
    ("undo", {}),
    ("delete", {"path": "a.txt"}),
    ("move", {"source": "a.txt", "target": "b.txt"}),
    ("copy", {"source": "a.txt", "target": "b.txt"}),
    ("outline", {"path": "src/b.py"}),
    ("references", {"symbol": "needle"}),
    ("repo_map", {}),
    ("hover", {"path": "src/b.py", "line": 1, "character": 1}),
    ("git", {"action": "status"}),
    ("tests", {"action": "run"}),
    ("lint", {"path": "src/b.py"}),
    ("python", {"code": "print(1)"}),
    ("terminal", {"command": "ls"}),
    ("note", {"action": "create", "title": "t", "content": "c"}),
]


def test_what_needs_local_files_is_unsupported(native: Kit, memory: Memory, elsewhere: Elsewhere, ws: Path) -> None:
    before = dict(memory.files)
    assert [(name, code(native.call(name, given))) for name, given in LOCAL] == [
        (name, "Unsupported") for name, _ in LOCAL
    ]
    assert (memory.files, elsewhere.seen, list(ws.iterdir())) == (before, [], [])


def test_without_operations_for_commands_there_are_none(ws: Path, tmp_path: Path, memory: Memory) -> None:
    with Kit(ws, files=memory, state_dir=tmp_path / "state") as kit:
        refused = kit.call("bash", {"command": "ls"})
        assert code(refused) == "Unsupported"
        assert "because its files are elsewhere" in refused.text


def test_files_elsewhere_are_deleted_where_the_operations_can(ws: Path, tmp_path: Path, memory: Memory) -> None:
    class Deleting(Memory):
        def delete(self, path: str) -> None:
            del self.files[path]

    able = Deleting(dict(memory.files))
    for files, answer in ((memory, "Unsupported"), (able, None)):
        with Kit(ws, "koopa", files=files, state_dir=tmp_path / "state") as kit:
            deleted = kit.call("deleteFile", {"path": "src/b.py"})
            assert (deleted.error and deleted.error.code) == answer, deleted.text
            assert ("src/b.py" in files.files) is (answer is not None)
            assert code(kit.call("deleteFile", {"path": "nope"})) in ("NotFound", "Unsupported")
    with Kit(ws, "fosscode", files=memory, state_dir=tmp_path / "state") as kit:
        given = {"filePath": "a.txt", "oldString": "two", "newString": "2"}
        assert "Set `createBackup` to false" in kit.call("edit", given).text
        assert kit.call("edit", {**given, "createBackup": False}).ok


def test_local_files_with_commands_elsewhere(ws: Path, tmp_path: Path, elsewhere: Elsewhere) -> None:
    (ws / "src").mkdir()
    (ws / "src/a.txt").write_text("local\n")
    with Kit(ws, commands=elsewhere, state_dir=tmp_path / "state") as kit:
        assert kit.call("read", {"path": "src/a.txt"}).ok
        assert kit.call("bash", {"command": "echo $0", "cwd": "src"}).ok
        assert kit.call("bash", {"command": "printf", "cwd": "nope"}).error is not None
        assert kit.call("write", {"path": "b", "content": "b"}).ok
        assert kit.undo().ok
        assert code(kit.call("bash", {"command": "sleep 1", "background": True})) == "Unsupported"
    assert elsewhere.seen == [("echo $0", "src")]


def test_the_tree_of_operations(tmp_path: Path, ws: Path) -> None:
    memory = Memory({"a.txt": b"a", "d/e/f.txt": b"f", "d/g.txt": b"g"})
    with Kit(ws, state_dir=tmp_path / "state", files=memory) as kit:
        files = kit.context().files
        found = [
            files.tree.folder(path, depth, CancelToken()) for path, depth in ((".", 1), ("d", 1), ("d", 2), (".", 2))
        ]
        assert [(real, [item.path for item in items]) for real, items in found] == [
            ("", ["a.txt", "d"]),
            ("d", ["d/e", "d/g.txt"]),
            ("d", ["d/e", "d/e/f.txt", "d/g.txt"]),
            ("", ["a.txt", "d", "d/e", "d/g.txt"]),
        ]
        paths = ("a.txt", "d", "d/e/../g.txt", "none")
        assert [files.tree.is_file(path) for path in paths] == [True, False, True, False]
        assert [files.root.has(path) for path in (*paths, "../x")] == [True, True, True, False, False]
        assert files.tree.is_empty_folder("d") is False
        with os.fdopen(files.root.file("d/g.txt"), "rb") as file:
            assert file.read() == b"g"


def test_a_status_tells_of_the_content_alone() -> None:
    status = module.status_of(b"abc")
    assert status == module.status_of(b"abc") != module.status_of(b"abd")
    assert (status.st_ino, status.st_dev, status.st_nlink, status.st_uid, status.st_gid) == (0, 0, 1, 0, 0)
    assert (status.st_size, status.st_mode) == (3, 0o100644)
    assert status.st_mtime_ns == status.st_ctime_ns != module.status_of(b"abd").st_mtime_ns


def test_the_newest_file_comes_first(native: Kit, memory: Memory) -> None:
    memory.times["src/deep/c.py"] = time.time()
    assert native.call("find", {"pattern": "*.py"}).text.split("\n") == ["src/deep/c.py", "src/b.py"]


def test_other_tools_that_read_and_write_whole_files_work_too(native: Kit, memory: Memory) -> None:
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
    assert native.call("patch", {"patch": patch}).ok
    assert native.call("insert", {"path": "a.txt", "line": 1, "content": "zero"}).ok
    assert native.call("multiedit", {"pattern": "**/*.py", "find": "needle", "replace": "pin"}).ok
    assert "lines: 3" in native.call("stat", {"path": "a.txt"}).text
    assert (memory.files["src/b.py"], memory.files["src/deep/c.py"]) == (b"pin = 1\n", b"x = 'pin'\n")


def test_values_stay_as_they_are() -> None:
    assert_values(module)


def test_what_is_written_through_operations_is_bounded_and_known(native: Kit, memory: Memory) -> None:
    files = native.context().files
    with pytest.raises(ToolError, match="is a kept output") as refused:
        files.write("spill:abc", "x")
    assert refused.value.code == "PermissionDenied"
    with pytest.raises(ToolError, match=r"exists\. Set `overwrite`"):
        files.write("a.txt", "x", overwrite=False)
    draft = files.draft("a.txt")
    with pytest.raises(ToolError, match="Set `backup` to false"):
        files.back_up(draft)
    memory.files["a.txt"] = b"others\n"
    with pytest.raises(ToolError) as stale:
        files.save(draft, "mine\n")
    assert (stale.value.code, memory.files["a.txt"]) == ("Conflict", b"others\n")
    writes = []
    memory.write = lambda path, data: writes.append((path, data))  # type: ignore[method-assign]  # only noted
    assert (files.write("new.txt", "x").changed, files.write("src/../b.txt", b"y").path) == (True, "b.txt")
    same = files.draft("src/b.py")
    assert (files.save(same, same.text).changed, writes) == (False, [("new.txt", b"x"), ("b.txt", b"y")])


def test_the_root_of_operations_opens_nothing_else(native: Kit) -> None:
    root, tree = native.context().files.root, native.context().files.tree
    assert (root.kernel, root.trust.hides) == (False, True)
    root.close()
    for use in (lambda: root.open("a.txt"), lambda: root.fd, lambda: tree.move("a.txt", "b")):
        with pytest.raises(ToolError, match="needs local files"):
            use()
    assert [root.names_of(path) for path in ("a/../b", "./c/.", "d/e/../..")] == ["b", "c", "."]
    assert (tree.item("a.txt").size, tree.item("src").kind) == (8, "directory")
    for look in (lambda: tree.item("none"), lambda: tree.folder("none", 1, CancelToken())):
        with pytest.raises(ToolError) as missing:
            look()
        assert missing.value.code == "NotFound"


def test_of_many_files_those_are_told_that_no_longer_parse(native: Kit, memory: Memory) -> None:
    files = native.context().files
    drafts = [files.draft(path) for path in ("src/b.py", "src/deep/c.py")]
    said = files.save_all([(drafts[0], "needle = (\n", {}), (drafts[1], "x = 1\n", {})])
    assert (len(said), "src/b.py does not parse any more" in said[0]) == (1, True)
    assert memory.files["src/deep/c.py"] == b"x = 1\n"
