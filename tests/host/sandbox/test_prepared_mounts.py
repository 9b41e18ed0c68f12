"""Mounts that commands have in common are made once, and each command adds its own to a copy."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolroll import Kit
from toolroll.host.forks import overlay
from toolroll.host.sandbox import bubblewrap
from toolroll.host.sandbox.prepared_mounts import PreparedMounts
from toolroll.host.sandbox.syscalls import Kernel, machine, run_apart

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts without a namespace of users")


@pytest.fixture
def forks(tmp_path: Path) -> Iterator[list[str]]:
    made = []
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "a.txt").write_text("base\n")
    for name in ("one", "two"):
        folders = [tmp_path / name / part for part in ("upper", "work", "files")]
        for one in folders:
            one.mkdir(parents=True)
        try:
            overlay.mount(str(tmp_path / "base"), *map(str, folders))
        except OSError as error:
            pytest.skip(f"no overlays here: {error}")
        made.append(str(folders[-1]))
        Path(made[-1], "a.txt").write_text(f"{name}\n")
    yield made
    for path in made:
        overlay.unmount(path)


@pytest.fixture
def prepared(tmp_path: Path) -> PreparedMounts:
    found = machine()
    assert found is not None
    words = ["--proc", "/proc", "--dev", "/dev", "--symlink", "usr/lib", "/lib", "--ro-bind-try", "/usr", "/usr"]
    words += ["--ro-bind-try", "/gone", "/gone"]
    try:
        return PreparedMounts(Kernel(found.numbers), words, [str(tmp_path)])
    except OSError as error:
        pytest.skip(f"no mounts here: {error}")


def list_mounts() -> dict[str, str]:
    lines = Path("/proc/thread-self/mountinfo").read_text().splitlines()
    return {line.split()[4]: line.split()[5] for line in lines}


def own_mounts(folder: Path) -> tuple[str, dict[str, str]]:
    """The namespace of this thread, and its mounts in a folder: other tests mount and unmount elsewhere."""
    namespace = os.readlink("/proc/thread-self/ns/mnt")
    return namespace, {path: how for path, how in list_mounts().items() if Path(path).is_relative_to(folder)}


def test_a_thread_has_the_mount_of_its_own_fork_only_and_is_back_afterwards(
    forks: list[str], prepared: PreparedMounts, tmp_path: Path
) -> None:
    before = own_mounts(tmp_path)
    assert list(before[1]) == forks

    def look(fork: str) -> tuple[dict[str, str], list[str], str, str]:
        own = ["--tmpfs", str(tmp_path), "--bind", fork, fork, "--remount-ro", str(tmp_path)]
        with prepared.enter(own, ["--ro-bind", f"{fork}/a.txt", f"{fork}/a.txt"], (fork, "/usr/share")):
            inside, beside = list_mounts(), os.listdir(tmp_path)
            seen = inside, beside, Path(fork, "a.txt").read_text(), Path("/usr/share/a.txt").read_text()
        assert own_mounts(tmp_path) == before
        return seen

    for fork, name in zip(forks, ("one", "two"), strict=True):
        inside, beside, *content = run_apart(lambda path=fork: look(path))  # type: ignore[misc]  # a default
        assert [one for one in inside if one in forks] == [fork]
        assert beside == [name]
        assert content == [f"{name}\n"] * 2
        for path in ("/", "/dev", "/usr", str(tmp_path), f"{fork}/a.txt", "/usr/share/a.txt"):
            assert {"ro", "nosuid", "nodev"} <= set(inside[path].split(",")), path
        assert inside[fork].startswith("rw,nosuid,nodev")
        assert "/gone" not in inside
    assert own_mounts(tmp_path) == before


def test_a_fork_that_is_gone_starts_nothing(prepared: PreparedMounts, tmp_path: Path) -> None:
    def enter() -> None:
        with prepared.enter(["--bind", str(tmp_path / "gone"), str(tmp_path / "gone")], []):
            raise AssertionError("it was entered")

    with pytest.raises(FileNotFoundError):
        run_apart(enter)


# Of several at one place, only the last can be seen.
_TOP_MOUNTS = "for at, how in dict(line.split()[4:6] for line in open('/proc/self/mountinfo')).items(): print(at, how)"
_LOOK = f"""
TOP_MOUNTS={shlex.quote(_TOP_MOUNTS)}
for one in / /* /dev/* /etc /root /var/tmp "$TMPDIR" .git; do stat -c '%n %F' "$one"; done
python3 -c "$TOP_MOUNTS" | sort; cat /etc/shadow 2>&1; ls -a / /root /tmp | cat
for one in / /dev/x /usr/x .git/config; do echo x 2>&1 >> "$one"; done
echo x > /dev/shm/x; echo x > /tmp/x; ls /dev/pts /dev/shm; python3 -c 'import pty; pty.openpty()' && df --output=size,target /tmp /dev/shm
"""


def test_a_command_sees_what_bubblewrap_itself_would_show(
    open_kit, ws: Path, confined, monkeypatch: pytest.MonkeyPatch
) -> None:
    if confined != "bubblewrap":
        pytest.skip("only bubblewrap has mounts")
    subprocess.run(["git", "init", "-q", str(ws)], check=True)
    seen = []
    for _ in range(2):
        kit: Kit = open_kit()
        temp = kit.exec("echo $TMPDIR").stdout.decode().strip()
        found = kit.exec(_LOOK).stdout.decode().replace(os.path.basename(temp), "TEMP").splitlines()
        seen.append(found)
        monkeypatch.setattr(bubblewrap.Bubblewrap, "_prepare_mounts", lambda *_: None)
    assert seen[0] == seen[1]


def test_settings_that_were_replaced_are_seen(
    open_kit, tmp_path: Path, confined, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    (home / ".gitconfig").write_text("[user]\n\tname = one\n")
    kit: Kit = open_kit()
    assert kit.exec("cat ~/.gitconfig").stdout.endswith(b"one\n")
    (home / "new").write_text("[user]\n\tname = two\n")
    os.replace(home / "new", home / ".gitconfig")
    assert kit.exec("cat ~/.gitconfig").stdout.endswith(b"two\n")
