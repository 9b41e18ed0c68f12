"""What the machine has, told as facts; looking changes nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.host.sandbox.conftest import landlock_abi
from toolroll.host import doctor as probe
from toolroll.host.requirement import add_extra
from toolroll.host.runtime.launcher import AccessRules, Sandbox, python_paths
from toolroll.host.sandbox.choose import probe_tiers


def facts(workspace: Path) -> dict[str, probe.Fact]:
    return {fact.name: fact for fact in probe.facts(str(workspace), "1.2.3")}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_looking_makes_nothing(ws: Path, state: Path) -> None:
    found = facts(ws)
    assert found["toolroll"] == probe.Fact("base", "toolroll", True, "1.2.3", required=True)
    assert found["workspace"].detail == f"{ws} (writable)"
    assert (found["state"].present, found["state"].required) == (True, True)
    assert found["state"].detail.endswith("(writable, made when it is needed)")
    assert list(ws.iterdir()) == []
    assert not state.exists()


def test_a_file_is_no_workspace(ws: Path) -> None:
    (ws / "a").touch()
    found = facts(ws / "a")["workspace"]
    assert (found.present, found.required) == (False, True)
    assert "Not a directory" in found.detail


@pytest.mark.usefixtures("file_modes")
def test_a_state_folder_that_cannot_be_written(ws: Path, state: Path) -> None:
    state.mkdir(mode=0o500)
    found = facts(ws)["state"]
    assert (found.present, found.hint) == (False, "set XDG_STATE_HOME to a folder that can be written")


def test_a_state_folder_below_a_file_cannot_be_written(ws: Path, state: Path) -> None:
    state.touch()
    assert not facts(ws)["state"].present


def test_a_program_on_path_is_found_and_asked(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gopls").write_text("#!/bin/sh\nexit 1\n")
    (folder / "gopls").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    found = facts(ws)["gopls"]
    assert (found.present, found.detail, found.hint) == (True, f"Go, at {folder / 'gopls'}", "")


def test_what_is_missing_is_told_with_how_to_add_it(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = facts(ws)["gopls"]
    assert (found.present, found.hint) == (False, "go install golang.org/x/tools/gopls@latest")


def test_landlock_is_a_version_or_none() -> None:
    assert 0 <= landlock_abi() < 100


def test_the_sandbox_is_told_as_it_was_tried(ws: Path) -> None:
    found = facts(ws)
    bubblewrap, landlock, _ = probe_tiers()
    assert [name for name, fact in found.items() if fact.section == "sandbox"] == [
        "confinement",
        "bubblewrap",
        "Landlock",
        "seccomp",
        "own programs",
        "network by name",
    ]
    for name, tried in (("bubblewrap", bubblewrap), ("Landlock", landlock)):
        assert (found[name].present, found[name].detail, bool(found[name].hint)) == (
            tried.works,
            tried.detail,
            not tried.works,
        )
    if bubblewrap.works:
        assert found["confinement"].detail == "by bubblewrap"
        assert found["bubblewrap"].detail.endswith(" at /usr/bin/bwrap") or not os.path.isfile("/usr/bin/bwrap")
    elif landlock.works:
        assert found["confinement"].detail == f"by Landlock; left open: {'; '.join(landlock.gaps)}"
    if landlock.works:
        assert found["Landlock"].detail.startswith(f"ABI {landlock_abi()}")
    assert found["confinement"].present == (bubblewrap.works or landlock.works)


FACTS = """
from toolroll.host.doctor import facts
for fact in facts(".", "1"):
    if fact.section == "sandbox":
        print(fact.name, fact.present, fact.detail, fact.hint, sep="|")
"""


def test_the_sandbox_where_bubblewrap_does_not_work(ws: Path, landlock: Sandbox) -> None:
    """A command of the weaker tier cannot make namespaces, as in most containers."""
    folders = [os.path.abspath(path) for path in sys.path if os.path.isdir(path)]
    fd = os.open(ws, os.O_RDONLY)
    process = landlock.spawn(
        AccessRules((str(ws),), (*python_paths(), *folders)),
        [sys.executable, "-c", FACTS],
        cwd=fd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(ws), "TMPDIR": str(ws), "PYTHONPATH": os.pathsep.join(folders)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    os.close(fd)
    with process:
        said = process.communicate(timeout=60)[0].decode()
    confinement, bubblewrap, kernel, seccomp, own, network = (line.split("|") for line in said.splitlines())
    assert confinement == ["confinement", "True", f"by Landlock; left open: {'; '.join(landlock.gaps)}", ""]
    assert bubblewrap[1] == "False"
    assert bubblewrap[3] == "install bubblewrap (apt install bubblewrap), and allow user namespaces"
    why = "pidfd_getfd is refused here, as in a container without CAP_SYS_PTRACE"
    assert kernel == ["Landlock", "True", f"ABI {landlock_abi()}, no sockets for commands ({why})", ""]
    assert seccomp == ["seccomp", "True", "the kernel filters what commands ask of it", ""]
    assert own == ["own programs", "True", "ripgrep, parsers and converters are confined by Landlock", ""]
    assert network[:2] == ["network by name", "False"]


def test_where_regular_expressions_run_is_told(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert facts(ws)["google-re2"].present
    monkeypatch.setitem(sys.modules, "re2", None)
    found = facts(ws)["google-re2"]
    assert (found.present, found.required, found.hint.startswith(add_extra("re2"))) == (False, False, True)
    assert found.detail.startswith("missing: regular expressions run in a child")
