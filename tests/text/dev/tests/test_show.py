"""Results as text."""

import pytest

from toolroll.text.dev.tests.model import Case, Covered, Failure, Frame, Run, numbers
from toolroll.text.dev.tests.results import found, report


def fail(n, message="assert 0", line=1, output=""):
    return Failure(
        f"t.py::test_{n}", "t.py", line, "failed", message, [Frame("t.py", line, f"test_{n}", "assert x")], output
    )


def result(failures, tests=(), **more):
    run = Run("pytest 9", [*tests, *(Case(one.id, one.path, 1, "failed") for one in failures)], list(failures), **more)
    return report(run, 1.5, "", whole=True, verbose=False)


def test_counts_failures_and_the_slowest():
    slow = [Case("t.py::test_ok", "t.py", 1, "passed", 1.25), Case("t.py::test_no", "t.py", 1, "skipped", 0.001)]
    text = str(result([fail(1, "assert 3 == 4\n + where", 7, "hello\n")], slow))
    assert text == (
        "1 failed, 1 passed, 1 skipped in 1.50 s (pytest 9)\n"
        "FAILED t.py::test_1 (t.py:7)\n  assert 3 == 4\n   + where\n    at t.py:7 in test_1: assert x\n    printed:\n      hello\n"
        "Slowest: t.py::test_ok 1.25 s"
    )


def test_no_failure_is_hidden_however_many_there_are():
    failures = [fail(n, f"assert {n}\n" + "x" * 3000, n + 1) for n in range(300)]
    text = str(result(failures))
    assert all(f"FAILED {one.id}" in text for one in failures)
    assert text.startswith("300 failed in")
    assert len(text) < 30_000


def test_the_same_cause_is_told_once():
    same = [Failure(f"t.py::test_{n}", "t.py", 2, "error", "no database", [Frame("conftest.py", 3)]) for n in range(3)]
    text = str(result(same))
    assert text.count("no database") == 1
    assert "\n  the same in 2 more: t.py::test_1, t.py::test_2" in text


def test_hundreds_of_one_cause_are_one_line():
    same = [Failure(f"t.py::test_{n}", "t.py", n, "error", "fixture 'db' not found") for n in range(432)]
    lines = str(result([*same, fail(1)])).splitlines()
    assert lines[1:4] == ["ERROR t.py::test_0 (t.py:0)", "  fixture 'db' not found", lines[3]]
    assert lines[3].startswith("  the same in 431 more: t.py::test_1, t.py::test_2, ")
    assert len(lines) < 12
    alike = [Failure(f"t.py::test_{n}", "t.py", n, "failed", "assert 0") for n in range(2)]
    assert str(result(alike)).count("assert 0") == 2, "without a place they may have different reasons"


def test_a_long_message_keeps_both_ends():
    text = str(result([fail(1, "begin\n" + "x\n" * 5000 + "end")]))
    assert "begin" in text
    assert "end" in text
    assert "characters left out" in text


def test_files_that_cannot_be_loaded_count_as_errors():
    broken = Failure("bad.py", "bad.py", 1, "error", "No module named 'nope'", [])
    run = Run("pytest 9", [Case("t.py::a", "t.py")], [broken])
    shown = report(run, 0, "", whole=True, verbose=False)
    assert (shown.passed, shown.errors, shown.total) == (1, 1, 2)
    assert str(shown).startswith(
        "1 error, 1 passed in 0.00 s (pytest 9)\nERROR bad.py (bad.py:1)\n  No module named 'nope'"
    )


def test_coverage_leaves_the_tests_out():
    files = [
        Covered("a.py", 4, [2, 3]),
        Covered("b.py", 2, []),
        Covered("t.py", 9, []),
        Covered("tests/conftest.py", 9, []),
    ]
    shown = result([], [Case("t.py::a", "t.py")], coverage=files, engine="coverage 7")
    assert (shown.covered, [one.path for one in shown.coverage]) == (66.7, ["a.py", "b.py"])
    assert str(shown).split("\n")[1:] == ["Coverage 66% (coverage 7)", "  50%  a.py  missing 2-3", " 100%  b.py"]


def test_a_whole_percentage_is_never_rounded_up():
    shown = result([], coverage=[Covered("a.py", 1000, [7])])
    assert "Coverage 99%" in str(shown)


def test_many_names_are_kept_aside():
    tests = [Case(f"t{n % 2}.py::test_{n}", f"t{n % 2}.py") for n in (*range(0, 1200, 2), *range(1, 1200, 2))]
    shown = found(Run("pytest 9", tests), "")
    text = str(shown)
    assert text.startswith("1200 tests in 2 files (pytest 9)\nt0.py\n  test_0\n  test_2\n")
    assert text.endswith("[and 700 more]")
    assert shown.whole().count("test_") == 1200


@pytest.mark.parametrize(
    ("lines", "text"), [([], ""), ([3], "3"), ([1, 2, 3, 7, 9, 10], "1-3, 7, 9-10"), ([2, 1], "1-2")]
)
def test_numbers(lines, text):
    assert numbers(lines) == text
