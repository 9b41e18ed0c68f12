"""Measure which lines of a project its tests reach, with the project's own coverage.py.

Loaded by `run_pytest.py` in the project's own interpreter; it keeps to what Python 3.8 knows.
"""

from __future__ import annotations

import json
import os
from typing import Any

import coverage


class CoverageMeter:
    """A context that measures what runs in it, as the project configures coverage.py, and reports it at its end."""

    def __init__(self, report: Any, folder: str) -> None:
        self._report = report
        self._cov = coverage.Coverage(data_file=None)
        if not self._cov.get_option("run:source") and not self._cov.get_option("run:include"):
            self._cov.set_option("run:source", [folder])
        self._cov.set_option("run:parallel", False)
        # Other processes would leave files of their own in the project.
        kinds: Any = self._cov.get_option("run:concurrency") or []
        self._cov.set_option("run:concurrency", [one for one in kinds if one != "multiprocessing"])

    def __enter__(self) -> None:
        self._cov.start()

    def enter(self, file: str) -> None:
        self._cov.switch_context(file)

    def __exit__(self, *_: object) -> None:
        self._cov.stop()
        path = self._report.path + ".coverage"
        try:
            self._cov.json_report(outfile=path, ignore_errors=True)
        except coverage.CoverageException:  # nothing was reached
            return
        with open(path, encoding="utf-8") as file:
            found = json.load(file)["files"]
        files = {
            os.path.abspath(path): [len(one["executed_lines"]) + len(one["missing_lines"]), one["missing_lines"]]
            for path, one in found.items()
        }
        self._report("coverage", name="coverage " + coverage.__version__, files=files, touched=self._touched())

    def _touched(self) -> dict[str, list[str]]:
        data = self._cov.get_data()
        touched = {}
        for file in sorted(data.measured_contexts()):
            data.set_query_context(file)
            touched[file] = sorted(path for path in data.measured_files() if data.lines(path))
        touched.pop("", None)
        return touched
