"""Which engines there are, and how results read."""

import pytest

from toolroll.result import Looked
from toolroll.text.dev.lint.engines import ENGINES, LintRequest, candidates, edition, pattern
from toolroll.text.dev.lint.results import Finding, Rewritten, linted


@pytest.mark.parametrize(
    ("action", "files", "names"),
    [
        ("check", ["a.py"], "ruff flake8 py_compile"),
        ("fix", ["a.py", "b.go"], "ruff"),
        ("format", ["a.py", "b.go", "c.rs"], "ruff black gofmt rustfmt"),
        ("check", ["x/a.ts"], "eslint prettier"),
        ("format", ["a.css"], "prettier"),
        ("check", ["Makefile", "a.c"], ""),
    ],
)
def test_candidates(action, files, names):
    assert [one.name for one in candidates(action, files)] == names.split()


def test_no_word_of_a_call_becomes_an_option():
    ask = LintRequest("-rf.py", ("./-rf.py",), "E,F", "/t/r", script="/t/s.py")
    every = [words for one in ENGINES for words in (one.check, *(r and r.find for r in (one.fix, one.format))) if words]
    assert len(every) > 8
    for words in every:
        assert "-rf.py" not in ask.arguments(words)
        assert any("./-rf.py" in word for word in ask.arguments(words))


def test_no_engine_is_told_to_write():
    ask = LintRequest("a", ("./a",), "", "/t/r", script="/t/s.py")
    every = [
        ask.arguments(words)
        for one in ENGINES
        for words in (one.check, *(r and r.find for r in (one.fix, one.format)))
        if words
    ]
    every += [ask.arguments(r.filter) for one in ENGINES for r in (one.fix, one.format) if r and r.filter is not None]
    assert not {word for words in every for word in words} & {"--fix", "-w", "--write", "-i"}
    for words in every:
        # ruff and black write unless they are told to check, or read from their input.
        if words[:1] in (["format"], ["--quiet"]):
            assert "--check" in words or "-" in words


def test_the_words_of_a_template():
    ask = LintRequest("a {b}.py", ("./a {b}.py", "./c.py"), "", "/t/r")
    assert ask.arguments("-x {select} {report} {path}") == ["-x", "/t/r", "./a {b}.py"]
    assert ask.arguments("{select} -- {files}") == ["--", "./a {b}.py", "./c.py"]


def test_every_known_file():
    assert pattern().startswith("*.{cjs,css,cts,go,")


def test_the_edition_of_rust():
    assert edition('[package]\nname = "x"\nedition = "2024"\n') == "2024"
    assert edition("") == "2021"


RUFF = Looked("3 files", ("ruff",))
ROWS = [
    Finding("b.py", 2, 1, "F401", "unused", True),
    Finding("a.py", 9, 1, "E501", "long"),
    Finding("c.py", 1, 1, "syntax", "Syntax error: x"),
]


def test_the_text_of_a_check():
    assert str(linted("check", RUFF, 3, [*ROWS, ROWS[0]])) == (
        "3 findings in 3 files (ruff): syntax 1, E501 1, F401 1; 1 fixable\n"
        "c.py:1:1 syntax Syntax error: x\na.py:9:1 E501 long\nb.py:2:1 F401 [fixable] unused"
    )
    assert str(linted("check", RUFF, 1, [])) == "No findings in 1 file (ruff)."


def test_the_text_of_a_change():
    done = linted("fix", RUFF, 3, ROWS[1:2], [Rewritten("b.py", "@@ -1,2 +1,1 @@\n-import os")], fixed=1)
    assert str(done) == (
        "Fixed 1 finding in 1 of 3 files (ruff).\nb.py\n@@ -1,2 +1,1 @@\n-import os\nLeft: 1 finding in 1 file (ruff): E501 1\na.py:9:1 E501 long"
    )
    assert str(linted("format", RUFF, 2, [])) == "Nothing to format in 2 files (ruff)."


def test_many_findings_are_kept_aside():
    done = linted("check", RUFF, 1, [Finding("a.py", n, 1, "E501", "long") for n in range(250)])
    assert str(done).endswith("[and 150 more]")
    assert done.whole().count("E501") == 250
