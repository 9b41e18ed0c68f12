"""The events of our driver for Python."""

import json

from toolroll.text.dev.tests.events import read
from toolroll.text.dev.tests.model import Case, Covered, Failure, Frame, Raw, Run


def raw(*events, tail=""):
    return Raw("run", "/w", ".", "".join(json.dumps(one) + "\n" for one in events) + tail, "")


A = {"file": "/w/tests/test_a.py", "line": 3, "name": "test_x"}


def test_a_whole_run():
    failure = {
        "event": "failure",
        "kind": "failed",
        "message": "assert 3 == 4",
        "frames": [
            ["/usr/lib/python3/runpy.py", 9, "run", ""],
            ["/w/tests/test_a.py", 5, "test_x", "assert add(1, 2) == 4"],
            ["/w/tests/test_a.py", 5, "test_x", "assert add(1, 2) == 4"],
        ],
        "output": "hello\n",
        **A,
    }
    coverage = {
        "event": "coverage",
        "name": "coverage 7.1",
        "files": {"/w/b.py": [2, []], "/w/a.py": [4, [2, 3]], "/w/.venv/x.py": [1, []], "/usr/lib/y.py": [1, []]},
        "touched": {"/w/tests/test_a.py": ["/w/a.py", "/usr/lib/y.py"]},
    }
    run = read(
        raw(
            {"event": "start", "framework": "pytest", "version": "8.0"},
            {"event": "found", "count": 2},
            {"event": "deselected", "count": 4},
            {"event": "begin", **A},
            failure,
            {"event": "test", "outcome": "failed", "seconds": 0.5, **A},
            coverage,
            {"event": "stop", "count": 1},
        )
    )
    frame = Frame("tests/test_a.py", 5, "test_x", "assert add(1, 2) == 4")
    assert run == Run(
        framework="pytest 8.0",
        tests=[Case("tests/test_a.py::test_x", "tests/test_a.py", 3, "failed", 0.5)],
        failures=[
            Failure("tests/test_a.py::test_x", "tests/test_a.py", 5, "failed", "assert 3 == 4", [frame], "hello\n")
        ],
        coverage=[Covered("a.py", 4, [2, 3]), Covered("b.py", 2, [])],
        engine="coverage 7.1",
        touched={"tests/test_a.py": ["a.py"]},
        found=2,
        deselected=4,
        ended=True,
        status=1,
    )


def test_a_run_that_was_cut_short():
    run = read(raw({"event": "found", "count": 2}, {"event": "begin", **A}, tail='{"event": "te'))
    assert (run.ended, run.running, run.found, run.tests) == (False, "tests/test_a.py::test_x", 2, [])


def test_what_the_tests_write_there_is_passed_over():
    run = read(raw({"event": "test", "outcome": "splendid", **A}, ["no"], {"event": "stop"}, tail="x\n\n"))
    assert (run.ended, run.tests) == (True, [])


def test_the_frame_that_raised_is_told_also_when_it_is_foreign():
    frames = [["/w/tests/test_a.py", 4, "test_x", "f()"], ["/usr/lib/json.py", 9, "loads", "raise"]]
    run = read(raw({"event": "failure", "kind": "error", "message": "m", "frames": frames, **A}))
    assert run.failures[0].trace == [
        Frame("tests/test_a.py", 4, "test_x", "f()"),
        Frame("/usr/lib/json.py", 9, "loads", "raise"),
    ]
    assert run.failures[0].line == 4
