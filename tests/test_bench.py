"""The parts of the bench that measure nothing: whose turn it is, medians and ratios, tables and picture."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import corpora, figures, goals, growth, measure, picture, report
from bench.cases import Case, discover
from bench.measure import Contestant, Measured, Outcome, Race, Sample

ROOT = Path(__file__).parents[1]

OUTCOME = Outcome(
    "a <small> one",
    (
        Measured("toolroll", "ours", cpu=0.002, wall=0.004, spread=0.05, memory=2_000_000),
        Measured("a slow peer", "peer", cpu=0.02, wall=0.02, memory=20_000_000),
        Measured("a quick peer", "peer", cpu=0.001, wall=0.004, memory=1_000_000),
        Measured("far floor", "floor", cpu=0.0001, wall=0.0001),
        Measured("floor", "floor", cpu=0.0005, wall=0.0005),
    ),
)
ALONE = Outcome("alone", (OUTCOME.measured[0], OUTCOME.measured[-1]))
RESULTS = {Case("made", "What is compared.", lambda _: iter(())): [OUTCOME]}


def test_every_case_file_is_found_and_says_what_it_compares() -> None:
    files = {path.stem for path in (ROOT / "bench" / "cases").glob("*.py")} - {"__init__"}
    found = discover()
    assert set(found) == files >= {"dispatch", "edit", "find", "grep", "imports", "read"}
    assert [name for name, case in found.items() if not case.about] == []


def test_everybody_has_a_turn_in_each_round_and_begins_one() -> None:
    assert list(measure.turns(3, 4)) == [0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2]


def test_a_race_warms_up_takes_turns_and_gives_medians() -> None:
    turns: list[str] = []

    def takes(name: str, *cpu: float) -> Contestant:
        samples = iter([Sample(cpu=99, wall=99), *(Sample(each, 2 * each, 10) for each in cpu)])
        return Contestant(name, "ours", lambda: turns.append(name) or next(samples))

    race = Race("race", [takes("a", 1, 5, 3), takes("b", 4, 4, 4)], most_rounds=3)
    assert measure.run(race, rounds=9) == Outcome(
        "race",
        (
            Measured("a", "ours", cpu=3, wall=6, spread=2 / 3, memory=10),
            Measured("b", "ours", cpu=4, wall=8, spread=0, memory=10),
        ),
    )
    assert turns == ["a", "b", *"abbaab"]


def test_a_ratio_is_our_part_of_the_others_cost() -> None:
    assert measure.ratio(1, 4) == 0.25
    assert measure.ratio(1, 0) == float("inf")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.00312, "0.0031"), (0.0999, "0.1"), (0.256, "0.26"), (1.5, "1.50"), (1234.5, "1,234")],
)
def test_a_ratio_is_shown_with_the_digits_that_count(value: float, shown: str) -> None:
    assert figures.number(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(1.234, "1.23 s"), (0.0456, "45.6 ms"), (0.0000021, "2.1 us")])
def test_a_time_is_shown_in_its_unit(value: float, shown: str) -> None:
    assert figures.seconds(value) == shown


def test_the_table_names_peer_and_floor_in_each_row() -> None:
    assert report.table([OUTCOME]).splitlines() == [
        "  what           peer          CPU   wall  memory  floor  CPU : floor",
        "  a <small> one  a slow peer   0.10  0.20  0.10    floor  4.00",
        "  a <small> one  a quick peer  2.00  1.00  2.00    floor  4.00",
    ]


def test_without_peers_there_is_still_the_floor() -> None:
    assert report.table([ALONE]).splitlines()[1] == "  alone  none here  floor  4.00"


def test_the_page_holds_ratios_times_and_the_machine() -> None:
    page = report.page(RESULTS, {"Python": "3.11"}, {"made"})
    for row in (
        "| Python | 3.11 |",
        "## made\n\nWhat is compared.\n",
        "| a <small> one | a slow peer | 0.10 | 0.20 | 0.10 | floor | 4.00 |",
        "| a <small> one | toolroll |  | 2 ms | 4 ms | 5% | 2.0 MB |",
        "| a <small> one | floor | floor | 500 us | 500 us | 0% |  |",
        "![How the cost of made grows](benchmarks-made.svg)",
    ):
        assert row in page


def test_a_goal_is_judged_by_the_race_that_is_farthest_from_it() -> None:
    quick = Outcome("a quick one", (OUTCOME.measured[0], Measured("a slow peer", "peer", cpu=0.2, wall=0.1)))
    results = {case: [OUTCOME, quick, ALONE] for case in RESULTS}

    def judged(figure: goals.Figure, bound: float, **more: bool) -> list[tuple[str, float, bool]]:
        goal = goals.Goal("G1", "less", "made", "a *", figure, bound, **more)
        return [(one.race, round(one.value, 3), one.holds) for one in goals.reached([goal], results)]

    beside = goals.beside("a slow")
    assert judged(beside, 0.2) == [("a <small> one", 0.1, True)]
    assert judged(beside, 0.05) == [("a <small> one", 0.1, False)]
    assert judged(beside, 0.05, least=True) == [("a quick one", 0.01, False)]
    assert judged(beside, 0.05, mean=True) == [("mean of 2", 0.032, True)]
    assert judged(goals.over("a slow"), 1) == [("a <small> one", -16.0, True)]
    assert judged(goals.beside("nobody"), 1) == []


def test_growth_is_read_off_the_row_with_all_its_sizes() -> None:
    def at(size: int, ours: float) -> Outcome:
        costs = Measured("toolroll", "ours", ours, ours), Measured("peer", "peer", size / 1e6, 1)
        return Outcome(f"found in {size}", costs, "found", size)

    results = {case: [at(1000, 0.003), at(10, 0.001), at(100, 0.002), OUTCOME] for case in RESULTS}
    goal = goals.Goal("G10", "growth", "made", "found", goals.growth, 2, grows=True)
    (found,) = goals.reached([goal], results)
    assert (found.race, found.value, found.holds) == ("found", pytest.approx(3), False)
    drawn = ElementTree.fromstring(growth.pictures(results)["made"])
    lines = [one.get("points") for one in drawn.iter("{http://www.w3.org/2000/svg}polyline")]
    assert [len(line.split()) for line in lines if line] == [3, 3]
    assert growth.pictures(RESULTS) == {}


def test_the_picture_is_well_formed_with_a_bar_for_each_peer() -> None:
    drawn = ElementTree.fromstring(picture.svg(RESULTS))
    kinds = [one.get("class") for one in drawn.iter("{http://www.w3.org/2000/svg}rect")]
    assert kinds == ["paper", "less", "floor", "more", "floor"]
    texts = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "a <small> one: a slow peer" in texts


def test_the_made_tree_is_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tree(folder: Path) -> dict[str, tuple[bytes, float]]:
        monkeypatch.setattr(corpora, "FOLDER", folder)
        made = corpora.synthetic(30)
        files = [path for path in made.rglob("*") if path.is_file()]
        return {str(path.relative_to(made)): (path.read_bytes(), path.stat().st_mtime) for path in files}

    first = tree(tmp_path / "a")
    assert len(first) == 30
    assert first == tree(tmp_path / "b")


def test_pins_of_the_peers_are_exact_and_hold_no_address() -> None:
    text = (ROOT / "bench" / "requirements.txt").read_text()
    named = [line for line in text.splitlines() if not line.startswith(" ")]
    assert [line for line in named if not re.match(r"[a-z0-9-]+==[\w.]+( ;.*)? \\$", line)] == []
    assert text.count("--hash=sha256:") >= len(named)
    assert [word for word in ("://", "--index-url", "--find-links", "@ ") if word in text] == []
