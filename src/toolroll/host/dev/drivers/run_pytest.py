"""Runs a project's tests with its own Python and tells each event as a line of JSON in a file.

It is given as a script: `run_pytest.py OPTIONS TARGET...`, where OPTIONS is JSON. It imports nothing but the
standard library, pytest and coverage, and keeps to what Python 3.8 and pytest 6 know.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import sys
import traceback
import types
from typing import Any

_MOST = 20_000  # characters of one message or one output to keep
_NATIVE = re.compile(r'File "(.+)", line (\d+), in (.+)\n[ |]*(.*)')
_SYNTAX = r'^E +File "(.+)", line (\d+)\n(?:E +(.*)\n)?(?:.*\n)*?E +\w*(?:Syntax|Indentation|Tab)Error: '


class EventLog:
    """Writes events to the file as they happen, so that what is known survives a kill."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, event: str, **what: Any) -> None:
        # Opened for each line: the tests may close descriptors or fork.
        line = json.dumps({"event": event, **what}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)


class Watcher:
    """A pytest plugin that reports."""

    def __init__(self, report: EventLog, measure: Any) -> None:
        self._report = report
        self._measure = measure
        self._root = ""
        self._seconds: dict[str, float] = {}
        self._outcome: dict[str, str] = {}
        self._now: dict[str, Any] = {"file": "", "line": None, "name": "pytest"}
        self._unloaded: set[str] = set()
        self._broken: dict[str, Any] = {}
        """Folders whose conftest.py could not be loaded, and why."""

    def skip_broken_conftests(self, manager: Any) -> None:
        """Let pytest go on without the tests of a folder whose conftest.py cannot be loaded, instead of giving up."""
        load = getattr(manager, "_importconftest", None)
        if load is None:
            return

        def loaded(this: Any, path: Any, *args: Any, **more: Any) -> Any:
            folder = os.path.dirname(str(path))
            try:
                return types.ModuleType("conftest") if folder in self._broken else load(this, path, *args, **more)
            except BaseException as error:
                if type(error).__name__ != "ConftestImportFailure":
                    raise
                self._broken[folder] = error
                return types.ModuleType("conftest")

        manager._importconftest = loaded

    def pytest_collection_modifyitems(self, items: Any) -> None:
        """Leave out the tests beneath a broken conftest.py: they would all fail for want of its fixtures."""
        for folder, error in self._broken.items():
            inside = [one for one in items if str(one.fspath).startswith(os.path.join(folder, ""))]
            items[:] = [one for one in items if one not in inside]
            cause = getattr(error, "cause", None) or error.excinfo[1]
            trace = [one for one in traceback.extract_tb(cause.__traceback__) if one.filename[0] != "<"]
            own = [one for one in trace if "_pytest" not in one.filename and "importlib" not in one.filename]
            frames = [[one.filename, one.lineno, one.name, one.line or ""] for one in own[-3:]]
            said = "".join(traceback.format_exception_only(type(cause), cause)).strip()
            message = said[:_MOST] + "\nTests in its folder that were not run: " + str(len(inside))
            place = {"file": os.path.join(folder, "conftest.py"), "line": None, "name": ""}
            self._report("failure", kind="error", **place, message=message, frames=frames)

    def pytest_configure(self, config: Any) -> None:
        """Remember where ids start; what is measured runs in this process."""
        self._root = str(getattr(config, "rootpath", None) or config.rootdir)
        if self._measure and hasattr(config.option, "dist"):
            config.option.dist = "no"

    def pytest_collection_finish(self, session: Any) -> None:
        self._report("found", count=len(session.items))
        if session.config.option.collectonly:
            for item in session.items:
                self._report("item", **self._place(item.nodeid, item.location))

    def pytest_deselected(self, items: Any) -> None:
        self._report("deselected", count=len(items))

    def pytest_collectstart(self, collector: Any) -> None:
        if "." in collector.nodeid:
            self._now = self._place(collector.nodeid, (collector.nodeid.split("::")[0], None, ""))

    def pytest_internalerror(self, excinfo: Any) -> None:
        """Tell what ended pytest itself, such as a file that leaves Python when it is loaded."""
        self._stopped(excinfo)

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self._stopped(excinfo)

    def _stopped(self, excinfo: Any) -> None:
        trace = traceback.extract_tb(excinfo.value.__traceback__)
        frames = [[one.filename, one.lineno, one.name, one.line or ""] for one in trace if one.filename[0] != "<"]
        self._report("failure", kind="error", **self._now, message=excinfo.exconly()[:_MOST], frames=frames)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and report.nodeid not in self._unloaded:  # each process of xdist loads it again
            self._unloaded.add(report.nodeid)
            place = self._place(report.nodeid, (report.nodeid.split("::")[0], None, ""))
            self._report("failure", kind="error", **place, **_explained(report.longrepr))

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        place = self._now = self._place(nodeid, location)
        if self._measure:
            self._measure.enter(place["file"])
        self._report("begin", **place)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.outcome == "rerun":
            return
        known = report.nodeid
        place = self._place(known, report.location)
        self._seconds[known] = self._seconds.get(known, 0.0) + getattr(report, "duration", 0.0)
        if report.failed:
            kind = "failed" if report.when == "call" else "error"
            self._outcome[known] = "failed" if self._outcome.get(known) == "failed" else kind
            printed = "\n".join(text for title, text in report.sections if "log" not in title)
            why = _explained(report.longrepr)
            if hasattr(report, "context"):
                why["message"] = f"{_part(report.context)} {why['message']}"
            self._report("failure", kind=kind, output=printed[-_MOST:], **place, **why)
        elif hasattr(report, "context"):
            return  # a part of a test that went well
        elif report.skipped:
            self._outcome.setdefault(known, "xfailed" if hasattr(report, "wasxfail") else "skipped")
        if report.when not in ("setup", "call"):
            seconds = round(self._seconds.pop(known, 0.0), 4)
            self._report("test", outcome=self._outcome.pop(known, "passed"), seconds=seconds, **place)

    def _place(self, nodeid: str, location: Any) -> dict[str, Any]:
        file, line, _ = location
        name = nodeid.partition("::")[2]
        return {"file": os.path.join(self._root, file), "line": None if line is None else line + 1, "name": name}


