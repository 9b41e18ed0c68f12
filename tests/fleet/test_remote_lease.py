"""A lease in another process is used as a kit is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolroll import CancelToken, Kit, Lease, ToolError
from toolroll.fleet.remote_lease import RemotePools
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.text.files.changes import Change


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemotePools]:
    """One worker, as a process of this machine."""
    folder = tmp_path_factory.mktemp("remote")
    (folder / "ws").mkdir()
    (folder / "ws" / "a.txt").write_text("one\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        frozen = FrozenCopy(str(folder / "ws"), None, 10**9)
        made = RemotePools("local", frozen, {"seconds": 600}, {"policy": "standard"}, [])
        yield made
        made.close()
        frozen.close()
    assert [one for one in (folder / "cache").rglob("*") if one.is_file()] == []


@pytest.fixture
def lease(pools: RemotePools) -> Iterator[Lease]:
    made = pools.lease()
    yield made
    made.close()


def test_calls_and_changes(lease: Lease) -> None:
    assert isinstance(lease, Kit)
    assert lease.call("read", {"path": "a.txt"}).text == "1\tone"
    edited = lease.call("edit", '{"path": "a.txt", "old": "one", "new": "two"}')
    assert edited.ok, edited.text
    assert lease.changes() == [Change("a.txt", "modified", 1, 1)]
    assert "-one\n+two\n" in lease.diff()
    missing = lease.call("read", {"path": "none"})
    assert missing.error is not None
    assert missing.error.code == "NotFound"
    assert lease.undo().ok
    assert lease.describe() == ""


def test_bytes_and_commands(lease: Lease) -> None:
    assert lease.write_bytes("b.bin", b"\x00\xff") == Change("b.bin", "created")
    assert lease.read_bytes("b.bin") == b"\x00\xff"
    done = lease.exec(["sh", "-c", "cat; echo bad >&2; echo > new; exit 3"], stdin=b"\xfe")
    assert (done.stdout, done.stderr, done.code) == (b"\xfe", b"bad\n", 3)
    assert [one.path for one in done.changes] == ["new"]
    with pytest.raises(ToolError, match="empty"):
        lease.exec("")


def test_it_is_shown_to_a_model_as_any_kit(lease: Lease) -> None:
    assert {"read", "bash"} <= {one["function"]["name"] for one in lease.definitions()}
    assert lease.check("read", {"path": "a.txt"}).name == "read"
    answers = lease.execute([{"id": "1", "function": {"name": "ls", "arguments": "{}"}}])
    assert "a.txt" in answers[0]["content"]
    assert lease.limits.seconds == 600  # type: ignore[attr-defined]
    with pytest.raises(ToolError, match="does not have this part"):
        lease.context()


def test_a_call_is_cancelled(lease: Lease) -> None:
    token = CancelToken()
    threading.Timer(0.2, token.cancel).start()
    result = lease.call("bash", {"command": "sleep 30"}, token=token)
    assert result.error is not None
    assert result.error.code == "Cancelled"


def test_leases_are_apart_and_end(pools: RemotePools, lease: Lease) -> None:
    other = pools.lease()
    other.write_bytes("a.txt", b"other\n")
    assert lease.read_bytes("a.txt") == b"one\n"
    other.close()
    with pytest.raises(ToolError, match="was closed"):
        other.call("ls")
    assert not Path(other.workspace).exists()


@pytest.mark.parametrize("options", [{"approve": print}, {"policy": object()}, {"roots": ["/"]}])
def test_an_option_that_cannot_go_elsewhere_is_named(options: dict[str, object], ws: Path) -> None:
    frozen = FrozenCopy(str(ws), None, 10**9)
    with pytest.raises(ValueError, match=f"The option {next(iter(options))!r} cannot go"):
        RemotePools("local", frozen, {}, options, [])
    frozen.close()
