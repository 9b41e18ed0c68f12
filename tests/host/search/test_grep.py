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


def listed(count: int) -> Candidates:
    """All files of a tree that is known, newest first."""
    return Candidates(files(count))


def newest() -> Iterable[Candidates]:
    return listed(256), listed(5_000)


def steps(newest_files: Candidates | None, limit: int | None, *, must_list: bool = False) -> list[tuple[object, ...]]:
    """Each step as number of files (or "tree"), most matches, and "all" if it covers all."""
    return [
        (
            "tree" if step.candidates is None else len(step.candidates.files),
            step.max_matches,
            *(["all"] if step.covers_all else []),
        )
        for step in plan(newest_files, limit, newest, must_list=must_list)
    ]


NEWEST = [(4, 9), (32, 9), (220, 9), (4, 9), (32, 9), (256, 9), (2048, 9), (2500, 9), (160, 9)]


@pytest.mark.parametrize(
    ("newest_files", "limit", "must_list", "expected"),
    [
        # Nothing is known: ripgrep walks; with a limit, too many matches lead to the newest files.
        (None, None, False, [("tree", None, "all")]),
        (None, 9, False, [("tree", 3000, "all"), *NEWEST]),
        (None, 2000, False, [("tree", 4000, "all"), *((count, 2000) for count, _ in NEWEST)]),
        # ripgrep's own walk is wrong: the files are listed and named.
        (None, None, True, [(256, None), (2500, None), (2500, None)]),
        (None, 9, True, NEWEST),
        (listed(2000), 9, True, NEWEST),
        # The files are known, newest first: a look at a few of a large tree comes before the walk.
        (listed(1000), 9, False, [("tree", 3000, "all"), *NEWEST]),
        (listed(1001), 9, False, [(32, 9), ("tree", 3000, "all"), *NEWEST]),
        (listed(1001), None, False, [("tree", None, "all")]),
    ],
)
def test_the_plan(
    newest_files: Candidates | None, limit: int | None, must_list: bool, expected: list[tuple[object, ...]]
) -> None:
    assert steps(newest_files, limit, must_list=must_list) == expected


def test_the_files_come_in_order_and_none_is_missed() -> None:
    batches = [step.candidates for step in plan(None, 5, lambda: [listed(700)], must_list=True)]
    assert [one for batch in batches if batch for one in batch.files] == files(700)


def test_files_are_listed_only_when_a_step_needs_them() -> None:
    asked = []

    def listing() -> Iterable[Candidates]:
        asked.append(True)
        return newest()

    made = plan(None, 9, listing)
    next(made)
    assert not asked
    next(made)
    assert asked


@pytest.mark.parametrize("many", [10, 400])
def test_when_too_much_matches_the_newest_files_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(grep, "_PLENTY", 20)
    monkeypatch.setattr(grep, "_FIRST_SORTED", 4)
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
