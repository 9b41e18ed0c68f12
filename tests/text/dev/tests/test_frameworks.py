"""How the frameworks are found and asked."""

import json

import pytest

from toolroll.text.dev.tests.frameworks import FRAMEWORKS, RunRequest, named_by

SCRIPTS = {"run_pytest": "/t/d.py", "reporter": "/t/r.mjs"}


def words(name, action="run", targets=(), keyword="", changed=()):
    return " ".join(
        FRAMEWORKS[name].words(RunRequest(action, tuple(targets), keyword, "/t/r", SCRIPTS, tuple(changed)))
    )


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("jest", {}, "--ci --watchAll=false --json --outputFile=/t/r --testLocationInResults --"),
        ("jest", {"action": "discover", "targets": [("a.b/x", "")]}, r"--listTests --json -- a\.b/x"),
        ("jest", {"targets": [("a.js", "g > t (x)")]}, r"--ci --watchAll=false --json --outputFile=/t/r --testLocationInResults --testNamePattern=(?:^| )(?:g t \(x\))(?: |$) --runTestsByPath -- ./a.js"),
        ("jest", {"changed": ["/w/a.js"]}, "--ci --watchAll=false --json --outputFile=/t/r --testLocationInResults --passWithNoTests --findRelatedTests /w/a.js"),
        ("vitest", {"keyword": "-x"}, "run --reporter=json --outputFile=/t/r --testNamePattern=-x"),
        ("vitest", {"action": "coverage"}, "run --reporter=json --outputFile=/t/r --coverage.enabled --coverage.reporter=json --coverage.reportsDirectory=/t/r.d"),
        ("vitest", {"changed": ["/w/a.js"]}, "related --run --passWithNoTests --reporter=json --outputFile=/t/r /w/a.js"),
        ("vitest", {"action": "discover", "targets": [("-a.js", "")]}, "list --json=/t/r ./-a.js"),
        ("node", {"targets": [("t.js", "g > t")]}, "--test --test-reporter=/t/r.mjs --test-reporter-destination=/t/r --test-name-pattern=/^t$/ ./t.js"),
        ("go", {}, "test -json ./..."),
        ("go", {"targets": [("cart/a_test.go", "TestX/two")]}, "test -json -run=^TestX$/^two$ ./cart"),
        ("go", {"action": "coverage", "targets": [("cart", "")], "keyword": "X"}, "test -json -run=X -coverprofile=/t/r.cover ./cart/..."),
        ("go", {"action": "discover"}, "test -list=. ./..."),
        ("cargo", {"targets": [("tests/outer.rs", "a::b")]}, "test --no-fail-fast --test=outer -- --color=never a::b"),
        ("cargo", {"action": "discover", "keyword": "x"}, "test --no-fail-fast -- --list --format=terse x"),
    ],
)  # fmt: skip
def test_words(name, arguments, said):
    assert words(name, **arguments) == said


def test_a_path_of_python_never_becomes_an_option():
    script, options, *targets = FRAMEWORKS["pytest"].words(
        RunRequest("run", (("-x.py", "t"), ("a", "")), "-k", "/t/r", SCRIPTS)
    )
    assert (script, targets) == ("/t/d.py", ["./-x.py::t", "./a"])
    assert json.loads(options) == {
        "action": "run",
        "framework": "auto",
        "keyword": "-k",
        "report": "/t/r",
        "cache": "/t/r.cache",
        "parts": SCRIPTS,
    }


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ({"devDependencies": {"jest": "^29"}}, "jest"),
        ({"devDependencies": {"jest": "1", "vitest": "1"}}, "vitest"),
        ({"scripts": {"test": "jest --coverage"}}, "jest"),
        ({"scripts": {"test": "jest"}, "devDependencies": {"vitest": "1"}}, "jest"),
        ({"scripts": {"test": "node --test"}, "devDependencies": {"jest": "1"}}, "node"),
        ({"scripts": {"test": "node --import tsx --test"}}, "node"),
        ({"scripts": {"test": "mocha"}}, None),
        ({}, None),
        ([], None),
    ],
)
def test_named_by_package_json(package, name):
    assert named_by("javascript", json.dumps(package)) == name
