"""Linters and formatters: their command lines and parsers. A new one is a new row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from toolroll.text.dev.lint.readers import Form, JsonRows

Action = Literal["check", "fix", "format"]


@dataclass(frozen=True, slots=True)
class LintRequest:
    """The files and options for one run of an engine."""

    path: str
    """The file or folder, as it was given."""
    files: tuple[str, ...]
    """The files of its languages there."""
    select: str = ""
    report: str = ""
    """A temporary file that it may write to."""
    edition: str = "2021"
    script: str = ""

    def arguments(self, template: str) -> list[str]:
        """The words of a template; `{files}` becomes a word for each file, `{select}` none without rules."""
        names = {"report": self.report, "edition": self.edition, "script": self.script, "rustfmt": _RUSTFMT}
        made: list[str] = []
        for word in template.split():
            if word == "{files}":
                made += self.files
            elif word != "{select}":
                made.append(word.format(path=f"./{self.path}", **names))
            elif self.select:
                made.append(f"--select={self.select}")
        return made


@dataclass(frozen=True, slots=True)
class Rewrite:
    """How to get new texts without letting the program write any."""

    find: str
    """Arguments that list the files that would change."""
    form: Form
    filter: str | None = None
    """Arguments that read a text and print the new one; the path of the file follows. None: `find` gives the texts."""


@dataclass(frozen=True, slots=True)
class LintEngine:
    """One program for one or several languages. Arguments are templates, see `LintRequest.arguments`."""

    name: str
    language: str
    suffixes: tuple[str, ...]
    program: str
    check: str | None
    form: Form
    fix: Rewrite | None = None
    format: Rewrite | None = None
    foreign: bool = False
    """Its settings are code of the project or name programs, so it runs by the rules for such code."""
    add: str = ""
    """How to add it, for the first engine of a language."""
    probe: tuple[str, str] = ("--version", r"\d+\.\d+")
    """Arguments and a pattern of the answer: it is asked where silence would mean that there is nothing to report."""

    def rewrite(self, action: Action) -> Rewrite:
        """How it does this; only engines that can are chosen."""
        rewrite = self.fix if action == "fix" else self.format
        assert rewrite is not None
        return rewrite

    @property
    def remedy(self) -> str:
        return self.add or ADD.get(self.language, "")


# rustfmt has no option for a name when it reads a text: it looks for its settings from where it runs.
_RUSTFMT = 'cd -- "$(dirname -- "$2")" && exec rustfmt --quiet --color=never --edition="$1"'
_PYTHON = ("py", "pyi")
_SCRIPT = ("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts")
_WEB = (*_SCRIPT, "css", "scss", "less", "html", "vue", "json", "md", "yaml", "yml")
_PLACED = re.compile(r"^(?P<path>.+?):(?P<line>\d+):(?P<column>\d+): (?P<said>.+)$", re.M)
_CODED = re.compile(r"^(?P<path>.+?):(?P<line>\d+):(?P<column>\d+):? (?P<code>\S+) (?P<said>.+)$", re.M)
_POINTED = re.compile(
    r"^(?:error|invalid-syntax)\S*: (?P<said>.+)\n +--> (?P<path>.+):(?P<line>\d+):(?P<column>\d+)$", re.M
)
_UNREAD = re.compile(r"^io: (?P<said>.+)\n *--> (?P<path>.+):\d+:\d+$", re.M)
_UNPARSED = re.compile(r"^error: Failed to parse (?P<path>.+?):(?P<line>\d+):(?P<column>\d+): (?P<said>.+)$", re.M)
_PRETTIER_FAULT = re.compile(
    r"^\[error\] (?P<path>.+?): SyntaxError: (?P<said>.+?) \((?P<line>\d+):(?P<column>\d+)\)", re.M
)
_BLACK_FAULT = re.compile(
    r"^error: cannot format (?P<path>.+?): (?P<said>Cannot parse.*?: (?P<line>\d+):(?P<column>\d+).*)$", re.M
)
_RUFF_STALE = re.compile(r"^(?:Would reformat: (.+)|unformatted: .+\n +--> (.+?)(?::cell \d+)?:\d+:\d+)$", re.M)
_NAMED = re.compile(r"^(?!\[)(?!.*:\d+:\d+)(\S.*)$", re.M)

_RUFF = "check --no-cache --no-fix --output-format=json {select} -- {path}"
_RUFF_ROWS = Form(JsonRows("filename", "location.row", "location.column", "message", "code", "fix.applicability"))
_RUFF_FIX = Rewrite(_RUFF, _RUFF_ROWS, "check --no-cache --quiet --fix-only {select} - --stdin-filename")
_RUFF_ENDS = re.compile(r"already formatted|left unchanged|No Python files")
_RUFF_FORMAT = Rewrite(
    "format --no-cache --check -- {path}",
    Form(None, _RUFF_STALE, (_POINTED, _UNPARSED, _UNREAD), "ruff", (0, 1, 2), _RUFF_ENDS),
    "format --no-cache --quiet - --stdin-filename",
)
_BLACK = Form(
    None, re.compile(r"^would reformat (.+)$", re.M), (_BLACK_FAULT,), "black", (0, 1, 123), re.compile("unchanged")
)
_BLACK_FORMAT = Rewrite("--check -- {path}", _BLACK, "--quiet - --stdin-filename")
_FLAKE8 = Form(None, None, (_CODED,))
_COMPILED = Form(JsonRows("path", "line", "column", "message", by_line=True), statuses=(0,))
_ESLINT = "--format=json --output-file={report} --no-error-on-unmatched-pattern {path}"
_ESLINT_ROWS = Form(JsonRows("filePath", "line", "column", "message", "ruleId", "fix", "messages", "output"))
_ESLINT_FIX = Rewrite(f"--fix-dry-run {_ESLINT}", _ESLINT_ROWS)
_PRETTIER = Rewrite(
    "--list-different --ignore-unknown {path}",
    Form(None, _NAMED, (_PRETTIER_FAULT,), "prettier", (0, 1, 2)),
    "--stdin-filepath",
)
_GOFMT = Rewrite("-l {files}", Form(None, _NAMED, (_PLACED,), "gofmt", (0, 2)), "")
_RUSTFMT_LIST = Rewrite(
    "--check -l --color=never --edition={edition} {files}",
    Form(None, re.compile(r"^(\S.*\.rs)$", re.M), (_POINTED,), "rustfmt"),
    "sh -c {rustfmt} sh {edition}",
)
_ADD_RUFF = "python -m pip install ruff"
_ADD_ESLINT = "npm install --save-dev eslint prettier"


def _lister(
    name: str,
    language: str,
    suffixes: tuple[str, ...],
    format: Rewrite,
    add: str = "",
    probe: tuple[str, str] = ("--version", r"\d+\.\d+"),
) -> LintEngine:
    """A formatter that lists the files it would change."""
    foreign = name in ("prettier", "rustfmt")  # the second starts the toolchain that rust-toolchain.toml names
    return LintEngine(
        name, language, suffixes, name, format.find, format.form, format=format, foreign=foreign, add=add, probe=probe
    )


ENGINES: tuple[LintEngine, ...] = (
    LintEngine(
        "ruff", "Python", (*_PYTHON, "ipynb"), "ruff", _RUFF, _RUFF_ROWS, _RUFF_FIX, _RUFF_FORMAT, add=_ADD_RUFF
    ),
    LintEngine("flake8", "Python", _PYTHON, "flake8", "{select} {path}", _FLAKE8, foreign=True),
    LintEngine("black", "Python", _PYTHON, "black", None, _BLACK, format=_BLACK_FORMAT),
    LintEngine("py_compile", "Python", ("py",), "", "{script} {files}", _COMPILED),
    LintEngine(
        "eslint", "JavaScript", _SCRIPT, "eslint", _ESLINT, _ESLINT_ROWS, _ESLINT_FIX, foreign=True, add=_ADD_ESLINT
    ),
    _lister("prettier", "the web", _WEB, _PRETTIER),
    _lister("gofmt", "Go", ("go",), _GOFMT, "gofmt comes with Go, https://go.dev/dl", ("-h", "usage: gofmt")),
    _lister("rustfmt", "Rust", ("rs",), _RUSTFMT_LIST, "rustup component add rustfmt"),
)

ADD: dict[str, str] = {one.language: one.add for one in ENGINES if one.add}

LOOP = """
mkdir -p "$1" || exit 1
out=$1 list=$2 number=0
shift 2
while IFS= read -r file; do
  "$@" "$file" < "$file" > "$out/$number" 2> "$out/errors" || { echo "$file"; cat "$out/errors"; exit 1; }
  number=$((number + 1))
done < "$list"
"""
"""For a shell: puts the files of a list through a program, each into a numbered file of a folder."""


def pattern() -> str:
    """A glob of all files that some engine knows."""
    return f"*.{{{','.join(sorted({suffix for one in ENGINES for suffix in one.suffixes}))}}}"


def candidates(action: Action, files: Sequence[str]) -> list[LintEngine]:
    """The engines that could do this for some of these files; of those for one language the best comes first."""
    there = {path.rpartition(".")[2] for path in files}
    return [one for one in ENGINES if getattr(one, action) is not None and there.intersection(one.suffixes)]


def edition(manifest: str) -> str:
    """The edition of Rust that a Cargo.toml names."""
    found = re.search(r"""^\s*edition\s*=\s*["'](\d{4})["']""", manifest, re.M)
    return found[1] if found else "2021"
