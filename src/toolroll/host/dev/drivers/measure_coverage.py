"""Which lines of a project its tests reach: by coverage.py, or by a tracer of our own where that is missing.

Loaded by `run_pytest.py` in the project's own interpreter; it keeps to what Python 3.8 knows.
"""

from __future__ import annotations

import dis
import json
import os
import sys
import threading
from typing import Any


def measuring(report: Any, folder: str) -> Any:
    """A context that measures what runs in it and reports it at its end; `enter` names the test file in turn."""
    try:
        import coverage
    except ImportError:
        return Lines(report, folder)
    return Coverage(report, folder, coverage)


class Coverage:
    """Measures with coverage.py, as the project configures it."""

    alone = True
    """Other processes are not measured."""

    def __init__(self, report: Any, folder: str, module: Any) -> None:
        self._report = report
        self._name = "coverage " + module.__version__
        self._module = module
        self._file = report.path + ".coverage"
        self._cov = module.Coverage(data_file=None)
        if not self._cov.get_option("run:source") and not self._cov.get_option("run:include"):
            self._cov.set_option("run:source", [folder])
        self._cov.set_option("run:parallel", False)
        # Other processes would leave files of their own in the project.
        kinds = self._cov.get_option("run:concurrency") or []
        self._cov.set_option("run:concurrency", [one for one in kinds if one != "multiprocessing"])

    def __enter__(self) -> None:
        self._cov.start()

    def enter(self, file: str) -> None:
        """What is reached from now on is reached by the tests of this file."""
        self._cov.switch_context(file)

    def __exit__(self, *_: object) -> None:
        self._cov.stop()
        try:
            self._cov.json_report(outfile=self._file, ignore_errors=True)
        except self._module.CoverageException:  # nothing was reached
            return
        with open(self._file, encoding="utf-8") as file:
            found = json.load(file)["files"]
        files = {
            os.path.abspath(path): [len(one["executed_lines"]) + len(one["missing_lines"]), one["missing_lines"]]
            for path, one in found.items()
        }
        self._report("coverage", name=self._name, files=files, touched=self._touched())

    def _touched(self) -> dict[str, list[str]]:
        data = self._cov.get_data()
        touched = {}
        for file in sorted(data.measured_contexts()):
            data.set_query_context(file)
            touched[file] = sorted(path for path in data.measured_files() if data.lines(path))
        touched.pop("", None)
        return touched


class Lines:
    """Measures the lines of the project's own files with the interpreter's trace function: plain and slow."""

    alone = True

    def __init__(self, report: Any, folder: str) -> None:
        self._report = report
        self._folder = folder + os.sep
        self._reached: dict[str, set[int]] = {}
        self._ours: dict[str, bool] = {}
        self._touched: dict[str, set[str]] = {}
        self._test = ""

    def __enter__(self) -> None:
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def enter(self, file: str) -> None:
        """What is reached from now on is reached by the tests of this file."""
        self._test = file

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)
        files = {}
        for path, reached in sorted(self._reached.items()):
            lines = executable(path)
            if lines:
                files[path] = [len(lines), sorted(lines - reached)]
        touched = {file: sorted(paths) for file, paths in self._touched.items() if file}
        self._report("coverage", name="a plain tracer", files=files, touched=touched)

    def _trace(self, frame: Any, _event: str, _arg: Any) -> Any:
        path = frame.f_code.co_filename
        ours = self._ours.get(path)
        if ours is None:
            ours = self._ours[path] = self._is_ours(path)
        if not ours:
            return None
        reached = self._reached.setdefault(path, set())
        reached.add(frame.f_lineno)
        self._touched.setdefault(self._test, set()).add(path)

        def local(frame: Any, _event: str, _arg: Any) -> Any:
            reached.add(frame.f_lineno)
            return local

        return local

    def _is_ours(self, path: str) -> bool:
        if not path.startswith(self._folder) or not path.endswith(".py"):
            return False
        inner = path[len(self._folder) :].split(os.sep)
        return not any(part.startswith(".") or part in ("site-packages", "node_modules", "venv") for part in inner)


def executable(path: str) -> set[int]:
    """The lines of a file that hold something to execute; none when it cannot be compiled."""
    try:
        with open(path, "rb") as file:
            codes = [compile(file.read(), path, "exec", dont_inherit=True)]
    except (OSError, SyntaxError, ValueError):
        return set()
    lines: set[int] = set()
    while codes:
        code = codes.pop()
        lines.update(line for _, line in dis.findlinestarts(code) if line)
        codes += [one for one in code.co_consts if hasattr(one, "co_code")]
    return lines