def _part(context: Any) -> str:
    """Which part of a test it was, for one that has several."""
    values = ", ".join(f"{name}={value}" for name, value in dict(context.kwargs).items())
    return f"({context.msg or ''}{' ' if context.msg and values else ''}{values})"


def _explained(longrepr: Any) -> dict[str, Any]:
    """The message and the frames of a failure, as pytest's short style tells them."""
    chain = getattr(longrepr, "chain", None)
    trace = chain[-1][0] if chain else getattr(longrepr, "reprtraceback", None)
    crash = chain[-1][1] if chain else getattr(longrepr, "reprcrash", None)
    frames, parts = [], []
    for entry in getattr(trace, "reprentries", ()):
        at = getattr(entry, "reprfileloc", None)
        code = [line.strip() for line in entry.lines if not line.startswith("E")]
        if at is not None:
            where = at.message[3:] if at.message.startswith("in ") else ""
            frames.append([os.path.abspath(at.path), at.lineno, where, code[0] if code else ""])
        else:  # an exception group: as Python formats it
            whole, *rest = re.split(r"^ *\+-.*\n", "".join(entry.lines), flags=re.M)
            frames += [[file, int(line), where, code] for file, line, where, code in _NATIVE.findall(whole)]
            parts += ["\n- " + one for one in re.findall(r"^ *\| (?!Traceback )(\S.*)", "".join(rest), re.M)]
    if crash is not None and crash.message:
        causes = [f"\nafter {one[1].message}" for one in (chain or ())[-2::-1] if one[1] is not None]
        return {"message": "".join([crash.message, *parts, *causes])[:_MOST], "frames": frames}
    text = getattr(longrepr, "errorstring", None) or str(longrepr)
    errors = [line[1:].strip() for line in text.splitlines() if line.startswith("E  ")]
    places = re.findall(r"^([^\s<][^\n]*?):(\d+): in (.+)\n\s*(.*)", text, re.M)
    frames = frames or [[os.path.abspath(file), int(line), where, code] for file, line, where, code in places]
    broken = re.search(_SYNTAX, text, re.M)
    if broken:
        frames.append([broken[1], int(broken[2]), "", broken[3] or ""])
        errors = errors[-1:]
    return {"message": ("\n".join(errors) or text.strip())[:_MOST], "frames": frames}


def run_pytest(options: dict[str, Any], targets: list[str], report: EventLog, measure: Any) -> int:
    """Run or list tests with pytest; its exit code."""
    import pytest

    report("start", framework="pytest", version=pytest.__version__)
    # The cache goes with the report, so that the project stays as it is.
    args = ["--tb=short", "--color=no", "--continue-on-collection-errors", "-o", "cache_dir=" + options["cache"]]
    if options["action"] == "discover":
        args += ["--collect-only", "-q"]
    if options["action"] == "coverage":
        # Another measurement would make ours wrong.
        args += ["--no-cov"] if importlib.util.find_spec("pytest_cov") else []
    if options["keyword"]:
        args.append("-k=" + options["keyword"])
    args += targets
    sys.argv = ["pytest", *args]
    watcher = Watcher(report, measure)
    watcher.skip_broken_conftests(pytest.PytestPluginManager)
    with measure or contextlib.nullcontext():
        return int(pytest.main(args, plugins=[watcher]))


def _beside(options: dict[str, Any], name: str) -> Any:
    """Another part of this driver, which is a file of its own."""
    spec = importlib.util.spec_from_file_location("_toolroll_" + name, options["parts"][name])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    """Choose the framework, run, and tell how it ended."""
    options, targets = json.loads(sys.argv[1]), sys.argv[2:]
    report = EventLog(options["report"])
    # As `python -m` has it: the project's folder first, not the one of this script.
    sys.path[0] = os.getcwd()
    framework = options["framework"]
    if framework == "auto":
        framework = "pytest" if importlib.util.find_spec("pytest") else "unittest"
    elif framework == "pytest" and not importlib.util.find_spec("pytest"):
        report("missing", name="pytest")
        return 6
    measure: Any = None
    if options["action"] == "coverage":
        if not importlib.util.find_spec("coverage"):
            report("missing", name="coverage")
            return 6
        measure = _beside(options, "measure_coverage").CoverageMeter(report, os.getcwd())
    run = run_pytest if framework == "pytest" else _beside(options, "run_unittest").run
    status = run(options, targets, report, measure)
    report("stop", count=status)
    return status


if __name__ == "__main__":
    sys.exit(main())
