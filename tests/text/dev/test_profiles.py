"""Figures of a measured program, short to read."""

import pytest

from toolroll.text.dev import profiles
from toolroll.text.dev.profiles import AllocationSite, HotFunction, Hotspots, MemoryProfile

MARK = "0123456789abcdef"


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        (f'\n{MARK}{{"a": 1}}\n', {"a": 1, "printed": ""}),
        (f'noise{MARK}{{"a": 1}}\nprinted at exit\n', {"a": 1, "printed": "noise"}),
        (f'{MARK}{{"a": 1}}\n{MARK}{{"a": 2}}\n', {"a": 2, "printed": f'{MARK}{{"a": 1}}'}),
        ("nothing", None),
        (f"{MARK}not json\n", None),
        (f"{MARK}[1]\n", None),
        (f'{MARK}{{"a": ', None),
    ],
)
def test_the_figures_are_found_in_the_output(printed, found):
    assert profiles.figures(printed, MARK) == found


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/ws/src/a.py", "src/a.py"),
        ("src/a.py", "src/a.py"),
        ("<code>", "<code>"),
        ("/ws/.venv/lib/python3.12/site-packages/pkg/b.py", ".venv/lib/python3.12/site-packages/pkg/b.py"),
        ("/home/u/lib/site-packages/pkg/b.py", "pkg/b.py"),
        ("/usr/lib/python3/dist-packages/c.py", "c.py"),
        ("/usr/lib/python3.12/json/decoder.py", "json/decoder.py"),
        ("/ws-other/a.py", "ws-other/a.py"),
        ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"),
    ],
)
def test_a_file_is_shown_as_it_is_best_known(file, shown):
    rows = [{"file": file, "line": 3, "function": "f", "calls": 2, "own": 0.25, "total": 0.5}]
    found = profiles.hotspots({"seconds": 1, "calls": 2, "functions": 1, "rows": rows, "exit": 0}, "/ws")
    assert found == Hotspots(1, 2, 1, [HotFunction("f", shown, 3, 2, 0.25, 0.5)])


def test_hotspots_are_a_table():
    rows = [
        {"file": "/ws/a.py", "line": 3, "function": "f", "calls": 2, "own": 0.25, "total": 0.5},
        {"file": "~", "line": 0, "function": "<built-in method builtins.sum>", "calls": 1000, "own": 0.1, "total": 0.1},
    ]
    found = profiles.hotspots({"seconds": 0.6, "calls": 1002, "functions": 2, "rows": rows, "exit": 3}, "/ws")
    assert str(found) == (
        "0.600 s under the profiler, 1002 calls of 2 functions\n"
        "    calls     own s   total s  function\n"
        "        2     0.250     0.500  a.py:3 f\n"
        "     1000     0.100     0.100  <built-in method builtins.sum>"
    )
    assert found.note == "(The program ended itself with exit code 3.)"


def test_times():
    found = profiles.timing({"runs": [3e-6, 2e-6, 2.5e-6], "number": 100})
    assert (found.best, found.median, found.worst, found.number) == (2e-6, 2.5e-6, 3e-6, 100)
    assert str(found) == (
        "best 2 us, median 2.5 us, worst 3 us a loop (spread 50 %, standard deviation 500 ns; 3 runs of 100 loops)"
    )
    assert found.note == ""
    assert "`repeat`" in profiles.timing({"runs": [1.0, 9.0], "number": 1}).note
    assert profiles.timing({"runs": [1.0], "number": 1}).deviation == 0
    assert profiles.timing({"runs": [], "number": None}) is None


def test_memory_is_a_table():
    row = {"file": "/ws/a.py", "line": 1, "bytes": 4 << 20, "blocks": 12, "text": "x = " + "y" * 100}
    found = profiles.memory({"peak": 5 << 20, "held": 2048, "rows": [row], "exit": None}, "/ws")
    assert found == MemoryProfile(5 << 20, 2048, [AllocationSite("a.py", 1, 4 << 20, 12, "x = " + "y" * 76)])
    assert (
        str(found)
        == f"peak 5.0 MiB, held in the end 2.0 KiB, by line:\n   4.0 MiB       12 blocks  a.py:1 x = {'y' * 76}"
    )


@pytest.mark.parametrize(
    ("value", "text"), [(2.0, "2 s"), (0.0125, "12.5 ms"), (1e-6, "1 us"), (2.5e-8, "25 ns"), (0, "0 ns")]
)
def test_spans(value, text):
    assert profiles.span(value) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB")])
def test_sizes(value, text):
    assert profiles.size(value) == text
