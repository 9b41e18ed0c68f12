"""Which of the private files in /etc must be covered, and which the kernel keeps from a command by itself."""

from __future__ import annotations

import os
import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.values import assert_values
from toolroll.host.files import system as module
from toolroll.host.files.system import _open_to, _private, _system, carve_out, real, system

if sys.platform != "linux" or os.geteuid() != 0:
    pytest.skip("needs root on Linux, who alone can give files away", allow_module_level=True)

US, OTHERS = 0, 65534


@pytest.mark.parametrize(
    ("owner", "group", "mode", "expected"),
    [
        (US, US, 0o600, True),
        (US, OTHERS, 0o000, True),  # whoever owns it could change that
        (OTHERS, US, 0o640, True),
        (OTHERS, US, 0o600, False),
        (OTHERS, OTHERS, 0o660, False),
        (OTHERS, OTHERS, 0o711, True),  # a folder whose names must be guessed
    ],
)
def test_what_is_open_to_a_user(tmp_path: Path, owner: int, group: int, mode: int, expected: bool) -> None:
    path = tmp_path / "file"
    path.touch()
    os.chown(path, owner, group)
    path.chmod(mode)
    assert _open_to(str(path), US, frozenset((US,))) is expected


def test_an_empty_lock_hides_nothing(tmp_path: Path) -> None:
    found = {}
    for name, text in (("a.lock", ""), ("b.lock", "secret"), ("c", "")):
        (tmp_path / name).write_text(text)
        found[name] = _open_to(str(tmp_path / name), US, frozenset((US,)))
    (tmp_path / "d.lock").mkdir()
    found["d.lock"] = _open_to(str(tmp_path / "d.lock"), US, frozenset((US,)))
    assert found == {"a.lock": False, "b.lock": True, "c": True, "d.lock": True}


def test_a_list_of_users_counts(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.chown(path, OTHERS, OTHERS)
    path.chmod(0o600)
    assert not _open_to(str(path), US, frozenset((US,)))
    # The owner, a user by number, the group, the mask and everybody else; by tag, rights and number.
    rows = ((1, 6, -1), (2, 4, US), (4, 0, -1), (16, 4, -1), (32, 0, -1))
    text = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *row) for row in rows)
    try:
        os.setxattr(path, "system.posix_acl_access", text)
    except OSError as error:
        pytest.skip(f"no such lists here: {error.strerror}")
    assert _open_to(str(path), US, frozenset((US,)))
    assert _open_to(str(tmp_path / "missing"), US, frozenset((US,)))


def test_each_look_at_the_system_is_another_one() -> None:
    assert system() is system()
    assert replace(system()) != system()


def test_what_is_shown_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    etc, outside = tmp_path / "etc", tmp_path / "outside"
    etc.mkdir()
    outside.touch()
    for name, owner, mode in (("open", US, 0o644), ("group", OTHERS, 0o640), ("shut", OTHERS, 0o600)):
        (etc / name).touch()
        (etc / name).chmod(mode)
        os.chown(etc / name, owner, US)
    monkeypatch.setattr(module, "ETC", str(etc))
    files = []
    for resolver in (outside, etc / "open", etc / "missing"):
        monkeypatch.setattr(module, "RESOLVER", str(resolver))
        files.append(_system.__wrapped__(0, US, frozenset()).files)
    assert files == [(str(outside),), (), ()]
    found = system()
    assert (found.hidden, found.covered, found.settings) == (
        (f"{etc}/group", f"{etc}/shut"),
        (f"{etc}/group",),
        (f"{etc}/open",),
    )
    assert "/usr" in found.folders
    other = _system.__wrapped__(0, OTHERS, frozenset())
    assert (other.hidden, other.covered, other.settings) == ((), (), (str(etc),))


def test_a_system_stays_as_it_was_found() -> None:
    assert_values(module)


def test_the_outermost_private_paths_and_what_is_left_without_them(tmp_path: Path) -> None:
    modes = {"a/open": 0o644, "a/shut": 0o600, "b/open": 0o644, "c/open": 0o644}
    for path, mode in modes.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
        (tmp_path / path).chmod(mode)
    (tmp_path / "b").chmod(0o711)  # its names must be guessed
    (tmp_path / "link").symlink_to("a/shut")
    private = list(_private(str(tmp_path)))
    assert private == [f"{tmp_path}/a/shut", f"{tmp_path}/b"]
    assert list(carve_out(str(tmp_path), private)) == [f"{tmp_path}/a/open", f"{tmp_path}/c"]
    assert list(carve_out(f"{tmp_path}/c", private)) == [f"{tmp_path}/c"]
    assert list(carve_out(f"{tmp_path}/b", private)) == []


def test_where_a_path_leads(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dead").symlink_to("none")
    assert [real(str(tmp_path / name)) for name in ("link", "dead", "none")] == [f"{tmp_path}/file", None, None]
    assert real("a\0b") is None


def test_what_cannot_be_looked_into_is_private_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    assert list(_private(missing)) == [missing]
    assert list(carve_out(missing, [f"{missing}/x"])) == []


def test_without_settings_the_system_is_looked_up_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ETC", "/none")
    _system.cache_clear()
    try:
        assert (system().hidden, system().settings) == (("/none",), ())
    finally:
        _system.cache_clear()
