"""Linters and formatters: their command lines and parsers. A new one is a new row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolroll.text.dev.lint import readers
from toolroll.text.dev.lint.results import Finding, LintOutput

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
    stale: Callable[[LintOutput], list[str]]
    filter: str | None = None
    """Arguments that read a text and print the new one; the path of the file follows."""
    texts: Callable[[LintOutput], dict[str, str]] | None = None
    """For a program that prints the new texts at once."""


@dataclass(frozen=True, slots=True)
class LintEngine:
    """One program for one or several languages. Arguments are templates, see `LintRequest.arguments`."""

    name: str
    language: str
    suffixes: tuple[str, ...]
    program: str
    check: str | None
    read: Callable[[LintOutput], list[Finding]]
    fix: Rewrite | None = None
    format: Rewrite | None = None
    foreign: bool = False
    """Its settings are code of the project, so it runs by the rules for such code."""
    add: str = ""
    """How to add it, for the first engine of a language."""


def _lister(name: str, language: str, suffixes: tuple[str, ...], find: str, filter: str, add: str = "") -> LintEngine:
    """A formatter that lists the files it would change."""
    read = readers.unformatted(name)
    rewrite = Rewrite(find, lambda printed: sorted({one.path for one in read(printed) if one.fixable}), filter)
    return LintEngine(name, language, suffixes, name, find, read, format=rewrite, foreign=name == "prettier", add=add)


# rustfmt has no option for a name when it reads a text: it looks for its settings from where it runs.
_RUSTFMT = 'cd -- "$(dirname -- "$2")" && exec rustfmt --quiet --color=never --edition="$1"'
_PYTHON = ("py", "pyi")
_SCRIPT = ("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts")
_WEB = (*_SCRIPT, "css", "scss", "less", "html", "vue", "json", "md", "yaml", "yml")
_RUFF = "check --no-cache --no-fix --output-format=json {select} -- {path}"
_RUFF_FIX = Rewrite(_RUFF, readers.ruff_fixable, "check --no-cache --quiet --fix-only {select} - --stdin-filename")
_RUFF_FORMAT = Rewrite(
    "format --no-cache --check -- {path}", readers.ruff_stale, "format --no-cache --quiet - --stdin-filename"
)
_BLACK_FORMAT = Rewrite("--check -- {path}", readers.black_stale, "--quiet - --stdin-filename")
_ESLINT = "--format=json --output-file={report} --no-error-on-unmatched-pattern {path}"
_ESLINT_FIX = Rewrite(f"--fix-dry-run {_ESLINT}", lambda _: [], texts=readers.eslint_texts)
_ADD_RUFF = "python -m pip install ruff"
_ADD_ESLINT = "npm install --save-dev eslint prettier"
_RUST = "--check -l --color=never --edition={edition} {files}"

ENGINES: tuple[LintEngine, ...] = (
    LintEngine(
        "ruff", "Python", (*_PYTHON, "ipynb"), "ruff", _RUFF, readers.ruff, _RUFF_FIX, _RUFF_FORMAT, add=_ADD_RUFF
    ),
    LintEngine("flake8", "Python", _PYTHON, "flake8", "{select} {path}", readers.flake8),
    LintEngine("black", "Python", _PYTHON, "black", None, readers.faults, format=_BLACK_FORMAT),
    LintEngine("py_compile", "Python", ("py",), "", "{script} {files}", readers.compiled),
    LintEngine(
        "eslint", "JavaScript", _SCRIPT, "eslint", _ESLINT, readers.eslint, _ESLINT_FIX, foreign=True, add=_ADD_ESLINT
    ),
    _lister("prettier", "the web", _WEB, "--list-different --ignore-unknown {path}", "--stdin-filepath"),
    _lister("gofmt", "Go", ("go",), "-l {files}", "", "gofmt comes with Go, https://go.dev/dl"),
    _lister("rustfmt", "Rust", ("rs",), _RUST, "sh -c {rustfmt} sh {edition}", "rustup component add rustfmt"),
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
