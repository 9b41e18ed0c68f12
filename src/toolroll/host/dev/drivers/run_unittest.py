"""Runs a project's tests with unittest, for projects whose Python has no pytest.

Loaded by `run_pytest.py` in the project's own interpreter; it keeps to what Python 3.8 knows.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
import sys
import time
import traceback
import unittest
from typing import Any

_MOST = 20_000  # characters of one message or one output to keep
_TEST_FILE = re.compile(r"(test.*|.*_test|tests)\.py")
_SKIPPED = {"node_modules", "site-packages", "build", "dist", "venv"}


class ReportingResult(unittest.TestResult):
    """Reports what unittest finds."""

    def __init__(self, report: Any, measure: Any) -> None:
        super().__init__()
        self.buffer = True
        self._report = report
        self._measure = measure
        self._began = 0.0
        self._outcome = ""

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().startTest(test)
        self._began, self._outcome = time.perf_counter(), ""
        place = where_of(test)
        if self._measure:
            self._measure.enter(place["file"])
        self._report("begin", **place)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        """A test is over; one that was interrupted has no outcome."""
        seconds = round(time.perf_counter() - self._began, 4)
        if self._outcome:
            self._report("test", outcome=self._outcome, seconds=seconds, **where_of(test))
        super().stopTest(test)

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        self._outcome = "passed"
        super().addSuccess(test)

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._tell(test, "failed", err)
        super().addFailure(test, err)

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self._tell(test, "error", err)
        super().addError(test, err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            kind = "failed" if issubclass(err[0], test.failureException) else "error"
            self._tell(test, kind, err, " " + subtest._subDescription())
        super().addSubTest(test, subtest, err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self._outcome = "skipped"
        super().addSkip(test, reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._outcome = "xfailed"
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        self._outcome = "failed"
        self._report("failure", kind="failed", message="It passed, but was expected to fail.", **where_of(test))
        super().addUnexpectedSuccess(test)

    def _tell(self, test: Any, kind: str, err: Any, part: str = "") -> None:
        self._outcome = "failed" if self._outcome == "failed" else kind
        place = where_of(test)
        printed = sys.stdout.getvalue() if hasattr(sys.stdout, "getvalue") else ""
        place["name"] += part
        self._report("failure", kind=kind, output=printed[-_MOST:], **place, **_raised(err[1]))


def _raised(error: BaseException) -> dict[str, Any]:
    """The message and the frames of an exception, without those of unittest itself."""
    inside = os.path.dirname(unittest.__file__)
    found = traceback.extract_tb(error.__traceback__)
    own = [one for one in found if not one.filename.startswith((inside, "<frozen", __file__))]
    frames = [[one.filename, one.lineno, one.name, one.line or ""] for one in own]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append([error.filename, error.lineno or 1, "", (error.text or "").strip()])
        return {"message": f"{type(error).__name__}: {error.msg}", "frames": frames}
    message = "".join(traceback.format_exception_only(type(error), error)).strip()
    parts = ["\n- " + _raised(one)["message"] for one in getattr(error, "exceptions", ())]
    return {"message": "".join([message, *parts])[:_MOST], "frames": frames}


def where_of(test: Any) -> dict[str, Any]:
    """The file, line and name of a test of unittest."""
    module = sys.modules.get(type(test).__module__)
    method = getattr(type(test), getattr(test, "_testMethodName", ""), None)
    code = getattr(getattr(method, "__wrapped__", method), "__code__", None)
    if not isinstance(test, unittest.TestCase) or method is None:
        return {"file": "", "line": None, "name": test.id()}
    name = type(test).__qualname__ + "::" + method.__name__
    return {"file": getattr(module, "__file__", "") or "", "line": code and code.co_firstlineno, "name": name}


def run(options: dict[str, Any], targets: list[str], report: Any, measure: Any) -> int:
    """Run or list tests with unittest: 0 for success, 1 for failures, 5 when there are none."""
    report("start", framework="unittest", version=sys.version.split()[0])
    try:
        matches(options["keyword"], "")
    except (SyntaxError, TypeError):
        print(f"ERROR: {options['keyword']!r} is no expression of words with and, or, not")
        return 4
    with measure or contextlib.nullcontext():
        loaded = {target: _load(target, report) for target in targets or ["."]}
        unknown = [target for target, found in loaded.items() if "::" in target and not found]
        if unknown:
            print(f"not found: {', '.join(unknown)}")
            return 4
        tests = [test for found in loaded.values() for test in found]
        chosen = [test for test in tests if matches(options["keyword"], test.id())]
        if len(tests) > len(chosen):
            report("deselected", count=len(tests) - len(chosen))
        report("found", count=len(chosen))
        if options["action"] == "discover":
            for test in chosen:
                report("item", **where_of(test))
            return 0
        result = ReportingResult(report, measure)
        unittest.TestSuite(chosen).run(result)
    return 5 if not chosen else 0 if result.wasSuccessful() else 1


def _load(target: str, report: Any) -> list[Any]:
    """The tests of a file or folder, or those that `file::Class::method` names."""
    path, _, name = target.partition("::")
    files = [path] if os.path.isfile(path) else sorted(_files(path))
    found: list[Any] = []
    for file in files:
        try:
            found += _flat(unittest.defaultTestLoader.loadTestsFromModule(_module(os.path.abspath(file))))
        except unittest.SkipTest:
            continue
        except (Exception, SystemExit) as error:
            place = {"file": os.path.abspath(file), "line": None, "name": ""}
            report("failure", kind="error", **place, **_raised(error))
    return [one for one in found if not name or f"{where_of(one)['name']}::".startswith(f"{name}::")]


def _files(folder: str) -> Any:
    for where, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".") and one not in _SKIPPED]
        yield from (os.path.join(where, one) for one in names if _TEST_FILE.fullmatch(one))


def _module(file: str) -> Any:
    """A file as the module that it is to its neighbours: below its topmost package."""
    top, name = os.path.split(file[:-3])
    while os.path.isfile(os.path.join(top, "__init__.py")):
        top, package = os.path.split(top)
        name = package + "." + name
    if top not in sys.path:
        sys.path.insert(0, top)
    module = importlib.import_module(name)
    if os.path.samefile(getattr(module, "__file__", None) or top, file):
        return module
    # Another file of that name came first.
    spec = importlib.util.spec_from_file_location(re.sub(r"\W", "_", file), file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _flat(suite: Any) -> list[Any]:
    return [test for one in suite for test in _flat(one)] if isinstance(suite, unittest.TestSuite) else [suite]


def matches(keyword: str, name: str) -> bool:
    """Whether a name fits an expression of words with `and`, `or`, `not` and parentheses."""
    if not keyword:
        return True

    def known(match: Any) -> str:
        word = match[0]
        return word if word in ("and", "or", "not", "(", ")") else str(word.lower() in name.lower())

    return bool(eval(re.sub(r"[()]|[^\s()]+", known, keyword)))  # only True, False and the operators are left
