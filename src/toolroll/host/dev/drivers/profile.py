"""Measures Python code. A program of its own: its text is run by the Python of the workspace, whatever its version.

It is given a file of JSON: `action`, `code` or `path`, `setup`, `number`, `repeat`, `top`, `seconds`, `workspace`.
The last thing that it prints is a line that begins with the mark, a variable, and holds the figures as JSON.
"""

from __future__ import annotations

import gc
import json
import linecache
import os
import signal
import sys
import time
import traceback
import types
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # never at run time: older Pythons know these only as annotations
    from collections.abc import Callable
    from typing import Any

    Figures = dict[str, Any]

MARK = "TOOLROLL_MARK"
CODE = "<code>"
TIMED = "<timeit-src>"  # what `timeit` calls the code that it makes


class ProfileReport:
    """Says the figures once, to where the output went when we began, whatever the code has done to it since."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._out = os.dup(1)
        self._process = os.getpid()

    def say(self, figures: Figures) -> None:
        """Print the figures; a process that the code has forked keeps quiet."""
        if os.getpid() != self._process:
            return
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # the code has closed it
                stream.flush()
        rest = f"\n{self._mark}{json.dumps(figures)}\n".encode()
        while rest:
            rest = rest[os.write(self._out, rest) :]


def source() -> str:
    """The text of this program."""
    import inspect

    return inspect.getsource(sys.modules[__name__])


def main() -> None:
    """Measure what the file named on the command line asks for."""
    with open(sys.argv[1], encoding="utf-8") as file:
        given: Figures = json.load(file)
    report = ProfileReport(os.environ.pop(MARK))
    sys.path[0:1] = _folders(given)
    figures: Figures = {}
    measures: dict[str, Callable[[Figures, ProfileReport], Figures]] = {
        "hotspots": hotspots,
        "time": timing,
        "memory": memory,
    }
    try:
        figures = measures[given["action"]](given, report)
    except BaseException as error:
        figures = {"error": _told(error)}
    report.say(figures)


def _folders(given: Figures) -> list[str]:
    """Where modules are looked for first: beside the file, as Python itself does, and in the workspace."""
    beside = [os.path.dirname(os.path.abspath(given["path"]))] if given["path"] else []
    return [*beside, given["workspace"]]


def _program(given: Figures) -> tuple[Any, Figures]:
    """The code to run, compiled, and the names that it runs with: those of a main module."""
    path = given["path"]
    if path:
        with open(path, "rb") as file:
            source: Any = file.read()
    else:
        source = given["code"]
        linecache.cache[CODE] = (len(source), None, source.splitlines(True), CODE)
    module = types.ModuleType("__main__")
    if path:
        module.__file__ = path
    sys.modules["__main__"] = module
    sys.argv = [path or CODE]
    return compile(source, path or CODE, "exec"), vars(module)


def _run(code: Any, names: Figures) -> Any:
    """Run a program; what it gave to `sys.exit`, if it ended itself."""
    try:
        exec(code, names)
    except SystemExit as done:
        return done.code
    return None


def _status(given: Any) -> int:
    """The exit code that Python makes of it; a text is printed, as Python does."""
    if given is None or isinstance(given, int):
        return given or 0
    with suppress(OSError, ValueError, AttributeError):  # the code has closed it
        print(given, file=sys.stderr)
    return 1


def _limit(seconds: float, report: ProfileReport, figures: Callable[[], Figures]) -> None:
    """After so long, say the figures so far and end."""

    def stop(*_: object) -> None:
        report.say({**figures(), "stopped": True})
        os._exit(0)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _unlimited() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


def hotspots(given: Figures, report: ProfileReport) -> Figures:
    """Calls and times by function."""
    import cProfile
    import pstats

    code, names = _program(given)
    profile = cProfile.Profile()
    others = _threads(cProfile.Profile)
    began = time.perf_counter()

    def stop() -> None:
        sys.modules["sys"] = sys  # where newer profilers look for it; the code may have removed it
        profile.disable()

    def figures() -> Figures:
        stop()
        seconds = time.perf_counter() - began
        stats: Any = pstats.Stats(profile, *others)
        rows = [
            {"file": file, "line": line, "function": name, "calls": calls, "own": own, "total": total}
            for (file, line, name), (_, calls, own, total, _) in stats.stats.items()
            if file != __file__ and "_lsprof.Profiler" not in name and "setitimer" not in name
        ]

        def weight(row: Figures) -> float:
            return float(row["total"] if _is_own(row["file"], given["workspace"]) else row["own"])

        rows = [row for row in rows if row["function"] != "<built-in method builtins.exec>"]
        rows.sort(key=weight, reverse=True)
        calls = sum(row["calls"] for row in rows)
        return {"seconds": seconds, "calls": calls, "functions": len(rows), "rows": rows[: given["top"]]}

    _limit(given["seconds"], report, figures)
    profile.enable()
    try:
        ended = _run(code, names)
    finally:
        stop()
        _unlimited()
    return {**figures(), "exit": _status(ended)}


def _threads(profiler: Any) -> list[Any]:
    """Profiles of further threads, which are added as the threads start."""
    import threading

    found: list[Any] = []

    def begin(*_: object) -> None:
        found.append(profiler())
        found[-1].enable()

    if sys.version_info < (3, 12):  # later ones measure all threads at once
        threading.setprofile(begin)
    return found


def _is_own(file: str, workspace: str) -> bool:
    """Whether this is code of the workspace itself.

    Only the own time of a library is shown, or its layers would push out the user's code.
    """
    if file.startswith(("<", "~")) or "/site-packages/" in file:
        return file == CODE
    return os.path.abspath(file).startswith(os.path.join(workspace, ""))


def timing(given: Figures, report: ProfileReport) -> Figures:
    """Seconds of each repetition, for one loop."""
    import timeit

    compile(given["setup"], "<setup>", "exec")
    compile(given["code"], CODE, "exec")
    timer: Any = timeit.Timer(given["code"], given["setup"], globals={"__name__": "__main__"})
    # Where a traceback finds the lines.
    linecache.cache[TIMED] = (len(timer.src), None, timer.src.splitlines(True), TIMED)
    runs: list[float] = []
    number = given["number"]

    def figures() -> Figures:
        return {"runs": runs, "number": number}

    _limit(given["seconds"], report, figures)
    if not number:
        number = timer.autorange()[0]
    for _ in range(given["repeat"]):
        runs.append(timer.timeit(number) / number)
    _unlimited()
    return figures()


def memory(given: Figures, report: ProfileReport) -> Figures:
    """What is allocated at most, and by which lines what is still held in the end."""
    import tracemalloc

    code, names = _program(given)
    gc.collect()

    def figures() -> Figures:
        held, peak = tracemalloc.get_traced_memory()
        snapshot = tracemalloc.take_snapshot()
        tracemalloc.stop()
        rows: list[Figures] = [
            {"file": at.filename, "line": at.lineno, "bytes": one.size, "blocks": one.count}
            for one in snapshot.statistics("lineno")
            for at in one.traceback
            if at.filename not in (__file__, tracemalloc.__file__)
        ]
        for row in rows[: given["top"]]:
            row["text"] = linecache.getline(row["file"], row["line"]).strip()
        return {"peak": peak, "held": held, "rows": rows[: given["top"]], "lines": len(rows)}

    _limit(given["seconds"], report, figures)
    tracemalloc.start()
    try:
        ended = _run(code, names)
    finally:
        _unlimited()
    return {**figures(), "exit": _status(ended)}


def _told(error: BaseException) -> str:
    """The traceback of the code itself, without our frames and those of what we measure with."""
    import timeit

    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, timeit.__file__):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


if __name__ == "__main__":
    main()
