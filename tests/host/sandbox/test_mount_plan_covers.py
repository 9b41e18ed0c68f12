"""What a command may not change or see inside the folders that it has, judged by what is on the disk afterwards."""

import copy
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from toolroll.host.runtime.launcher import AccessRules
from toolroll.result import ErrorCode, ToolError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tiers are of Linux")


@pytest.fixture
def files(ws: Path, put) -> dict[str, bytes]:
    put({"a/b/locked/x": "locked", "a/b/open": "open", "a/secret/key": "KEY", "a/token": "KEY", "c": "c"})
    return seen(ws)


def seen(ws: Path) -> dict[str, bytes]:
    return {str(path.relative_to(ws)): path.read_bytes() for path in ws.rglob("*") if path.is_file()}


def access(ws: Path) -> AccessRules:
    hide = (f"{ws}/a/secret", f"{ws}/a/token", f"{ws}/a/missing")
    return AccessRules((str(ws),), lock=(f"{ws}/a/b/locked", f"{ws}/gone/away"), hide=hide)


@pytest.mark.parametrize(
    "script",
    [
        "echo y > a/b/locked/x",
        "echo y > a/b/locked/new",
        "rm -rf a",
        "mv a z; cat z/secret/key z/token",
        "mv a/b z",
        "mv a/b/locked z",
        "mv a/secret z; cat z/key",
        "cat a/secret/key a/token",
        "echo y > a/secret/new; echo y > a/token",
        "rm -rf a/secret a/token",
        "ln a/b/locked/x hard && echo y > hard",
        "ln a/token hard && cat hard",
        "for one in $(seq 3 60); do cat /proc/self/fd/$one /proc/self/fd/$one/key; done",  # what it was started with
    ],
)
@pytest.mark.parametrize("way", ["descriptors", "names"])
def test_they_stay(bubblewrap, run, ws, files, script, way):
    """An older bubblewrap takes names only."""
    tier = copy.copy(bubblewrap) if way == "names" else bubblewrap.group()
    tier._by_descriptor = bubblewrap._by_descriptor and way != "names"
    status, said = run(tier, f"{script}; true", access=access(ws))
    assert status == 0, said
    assert "KEY" not in said
    kept = {path: data for path, data in files.items() if path.startswith(("a/b/locked", "a/secret", "a/token"))}
    assert {path: data for path, data in seen(ws).items() if path in kept or path.startswith("a/b/locked")} == kept
    assert not (ws / "a/secret/new").exists()


def test_the_rest_is_theirs(bubblewrap, run, ws, files):
    assert run(
        bubblewrap, "echo y > a/b/open; echo n > a/new; cat a/b/locked/x; ls -A a/secret", access=access(ws)
    ) == (
        0,
        "locked",
    )
    assert seen(ws) == files | {"a/b/open": b"y\n", "a/new": b"n\n"}


def test_a_folder_of_its_own_in_what_is_hidden(bubblewrap, run, ws, files, put):
    put({"a/secret/own/x": "mine"})
    wanted = replace(access(ws), write=(str(ws), f"{ws}/a/secret/own"))
    script = "cat a/secret/own/x; echo y > a/secret/own/y; ls -A a/secret; cat a/secret/key; echo z > a/secret/z"
    assert "KEY" not in run(bubblewrap, script, access=wanted)[1]
    assert ((ws / "a/secret/own/y").read_text(), (ws / "a/secret/z").exists()) == ("y\n", False)


def test_what_may_only_be_read_hides_too(sandbox, run, ws, tmp_path, files):
    (tmp_path / "work").mkdir()
    wanted = replace(access(ws), write=(str(tmp_path / "work"),), read=(str(ws),))
    script = f"cat {ws}/c {ws}/a/b/open; cat {ws}/a/secret/key {ws}/a/token; echo y > {ws}/c"
    _, said = run(sandbox, script, access=wanted, cwd=tmp_path / "work")
    assert said.startswith("copen")
    assert "KEY" not in said
    assert seen(ws) == files


@pytest.mark.parametrize("field", ["lock", "hide"])
def test_landlock_says_that_it_cannot(landlock, run, ws, files, field):
    wanted = AccessRules((str(ws),), **{field: (f"{ws}/a/b",)})
    with pytest.raises(ToolError, match=r"landlock.* cannot keep commands from it.*Install bubblewrap") as caught:
        run(landlock, "echo y > c", access=wanted)
    assert (caught.value.code, seen(ws)) == (ErrorCode.SECURITY, files)
    assert run(landlock, "cat c", access=AccessRules((str(ws),), **{field: (f"{ws}/missing",)})) == (0, "c")


def test_a_link_cannot_be_locked(bubblewrap, run, ws, files):
    (ws / "way").symlink_to("a")
    with pytest.raises(ToolError, match="reached through the link"):
        run(bubblewrap, "rm way", access=AccessRules((str(ws),), lock=(f"{ws}/way",)))


def test_a_sandbox_that_lies_where_commands_write_must_be_locked(bubblewrap, run, ws, files):
    program = bubblewrap._program
    write = (str(ws), os.path.dirname(program))
    with pytest.raises(ToolError, match="The sandbox itself"):
        run(bubblewrap, "true", access=AccessRules(write))
    assert run(bubblewrap, f"cat c; test -w {program} || echo no", access=AccessRules(write, lock=(program,))) == (
        0,
        "cno\n",
    )


def test_what_is_hidden_among_the_systems_own_files(sandbox, run, ws):
    """A home folder can lie in /opt or /usr."""
    there = next(path for path in sorted(Path("/usr/share").iterdir()) if path.is_dir() and any(path.iterdir()))
    for hide, found in (((), True), ((str(there),), False)):
        status, said = run(
            sandbox, f"ls -A {there}/ | grep -q . && echo found", access=AccessRules((str(ws),), hide=hide)
        )
        assert ("found" in said) is found, (status, said)
