"""What linters and formatters print."""

import json

import pytest

from toolroll import ToolError
from toolroll.text.dev.lint.engines import ENGINES
from toolroll.text.dev.lint.readers import read_report
from toolroll.text.dev.lint.results import Finding, LintOutput


def printed(out="", errors="", status=1):
    return LintOutput(out if isinstance(out, str) else json.dumps(out), errors, status, "/w")


FORMS = {one.name: one.form for one in ENGINES}
FORMATS = {one.name: one.format.form for one in ENGINES if one.format}


def read(name, answer, forms=FORMS):
    return read_report(name, forms[name], answer)


def test_ruff():
    def row(code, message, fix=None):
        return {"cell": None, "code": code, "filename": "/w/a/m.py", "location": {"column": 8, "row": 1}, "end_location": {"column": 9, "row": 1}, "message": message, "fix": fix, "url": None}  # fmt: skip

    rows = [
        row("F401", "`os` imported but unused", {"applicability": "safe", "edits": [], "message": "Remove"}),
        row("F841", "unused", {"applicability": "unsafe", "edits": [], "message": "Remove"}),
        row("invalid-syntax", "Expected a parameter"),
        row(None, "SyntaxError: Expected ')'"),
    ]
    assert read("ruff", printed(rows)).findings == [
        Finding("a/m.py", 1, 8, "F401", "`os` imported but unused", True),
        Finding("a/m.py", 1, 8, "F841", "unused"),
        Finding("a/m.py", 1, 8, "syntax", "Syntax error: Expected a parameter"),
        Finding("a/m.py", 1, 8, "syntax", "Syntax error: Expected ')'"),
    ]


def test_a_linter_that_failed_says_why():
    with pytest.raises(ToolError, match=r"ruff could not look: exit code 2.*\nUnknown rule selector `QQQ`"):
        read("ruff", printed("", "Unknown rule selector `QQQ`", 2))


def test_flake8():
    out = "./a.py:1:1: F401 'os' imported but unused\n/w/b.py:3:80: E501 line too long (90 > 79 characters)\n./c.py:1:7: E999 SyntaxError: invalid syntax\n"
    assert read("flake8", printed(out)).findings == [
        Finding("a.py", 1, 1, "F401", "'os' imported but unused"),
        Finding("b.py", 3, 80, "E501", "line too long (90 > 79 characters)"),
        Finding("c.py", 1, 7, "syntax", "Syntax error: invalid syntax"),
    ]


ESLINT = [
    {
        "filePath": "/w/a.js",
        "messages": [
            {"ruleId": "no-unused-vars", "severity": 2, "message": "'x' is defined but never used.", "line": 1, "column": 5, "nodeType": "Identifier"},
            {"ruleId": "semi", "severity": 1, "message": "Missing semicolon.", "line": 2, "column": 9, "fix": {"range": [18, 18], "text": ";"}},
        ],
        "errorCount": 1,
        "output": "let x = 1;\n",
    },
    {"filePath": "/w/b.js", "messages": [{"ruleId": None, "fatal": True, "severity": 2, "message": "Parsing error: Unexpected token", "line": 1, "column": 3}]},
    {"filePath": "/w/c.js", "messages": []},
]  # fmt: skip


def test_eslint():
    assert read("eslint", printed(ESLINT)).findings == [
        Finding("a.js", 1, 5, "no-unused-vars", "'x' is defined but never used."),
        Finding("a.js", 2, 9, "semi", "Missing semicolon.", True),
        Finding("b.js", 1, 3, "syntax", "Syntax error: Unexpected token"),
    ]
    assert read("eslint", printed(ESLINT)).texts == {"a.js": "let x = 1;\n"}


@pytest.mark.parametrize(
    ("code", "out", "errors", "rows"),
    [
        ("gofmt", "a.go\ncart/b.go\n", "c.go:3:1: expected declaration, found x\n", [
            Finding("a.go", 1, 1, "gofmt", "Not formatted.", True), Finding("cart/b.go", 1, 1, "gofmt", "Not formatted.", True),
            Finding("c.go", 3, 1, "syntax", "Syntax error: expected declaration, found x")]),
        ("rustfmt", "/w/a.rs\n", "error: this file contains an unclosed delimiter\n --> /w/c.rs:1:6\n  |\n1 | fn (\n", [
            Finding("a.rs", 1, 1, "rustfmt", "Not formatted.", True),
            Finding("c.rs", 1, 6, "syntax", "Syntax error: this file contains an unclosed delimiter")]),
        ("prettier", "web/a.js\n[error] web/b.js: SyntaxError: Unexpected token (1:5)\n", "", [
            Finding("web/a.js", 1, 1, "prettier", "Not formatted.", True), Finding("web/b.js", 1, 5, "syntax", "Syntax error: Unexpected token")]),
    ],
)  # fmt: skip
def test_files_that_are_not_formatted(code, out, errors, rows):
    assert read(code, printed(out, errors, 1 if code == "rustfmt" else 2)).findings == rows


OLD = "Would reformat: a.py\nWould reformat: src/b c.py\n2 files would be reformatted, 1 file already formatted\n"
NEW = "invalid-syntax: Expected a parameter\n --> bad.py:1:7\n  |\n\nunformatted: File would be reformatted\n --> a.py:1:3\n  |\n  - x   =  1\n\nunformatted: File would be reformatted\n --> src/b c.py:2:1\n"


@pytest.mark.parametrize("out", [OLD, NEW])
def test_ruff_format_of_old_and_new_versions(out):
    assert read("ruff", printed(out), FORMATS).stale == ["a.py", "src/b c.py"]


@pytest.mark.parametrize(
    ("out", "errors"), [(NEW, ""), ("", "error: Failed to parse bad.py:1:7: Expected a parameter\n")]
)
def test_ruff_format_of_a_file_that_does_not_parse(out, errors):
    assert [one for one in read("ruff", printed(out, errors, 2), FORMATS).findings if not one.fixable] == [
        Finding("bad.py", 1, 7, "syntax", "Syntax error: Expected a parameter")
    ]


def test_black():
    said = printed(
        "",
        "would reformat /w/a.py\nerror: cannot format /w/bad.py: Cannot parse for target version Python 3.11: 1:6: def f(:\n\nOh no!\n",
        123,
    )
    report = read("black", said)
    assert report.stale == ["a.py"]
    assert [(one.path, one.line, one.column) for one in report.findings if not one.fixable] == [("bad.py", 1, 6)]


def test_compiled():
    row = '{"path": "./bad.py", "line": 1, "column": 7, "message": "invalid syntax"}\n'
    rows = [Finding("bad.py", 1, 7, "syntax", "Syntax error: invalid syntax")]
    assert read("py_compile", printed(f'{row}{{"checked": 1}}\n', "", 0)).findings == rows
    with pytest.raises(ToolError, match="py_compile could not look"):
        read("py_compile", printed(row, "", 0))
