"""Linters and formatters: their command lines and parsers. A new one is a new row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolroll.text.dev.lint import readers
from toolroll.text.dev.lint.model import Finding, LintOutput

Action = Literal["check", "fix", "format"]
Words = Callable[["LintRequest"], list[str]]


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


@dataclass(frozen=True, slots=True)
class Rewrite:
    """How to get new texts without letting the program write any."""

    find: Words
    """Arguments that list the files that would change."""
    stale: Callable[[LintOutput], list[str]]
    filter: Words | None = None
    """Arguments that read a text and print the new one; the path of the file follows."""
    texts: Callable[[LintOutput], dict[str, str]] | None = None
    """For a program that prints the new texts at once."""


@dataclass(frozen=True, slots=True)
class LintEngine:
    """One program for one or several languages."""

    name: str
    language: str
    suffixes: tuple[str, ...]
    program: str
    check: Words | None
    read: Callable[[LintOutput], list[Finding]]
    fix: Rewrite | None = None
    format: Rewrite | None = None
    foreign: bool = False
    """Its settings are code of the project, so it runs by the rules for such code."""
    add: str = ""
    """How to add it, for the first engine of a language."""


def _selected(ask: LintRequest) -> list[str]:
    return [f"--select={ask.select}"] if ask.select else []


def _fixable(read: Callable[[LintOutput], list[Finding]]) -> Callable[[LintOutput], list[str]]:
    return lambda printed: sorted({one.path for one in read(printed) if one.fixable})


def _ruff(ask: LintRequest) -> list[str]:
    return ["check", "--no-cache", "--no-fix", "--output-format=json", *_selected(ask), "--", f"./{ask.path}"]


def _eslint(*more: str) -> Words:
    return lambda ask: [
        *more,
        "--format=json",
        f"--output-file={ask.report}",
        "--no-error-on-unmatched-pattern",
        f"./{ask.path}",
    ]


_gofmt = readers.unformatted("gofmt")
_rustfmt = readers.unformatted("rustfmt")
_prettier = readers.unformatted("prettier")
# rustfmt has no option for a name when it reads a text: it looks for its settings from where it runs.
_RUSTFMT = 'cd -- "$(dirname -- "$2")" && exec rustfmt --quiet --color=never --edition="$1"'
_PYTHON = ("py", "pyi")
_SCRIPT = ("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts")
_WEB = (*_SCRIPT, "css", "scss", "less", "html", "vue", "json", "md", "yaml", "yml")

ENGINES: tuple[LintEngine, ...] = (
    LintEngine(
        "ruff",
        "Python",
        (*_PYTHON, "ipynb"),
        "ruff",
        _ruff,
        readers.ruff,
        fix=Rewrite(
            _ruff,
            _fixable(readers.ruff),
            lambda ask: ["check", "--no-cache", "--quiet", "--fix-only", *_selected(ask), "-", "--stdin-filename"],
        ),
        format=Rewrite(
            lambda ask: ["format", "--no-cache", "--check", "--", f"./{ask.path}"],
            readers.ruff_stale,
            lambda _: ["format", "--no-cache", "--quiet", "-", "--stdin-filename"],
        ),
        add="python -m pip install ruff",
    ),
    LintEngine("flake8", "Python", _PYTHON, "flake8", lambda ask: [*_selected(ask), f"./{ask.path}"], readers.flake8),
    LintEngine(
        "black",
        "Python",
        _PYTHON,
        "black",
        None,
        readers.faults,
        format=Rewrite(
            lambda ask: ["--check", "--", f"./{ask.path}"],
            readers.black_stale,
            lambda _: ["--quiet", "-", "--stdin-filename"],
        ),
    ),
    LintEngine("py_compile", "Python", ("py",), "", lambda ask: [ask.script, *ask.files], readers.compiled),
    LintEngine(
        "eslint",
        "JavaScript",
        _SCRIPT,
        "eslint",
        _eslint(),
        readers.eslint,
        fix=Rewrite(_eslint("--fix-dry-run"), lambda _: [], texts=readers.eslint_texts),
        foreign=True,
        add="npm install --save-dev eslint prettier",
    ),
    LintEngine(
        "prettier",
        "the web",
        _WEB,
        "prettier",
        lambda ask: ["--list-different", "--ignore-unknown", f"./{ask.path}"],
        _prettier,
        format=Rewrite(
            lambda ask: ["--list-different", "--ignore-unknown", f"./{ask.path}"],
            _fixable(_prettier),
            lambda _: ["--stdin-filepath"],
        ),
        foreign=True,
    ),
    LintEngine(
        "gofmt",
        "Go",
        ("go",),
        "gofmt",
        lambda ask: ["-l", *ask.files],
        _gofmt,
        format=Rewrite(lambda ask: ["-l", *ask.files], _fixable(_gofmt), lambda _: []),
        add="gofmt comes with Go, https://go.dev/dl",
    ),
    LintEngine(
        "rustfmt",
        "Rust",
        ("rs",),
        "rustfmt",
        lambda ask: ["--check", "-l", "--color=never", f"--edition={ask.edition}", *ask.files],
        _rustfmt,
        format=Rewrite(
            lambda ask: ["--check", "-l", "--color=never", f"--edition={ask.edition}", *ask.files],
            _fixable(_rustfmt),
            lambda ask: ["sh", "-c", _RUSTFMT, "sh", ask.edition],
        ),
        add="rustup component add rustfmt",
    ),
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
