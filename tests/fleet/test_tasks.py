"""One task in a lease: it has a result that can be written, whatever it raises and whatever it changes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from toolroll import Fleet, Lease
from toolroll.fleet.tasks import FleetTask, run_task


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("tasks")
    (folder / "ws").mkdir()
    (folder / "ws" / "a.txt").write_text("one\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        with Fleet(folder / "ws") as made:
            yield made


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (RuntimeError("can't start new thread"), "RuntimeError: can't start new thread"),
        (SystemExit("enough"), "SystemExit: enough"),
        (KeyError("x"), "KeyError: 'x'"),
        (ValueError("no such place"), "no such place"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (RuntimeError("caf\udce9"), r"RuntimeError: caf\udce9"),
    ],
)
def test_whatever_an_agent_raises_is_in_the_result(fleet: Fleet, error: BaseException, why: str) -> None:
    def run_agent(kit: Lease, task: str) -> tuple[bool, str]:
        raise error

    result = run_task(FleetTask("1", agent="Work."), fleet.lease, run_agent)
    assert (result.status, result.why) == ("error", why)
    assert msgspec.json.encode(result)


def test_bytes_that_are_not_utf8_are_shown_escaped(fleet: Fleet) -> None:
    result = run_task(FleetTask("1", setup=[r"printf 'caf\351\n' > a.txt"]), fleet.lease)
    assert result.status == "passed"
    assert "-one\n+caf\\udce9\n" in result.patch
    assert result.note == (
        r"The patch has bytes that are not UTF-8. They are shown escaped (\udcff is the byte ff). "
        "git apply cannot take it as it is."
    )
    assert msgspec.json.decode(msgspec.json.encode(result), type=type(result)) == result


def test_a_long_patch_is_cut_at_a_line_end_and_says_so(fleet: Fleet) -> None:
    result = run_task(FleetTask("1", setup=["seq 1000000 1100000 > a.txt"]), fleet.lease)
    assert 199_900 < len(result.patch) <= 200_000
    assert result.patch.endswith("\n")
    assert result.note.startswith(f"The patch was cut after {len(result.patch):,} of ")
    assert result.note.endswith(" characters. git apply cannot take it as it is.")


def test_a_patch_that_can_be_applied_has_no_note(fleet: Fleet) -> None:
    result = run_task(FleetTask("1", setup=["echo zwölf > a.txt"]), fleet.lease)
    assert "+zwölf\n" in result.patch
    assert result.note == ""
