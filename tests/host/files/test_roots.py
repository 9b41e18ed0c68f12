"""A workspace of several roots: each path goes to its own folder, and nothing gets past the guard of any of them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolroll import Kit, Policy, Result, ToolError
from toolroll.host.files.roots import make_root
from toolroll.host.files.trust import Trust
from toolroll.policy.commands import Rule

Files = dict[str, str]


def fill(folder: Path, files: Files) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


@pytest.fixture
def lib(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere/lib"
    fill(folder, {"a.py": "def needle():\n    pass\n", "src/deep.py": "needle = 2\n", "secret.txt": "needle\n"})
    return folder


@pytest.fixture
def kit(ws: Path, lib: Path, tmp_path: Path) -> Iterator[Kit]:
    fill(ws, {"main.py": "needle = 1\n", "src/own.py": "x = 1\n"})
    with Kit(ws, roots=[lib], state_dir=tmp_path / "state") as made:
        yield made


def data(result: Result) -> Any:
    assert result.ok, result.text
    return result.data


def refused(result: Result) -> str:
    assert result.error is not None
    return f"{result.error.code}: {result.error.message}"


def test_files_of_every_root_are_read_and_changed_by_name_and_by_absolute_path(kit: Kit, ws: Path, lib: Path) -> None:
    assert data(kit.call("read", {"path": "main.py"}))["content"] == "needle = 1"
    assert data(kit.call("read", {"path": "lib/src/deep.py"}))["path"] == "lib/src/deep.py"
    assert data(kit.call("read", {"path": str(lib / "a.py")}))["content"].startswith("def needle")
    assert data(kit.call("edit", {"path": "lib/a.py", "old": "pass", "new": "return 3"}))["path"] == "lib/a.py"
    assert data(kit.call("write", {"path": str(lib / "new/n.txt"), "content": "n"}))["path"] == "lib/new/n.txt"
    assert data(kit.call("write", {"path": str(ws / "o.txt"), "content": "o"}))["path"] == "o.txt"
    assert (lib / "a.py").read_text() == "def needle():\n    return 3\n"
    assert (lib / "new/n.txt").read_text() == "n"
    assert not (ws / "lib").exists()


def test_undo_takes_back_what_was_done_in_any_root(kit: Kit, ws: Path, lib: Path) -> None:
    before = (lib / "a.py").read_text()
    kit.call("edit", {"path": "lib/a.py", "old": "pass", "new": "return 3"})
    kit.call("move", {"source": "main.py", "target": "lib/moved/"})
    assert (lib / "moved/main.py").exists()
    assert kit.undo(steps=2).ok
    assert (lib / "a.py").read_text() == before
    assert (ws / "main.py").exists()
    assert not (lib / "moved").exists()


def paths_of(result: Result) -> set[str]:
    found = data(result)
    return {one["path"] for one in found.get("entries", found.get("rows"))}


SEARCHES: list[tuple[str, dict[str, Any], set[str]]] = [
    ("grep", {"pattern": "needle"}, {"main.py", "lib/a.py", "lib/src/deep.py", "lib/secret.txt"}),
    ("grep", {"pattern": "needle", "path": "lib"}, {"lib/a.py", "lib/src/deep.py", "lib/secret.txt"}),
    ("grep", {"pattern": "needle", "path": "lib/src"}, {"lib/src/deep.py"}),
    ("grep", {"pattern": "needle", "path": "lib/a.py"}, {"lib/a.py"}),
    ("grep", {"pattern": "needle", "include": "*.py"}, {"main.py", "lib/a.py", "lib/src/deep.py"}),
    ("grep", {"pattern": "needle", "include": "lib/*.py"}, {"lib/a.py"}),
    ("grep", {"pattern": "needle", "include": "src/*.py"}, set()),
    ("grep", {"pattern": "needle", "exclude": "lib"}, {"main.py"}),
    ("grep", {"pattern": "needle", "exclude": "**/src/*"}, {"main.py", "lib/a.py", "lib/secret.txt"}),
    ("find", {"pattern": "*.py"}, {"main.py", "src/own.py", "lib/a.py", "lib/src/deep.py"}),
    ("find", {"pattern": "src/*.py"}, {"src/own.py"}),
    ("find", {"pattern": "lib/**/*.py"}, {"lib/a.py", "lib/src/deep.py"}),
    ("find", {"pattern": "{lib,src}/*.py"}, {"src/own.py", "lib/a.py"}),
    ("find", {"pattern": "**/src/*.py"}, {"src/own.py", "lib/src/deep.py"}),
    ("find", {"pattern": "**/lib/*.py"}, {"lib/a.py"}),
    ("find", {"pattern": "*.py", "path": "lib/src"}, {"lib/src/deep.py"}),
    ("find", {"pattern": "*", "type": "directory"}, {"src", "lib", "lib/src"}),
    ("ls", {}, {"main.py", "src", "lib"}),
    ("ls", {"path": "lib"}, {"lib/a.py", "lib/src", "lib/secret.txt"}),
    ("ls", {"depth": 3}, {"main.py", "src", "src/own.py", "lib", "lib/a.py", "lib/src", "lib/src/deep.py", "lib/secret.txt"}),
]  # fmt: skip


def test_searches_know_all_roots(kit: Kit) -> None:
    found = [(tool, given, paths_of(kit.call(tool, given))) for tool, given, _ in SEARCHES]
    assert found == SEARCHES


def test_an_absolute_pattern_finds_in_its_root(kit: Kit, lib: Path) -> None:
    assert paths_of(kit.call("find", {"pattern": f"{lib}/*.py"})) == {"lib/a.py"}


OUTSIDE = [
    "../elsewhere/lib/a.py",
    "lib/../x",
    "lib/../../ws/main.py",
    "/etc/passwd",
    "lib/up",
    "lib/up/lib/a.py",
    "link",
]


def test_no_root_is_a_way_out(kit: Kit, ws: Path, lib: Path) -> None:
    os.symlink(lib.parent, lib / "up")
    os.symlink(lib / "a.py", ws / "link")
    assert [path for path in OUTSIDE if not refused(kit.call("read", {"path": path})).startswith("SecurityError")] == []
    assert refused(kit.call("delete", {"path": "lib", "recursive": True})).startswith("SecurityError: 'lib' is a root")
    assert "lib/nope.py" in refused(kit.call("read", {"path": "lib/nope.py"}))


def test_a_folder_that_takes_the_name_of_a_root_later_is_not_mistaken_for_it(kit: Kit, ws: Path) -> None:
    fill(ws, {"lib/own.txt": "own"})
    os.symlink("lib/own.txt", ws / "link")
    assert "has the name of the root" in refused(kit.call("read", {"path": "link"}))
    assert "has the name of the root" in refused(kit.call("write", {"path": "link", "content": "x"}))
    assert (ws / "lib/own.txt").read_text() == "own"


def test_rules_and_protected_folders_hold_in_every_root(ws: Path, lib: Path, tmp_path: Path) -> None:
    policy = Policy(rules=(Rule("deny", path="lib/secret.txt"),))
    with Kit(ws, roots=[lib], state_dir=tmp_path / "state", policy=policy) as kit:
        assert refused(kit.call("read", {"path": "lib/secret.txt"})).startswith("PermissionDenied")
        assert paths_of(kit.call("grep", {"pattern": "needle"})) == {"lib/a.py", "lib/src/deep.py"}
        assert refused(kit.call("write", {"path": "lib/.git/config", "content": "x"})).startswith("SecurityError")


def test_commands_work_in_every_root_and_nowhere_else(
    open_kit: Callable[..., Kit], confined: str, ws: Path, lib: Path, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", lib], check=True)
    kit = open_kit(roots=[lib])
    assert kit.call("bash", {"command": "pwd; cat a.py", "cwd": "lib"}).text.startswith(f"{lib}\ndef needle")
    assert kit.call("bash", {"command": f"echo 1 > {lib}/made && echo 2 > made"}).ok
    assert ((lib / "made").read_text(), (ws / "made").read_text()) == ("1\n", "2\n")
    kit.call("bash", {"command": f"echo 3 > {lib.parent}/out"})
    assert not (lib.parent / "out").exists()
    kit.call("bash", {"command": f"echo 'touch x' > {lib}/.git/hooks/post-commit; git -C {lib} config core.pager rm"})
    assert not (lib / ".git/hooks/post-commit").exists()
    assert "pager" not in (lib / ".git/config").read_text()
    done = kit.call("bash", {"command": f"mkdir {lib}/.vscode; echo '{{}}' > {lib}/.vscode/tasks.json"})
    assert done.meta["auto_run"] == ["lib/.vscode/tasks.json"]


def test_git_works_in_every_root(kit: Kit, lib: Path) -> None:
    subprocess.run(["git", "init", "-q", lib], check=True)
    assert "a.py" in kit.call("git", {"action": "status", "files": ["lib/a.py"]}).text


def test_roots_that_cannot_be_used_are_one_sentence(ws: Path, lib: Path, tmp_path: Path) -> None:
    fill(ws, {"own/x": "", "file": ""})
    fill(tmp_path, {"b/own/x": "", "b/lib/x": ""})
    wrong = {
        "missing": ([tmp_path / "nope"], f"The root '{tmp_path}/nope' cannot be opened: No such file or directory."),
        "a file": ([lib / "a.py"], f"The root '{lib}/a.py' cannot be opened: Not a directory."),
        "in the workspace": ([tmp_path / "b/own"], f"The root '{tmp_path}/b/own' clashes: paths in it would begin with "
            f"'own', which is '{ws}/own' already. Rename one of them, or leave it out."),
        "twice": ([lib, tmp_path / "b/lib"], f"The root '{tmp_path}/b/lib' clashes: paths in it would begin with 'lib', "
            f"which is '{lib}' already. Rename one of them, or leave it out."),
        "inside": ([ws / "own"], f"The root '{ws}/own' overlaps with '{ws}'. Name folders that are apart."),
        "around": ([tmp_path], f"The root '{tmp_path}' overlaps with '{ws}'. Name folders that are apart."),
    }  # fmt: skip
    said = {}
    for case, (roots, _) in wrong.items():
        with pytest.raises(ValueError, match="The root") as error:
            Kit(ws, roots=roots, state_dir=tmp_path / "state")
        said[case] = str(error.value)
    assert said == {case: sentence for case, (_, sentence) in wrong.items()}
    with pytest.raises(ValueError, match="is a home folder or holds one"):
        Kit(ws, roots=[os.path.expanduser("~")], state_dir=tmp_path / "state")


def test_a_root_is_named_as_it_was_given(ws: Path, lib: Path, tmp_path: Path) -> None:
    os.symlink(lib, tmp_path / "current")
    with Kit(ws, roots=[f"{tmp_path}/current/"], state_dir=tmp_path / "state") as kit:
        for there in (tmp_path / "current", lib):
            made = data(kit.call("write", {"path": f"{there}/new.txt", "content": str(there)}))
            assert made["path"] == "current/new.txt"


def test_a_group_is_one_root_to_those_above(ws: Path, lib: Path) -> None:
    fill(ws, {"main.py": "1"})
    fill(lib, {"hidden/inner/x": ""})

    def trust(path: str) -> Trust:
        return Trust(path, [f"{path}/locked"], [f"{path}/hidden/inner"])

    with make_root(str(ws), [str(lib)], folder_mode=0o755, trust=trust) as group:
        there = ("main.py", "none", "lib", "lib/a.py", "lib/none", f"{lib}/src")
        assert [group.has(path) for path in there] == [True, False, True, True, False, True]
        for path, text in (("main.py", b"1"), ("lib/src/deep.py", b"needle = 2\n")):
            with os.fdopen(group.open(path), "rb") as file:
                assert file.read() == text
        assert group.owner(("lib", "src", "deep.py")) == ("lib", group.others["lib"], ("src", "deep.py"))
        assert group.trust.locks == ("locked", "lib/locked")
        assert group.trust.hidden_in(("lib",)) == ["hidden/inner"]
        group.trust.check_read(("lib", "src", "hidden", "inner"))
        with pytest.raises(ToolError, match="tools neither read nor change"):
            group.trust.check_read(("lib", "hidden", "inner"))
        for path in ("new/x", "lib/new/x"):
            with pytest.raises(FileNotFoundError):
                group.place(path)
    with make_root(str(ws), [], folder_mode=0o755, trust=trust) as root:
        assert (root.folders, root.has("lib")) == ((str(ws),), False)


def test_code_is_understood_in_every_root(kit: Kit) -> None:
    assert kit.call("symbols", {"path": "lib", "name": "needle"}).text.startswith("lib/a.py:1: def needle()")
    for tool in ("lint", "tests"):
        assert refused(kit.call(tool, {"path": "lib"})).endswith("Use `bash` with `cwd` 'lib'.")


KILLED = """
import os, sys
from toolroll import Kit
from toolroll.host.files.journal.log import JournalLog
ws, lib, state = sys.argv[1:]
JournalLog.append = lambda *_: os.kill(os.getpid(), 9)
Kit(ws, roots=[lib], state_dir=state).call("write", {"path": "lib/a.py", "content": "half"})
"""


def test_a_call_that_was_killed_in_another_root_is_taken_back_by_a_kit_that_has_it(
    ws: Path, lib: Path, tmp_path: Path
) -> None:
    before, state = (lib / "a.py").read_text(), tmp_path / "state"
    subprocess.run([sys.executable, "-c", KILLED, ws, lib, state], check=False)
    assert (lib / "a.py").read_text() == "half"
    with Kit(ws, state_dir=state) as kit:
        assert kit.recovered == [f"{lib} (open a kit with this root to take a killed call back)"]
    assert not (ws / "lib").exists()
    with Kit(ws, roots=[lib], state_dir=state) as kit:
        assert kit.recovered == []
    assert (lib / "a.py").read_text() == before
