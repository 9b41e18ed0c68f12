"""Reports of jest, vitest and node's test runner."""

import json

import pytest

from toolroll import ToolError
from toolroll.text.dev.tests.javascript import read, read_node
from toolroll.text.dev.tests.model import Case, Covered, Failure, Frame, Raw

ERROR = """Error: \x1b[2mexpect(\x1b[22m\x1b[31mreceived\x1b[39m).toBe(expected)

Expected: 4
Received: 3
    at Object.toBe (/w/web/sum.test.js:9:21)
    at Promise.then.completed (/w/web/node_modules/jest-circus/build/utils.js:298:28)
    at new Promise (<anonymous>)"""


def raw(report, *, action="run", output="", extra="", named=False):
    text = report if isinstance(report, str) else json.dumps(report)
    return Raw(action, "/w", "web", text, output, extra, named=named)


def jest(**changes):
    """As jest writes it with --json, without what nobody reads."""
    good = {"ancestorTitles": ["sum"], "fullName": "sum adds", "status": "passed", "title": "adds", "duration": 12, "failureMessages": [], "location": {"column": 3, "line": 5}, "numPassingAsserts": 1}  # fmt: skip
    bad = good | {"fullName": "wrong", "ancestorTitles": [], "title": "wrong", "status": "failed", "duration": None, "failureMessages": [ERROR], "location": None}  # fmt: skip
    later = good | {"title": "later", "status": "pending", "duration": None}
    file = {"assertionResults": [good, bad, later], "name": "/w/web/sum.test.js", "status": "failed", "message": "● wrong", "startTime": 1, "endTime": 2}  # fmt: skip
    broken = {"assertionResults": [], "name": "/w/web/bad.test.js", "status": "failed", "message": "  ● Test suite failed to run\n\n    Cannot find module './nope'\n\n      at Resolver._throw (node_modules/jest-resolve/build/resolver.js:427:11)"}  # fmt: skip
    return {"numFailedTests": 1, "numPassedTests": 1, "success": False, "testResults": [file, broken], **changes}


def test_jest():
    run = read(raw(jest()))
    assert run.ended
    assert run.tests == [
        Case("web/sum.test.js::sum > adds", "web/sum.test.js", 5, "passed", 0.012),
        Case("web/sum.test.js::wrong", "web/sum.test.js", None, "failed"),
        Case("web/sum.test.js::sum > later", "web/sum.test.js", 5, "skipped"),
    ]
    message = "Error: expect(received).toBe(expected)\n\nExpected: 4\nReceived: 3"
    trace = [Frame("web/sum.test.js", 9, "Object.toBe")]
    assert run.failures == [
        Failure("web/sum.test.js::wrong", "web/sum.test.js", 9, "failed", message, trace),
        Failure("web/bad.test.js", "web/bad.test.js", None, "error", "● Test suite failed to run\n\n    Cannot find module './nope'"),
    ]  # fmt: skip


def test_what_is_skipped_for_its_name_is_no_result():
    run = read(raw(jest(), named=True))
    assert ([one.outcome for one in run.tests], run.deselected) == (["passed", "failed"], 1)


def test_vitest_writes_the_same_with_less():
    failed = {"ancestorTitles": ["", "sum"], "fullName": " sum wrong", "status": "failed", "title": "wrong", "duration": 4.5, "failureMessages": ["AssertionError: expected 3 to be 4\n    at /w/web/sum.test.ts:6:15\n    at file:///w/web/node_modules/vitest/x.js:1:1"], "meta": {}}  # fmt: skip
    run = read(
        raw(
            {
                "testResults": [
                    {"assertionResults": [failed], "name": "/w/web/sum.test.ts", "status": "failed", "message": ""}
                ]
            }
        )
    )
    assert run.failures == [
        Failure("web/sum.test.ts::sum > wrong", "web/sum.test.ts", 6, "failed", "AssertionError: expected 3 to be 4", [Frame("web/sum.test.ts", 6)])
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("report", "output", "tests"),
    [
        ("", 'noise\n["/w/web/a.test.js","/w/web/b.test.js"]', [Case("web/a.test.js", "web/a.test.js"), Case("web/b.test.js", "web/b.test.js")]),
        ('[{"name": "sum > adds", "file": "/w/web/a.test.ts"}]', "", [Case("web/a.test.ts::sum > adds", "web/a.test.ts")]),
        ("", "ReferenceError: describe is not defined", []),
    ],
)  # fmt: skip
def test_listed(report, output, tests):
    assert read(raw(report, action="discover", output=output)).tests == tests


def test_coverage_by_line():
    spans = {
        str(n): {"start": {"line": line, "column": 0}, "end": {"line": line, "column": 9}}
        for n, line in enumerate((1, 2, 2, 5))
    }
    one = {
        "path": "/w/web/sum.js",
        "statementMap": spans,
        "fnMap": {},
        "branchMap": {},
        "s": {"0": 1, "1": 1, "2": 0, "3": 0},
        "f": {},
        "b": {},
    }
    run = read(raw(jest(testResults=[]), extra=json.dumps({"/w/web/sum.js": one})))
    assert run.coverage == [Covered("web/sum.js", 3, [2, 5])]


def test_a_report_that_is_none():
    with pytest.raises(ToolError, match="cannot be read"):
        read(raw('{"testResults": 3}'))
    assert not read(raw("")).ended


def test_node():
    def event(kind, name, line, nesting=0, file="/w/web/t.test.js", **more):
        return {"type": kind, "name": name, "file": file, "line": line, "nesting": nesting, **more}

    boom = {"message": "boom", "stack": "Error: boom\n    at TestContext.<anonymous> (/w/web/t.test.js:8:34)\n    at Test.run (node:internal/x:1:2)", "kind": "testCodeFailure"}  # fmt: skip
    above = {"message": "1 subtest failed", "kind": "subtestsFailed"}
    bad = "/w/web/bad.test.js"
    events = [
        event("test:stderr", "node:internal/x:9\n  throw err;\n\nError: Cannot find module './nope'\n    at f (node:x:1:2)\n", None, file=bad),
        event("test:fail", bad, 1, file=bad, error={"message": "test failed", "kind": "testCodeFailure"}),
        event("test:start", "adds", 4),
        event("test:pass", "adds", 4, seconds=0.25),
        event("test:start", "group", 7),
        event("test:start", "inner", 8, 1),
        event("test:fail", "inner", 8, 1, error=boom),
        event("test:start", "later", 9, 1),
        event("test:pass", "later", 9, 1, skip=True),
        event("test:fail", "group", 7, suite=True, error=above),
        event("test:coverage", "", None, files=[{"path": "/w/web/sum.js", "total": 4, "missing": [3]}]),
    ]  # fmt: skip
    run = read_node(raw("\n".join(map(json.dumps, events))))
    assert run.tests == [
        Case("web/t.test.js::adds", "web/t.test.js", 4, "passed", 0.25),
        Case("web/t.test.js::group > inner", "web/t.test.js", 8, "failed"),
        Case("web/t.test.js::group > later", "web/t.test.js", 9, "skipped"),
    ]
    assert run.failures == [
        Failure("web/bad.test.js", "web/bad.test.js", 1, "error", "Error: Cannot find module './nope'"),
        Failure("web/t.test.js::group > inner", "web/t.test.js", 8, "failed", "Error: boom", [Frame("web/t.test.js", 8, "TestContext.<anonymous>")]),
    ]  # fmt: skip
    assert run.coverage == [Covered("web/sum.js", 4, [3])]
