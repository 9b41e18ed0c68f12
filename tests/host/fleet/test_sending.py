"""A base goes to a node once, whole, and is gone with the last process that uses it."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.fleet.sending import BaseOffer, NodeBase, PackedBase


@pytest.fixture
def packed(ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[BaseOffer, bytes]:
    """The archive of a base, packed twice to the same digest."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (ws / "sub").mkdir()
    (ws / "sub" / "run.sh").write_text("true\n")
    (ws / "sub" / "run.sh").chmod(0o755)
    os.utime(ws / "sub" / "run.sh", (10**9, 10**9))
    (ws / "out").symlink_to("/etc/hostname")
    offers = []
    for _ in range(2):
        frozen = FrozenCopy(str(ws), None, 10**9)
        archive, file = PackedBase(frozen), io.BytesIO()
        archive.copy_to(file)
        offers.append(archive.offer)
        archive.close()
        frozen.close()
    assert len({(one.digest, one.size) for one in offers}) == 1
    assert offers[0].size == len(file.getvalue())
    return offers[0], file.getvalue()


def test_processes_share_a_base_and_the_last_one_removes_it(packed: tuple[BaseOffer, bytes], ws: Path) -> None:
    offer, data = packed
    first = NodeBase(offer)
    assert not first.is_here
    first.unpack(io.BytesIO(data))
    second = NodeBase(offer)
    assert second.is_here
    second.unpack(io.BytesIO(data))  # both were asked to
    path = Path(second.path)
    assert path.name == ws.name
    assert sorted(one.name for one in path.iterdir()) == ["out", "sub"]
    script = (path / "sub" / "run.sh").stat()
    assert (script.st_mode & 0o777, script.st_mtime, script.st_uid) == (0o755, 10**9, os.geteuid())
    assert os.readlink(path / "out") == "/etc/hostname"
    first.close()
    assert path.exists()
    second.close()
    assert not path.parents[2].exists()


def test_what_a_killed_process_left_is_removed(packed: tuple[BaseOffer, bytes]) -> None:
    offer, data = packed
    killed = NodeBase(offer)
    killed.unpack(io.BytesIO(data))
    os.close(killed._held)  # as the kernel does
    other = NodeBase(BaseOffer("other", "x", 0))
    assert [one.name for one in Path(other._folder).parent.iterdir()] == ["other"]
    other.close()
