"""Which engine searches which files, as a table; the rows that come of it are tested through `Search`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.launchers import LAUNCHER
from toolroll.host.files.root import Root
from toolroll.host.search import grep
from toolroll.host.search.grep import plan
from toolroll.host.search.query import Candidates
from toolroll.host.search.search import Query, Search
from toolroll.policy.limits import Limits


def files(count: int) -> list[str]:
    return [f"f{number}" for number in range(count)]


def narrowed(count: int) -> Candidates:
    """As the index gives them: all that can match."""
    return Candidates(files(count), True, all_text=True)


def small(count: int) -> Candidates:
    """All files of a small tree."""
    return Candidates(files(count), True, newest_first=False)


def listed(count: int) -> Candidates:
    """All files of a tree that the index knows, but not which of them can match."""
    return Candidates(files(count), False)


def newest() -> Iterable[Candidates]:
    return Candidates(files(256), True), Candidates(files(5_000), True)


def steps(
    candidates: Candidates | None, limit: int | None, *, simple: bool = True, must_list: bool = False
) -> list[tuple[object, ...]]:
    """Each step as engine, number of files (or "tree"), most matches, and "all" if it covers all."""
    return [
        (
            "here" if step.in_process else "rg",
            "tree" if step.candidates is None else len(step.candidates.files),
            step.max_matches,
            *(["all"] if step.covers_all else []),
        )
        for step in plan(candidates, limit, newest, simple=simple, must_list=must_list)
    ]


NEWEST_HERE = [
    *[("here", 16, 9), ("here", 32, 9), ("here", 64, 9), ("here", 128, 9), ("here", 16, 9)],  # 256 files
    *[("here", 16, 9), ("here", 32, 9), ("here", 64, 9), ("here", 128, 9), ("here", 256, 9)],
    *[("rg", 512, 9), ("rg", 1024, 9), ("rg", 2048, 9), ("rg", 920, 9)],
]
NEWEST_RIPGREP = [
    *[("rg", 4, 9), ("rg", 32, 9), ("rg", 220, 9)],
    *[("rg", 4, 9), ("rg", 32, 9), ("rg", 256, 9), ("rg", 2048, 9), ("rg", 2500, 9), ("rg", 160, 9)],
]


@pytest.mark.parametrize(
    ("candidates", "limit", "simple", "must_list", "expected"),
    [
        # Nothing is known: ripgrep walks; with a limit, too many matches lead to the newest files.
        (None, None, True, False, [("rg", "tree", None, "all")]),
        (None, 9, True, False, [("rg", "tree", 3000, "all"), *NEWEST_HERE]),
        (None, 9, False, False, [("rg", "tree", 3000, "all"), *NEWEST_RIPGREP]),
        (None, 2000, False, False, [("rg", "tree", 4000, "all"), *((a, b, 2000) for a, b, _ in NEWEST_RIPGREP)]),
        # ripgrep's own walk is wrong: the files are listed and named.
        (None, None, False, True, [("rg", 256, None), ("rg", 2500, None), ("rg", 2500, None)]),
        (None, None, True, True, [("here", 256, None), ("rg", 2500, None), ("rg", 2500, None)]),
        (None, 9, True, True, NEWEST_HERE),
        (listed(2000), 9, True, True, NEWEST_HERE),
        # A small tree is searched at once.
        (small(20), None, True, False, [("here", 20, None, "all")]),
        (small(20), 9, True, False, [("here", 20, 3000, "all"), *NEWEST_HERE]),
        # The index tells which files can match.
        (narrowed(20), None, True, False, [("here", 20, None)]),
        (narrowed(20), None, False, False, [("rg", 20, None)]),
        (narrowed(300), None, True, False, [("rg", 300, None)]),
        (narrowed(2500), None, True, False, [("rg", 2500, None)]),
        (narrowed(2501), None, True, False, [("rg", "tree", None, "all")]),
        (narrowed(16), 9, True, False, [("here", 16, 9)]),
        (narrowed(50), 9, True, False, [("here", 16, 9), ("here", 32, 9), ("here", 2, 9)]),
        (narrowed(50), 9, False, False, [("rg", 4, 9), ("rg", 32, 9), ("rg", 14, 9)]),
        (
            narrowed(3000),
            9,
            False,
            False,
            [("rg", 4, 9), ("rg", 32, 9), ("rg", 256, 9), ("rg", 2048, 9), ("rg", 660, 9)],
        ),
        (narrowed(0), None, True, False, []),
        (narrowed(0), 9, True, False, []),
        (narrowed(0), None, False, False, [("rg", 0, None)]),
        # The index lists all files, newest first: a look at a few of a large tree comes before the walk.
        (listed(1000), 9, True, False, [("rg", "tree", 3000, "all"), *NEWEST_HERE]),
        (listed(1001), 9, True, False, [("here", 32, 9), ("rg", "tree", 3000, "all"), *NEWEST_HERE]),
        (listed(1001), None, True, False, [("rg", "tree", None, "all")]),
    ],
)
def test_the_plan(
    candidates: Candidates | None, limit: int | None, simple: bool, must_list: bool, expected: list[tuple[object, ...]]
) -> None:
    assert steps(candidates, limit, simple=simple, must_list=must_list) == expected


def test_the_files_come_in_order_and_none_is_missed() -> None:
    batches = [step.candidates for step in plan(narrowed(700), 5, newest, simple=False)]
    assert [one for batch in batches if batch for one in batch.files] == files(700)
    assert all(batch is not None and batch.all_text for batch in batches)


def test_files_are_listed_only_when_a_step_needs_them() -> None:
    asked = []

    def listing() -> Iterable[Candidates]:
        asked.append(True)
        return newest()

    made = plan(None, 9, listing, simple=True)
    next(made)
    assert not asked
    next(made)
    assert asked


@pytest.mark.parametrize("many", [10, 400])
def test_when_too_much_matches_the_newest_files_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(grep, "_PLENTY", 20)
    monkeypatch.setattr(grep, "MAX_FILES", 4)
    for number in range(many):
        path = tmp_path / f"f{number:03}"
        path.write_text("needle\n" * 3)
        path.touch()
    (tmp_path / "f003").write_text("needle new\n")
    with Root(str(tmp_path)) as root:
        search = Search(root, limits=Limits(), launcher=LAUNCHER)
        found = search.grep(Query("needle"), limit=7)
        every = search.grep(Query("needle"))
    assert (found.stopped, found.survey) == ("limit", None)
    assert found.rows[0].text == "needle new"
    assert found.rows[:7] == every.rows[:7]
    assert len(found.rows) < len(every.rows)


def test_a_large_tree_with_rules_that_ripgrep_reads_in_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep, "_MAX_NAMED", 3)
    (tmp_path / ".gitignore").write_text("*.{log,tmp}\n")  # braces are letters to git
    for number in range(10):
        (tmp_path / f"f{number}.log").write_text("needle\n")
    with Root(str(tmp_path)) as root:
        found = Search(root, limits=Limits(), launcher=LAUNCHER).grep(Query("needle"))
        expected = Search(root, limits=Limits(), launcher=LAUNCHER, program=None).grep(Query("needle"))
    assert (found.files, found.rows) == (10, expected.rows)
