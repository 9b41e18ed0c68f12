"""The arguments that ripgrep is given: what to look for, and where."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from toolroll.host.search.query import Query, Scope, is_hidden
from toolroll.text.search import patterns
from toolroll.text.search.globs import Filter, Matcher

Wants = Callable[[str], bool]

_ROWS = ("--line-number", "--with-filename", "--no-heading", "--column", "--no-context-separator", "--null")
# Nothing above the searched folder is read: what holds of it is given by --ignore-file.
_IGNORING = ("--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-exclude")
_MAX_REGEX = "4M"
_FEW = 30

# Patterns in which ripgrep and text/globs cannot differ. "?" is not among them: to ripgrep it is one byte.
_PLAIN = re.compile(r"(?:\*\*(?=/|$)|(?<!\*)\*(?!\*)|[\w.@+=~%/-])+", re.ASCII)


def query_args(query: Query) -> list[str]:
    """The arguments that say what to look for. Never -P: its time has no bound."""
    prepared = patterns.prepare(query.pattern, literal=query.literal, multiline=query.multiline)
    args = [f"--regex-size-limit={_MAX_REGEX}", "--no-mmap"]
    args += [] if prepared.sees_cr else ["--crlf"]
    args += ["--multiline"] if prepared.multiline else []
    args += ["--ignore-case"] if query.ignore_case else []
    args += ["--word-regexp"] if query.whole_word else []
    return [*args, f"--regexp={prepared.regex}"]


def row_args(query: Query) -> list[str]:
    """The arguments for the matching lines and those around them."""
    both = (("--before-context", query.before), ("--after-context", query.after))
    return [*_ROWS, *(f"{name}={lines}" for name, lines in both if lines), *query_args(query)]


def scope_args(scope: Scope) -> tuple[list[str], Filter]:
    """The arguments that say where to look, and what of the patterns is left to be done by us."""
    wanted = scope.filter()
    args = ["--hidden", "--glob=!.git/"] if scope.hidden else []  # else see `wanter`
    args += [] if scope.depth is None else [f"--max-depth={scope.depth}"]
    if scope.ignored:
        args.append("--no-ignore")
    else:
        args += _IGNORING
    args += [f"--glob=!{_quoted(name)}/" for name in scope.skip]
    left = []
    for matcher in wanted.exclude:
        globs = [*matcher.names, *(path if path.startswith("**") else f"/{path}" for path in matcher.paths)]
        if all(map(_PLAIN.fullmatch, globs)):
            args += [f"--glob=!{glob}" for glob in globs]
        else:
            left.append(matcher)
    # A positive --glob would bring ignored files back; a type does not.
    if wanted.include and all(map(_is_type, wanted.include)):
        args += [f"--type-add=toolroll:{name}" for matcher in wanted.include for name in matcher.names]
        return [*args, "--type=toolroll"], Filter((), tuple(left))
    return args, Filter(wanted.include, tuple(left))


def named_args(only: Sequence[str], most: int | None) -> list[str]:
    """The arguments for a search of named files, up to a number of lines in each; few are not worth threads."""
    args = ["--no-ignore", "--text", *(["--threads=1"] if len(only) <= _FEW else [])]
    return args if most is None else [*args, f"--max-count={most}"]


def wanter(scope: Scope, rest: Filter) -> Wants:
    """Tells what was asked for. An ignore file can bring hidden files back, but for us they stay hidden."""
    if scope.hidden:
        return rest.wants
    if not rest.include and not rest.exclude:
        return lambda path: not is_hidden(path)
    return lambda path: not is_hidden(path) and rest.wants(path)


def _is_type(matcher: Matcher) -> bool:
    return not matcher.paths and all(map(_PLAIN.fullmatch, matcher.names))


def _quoted(name: str) -> str:
    return re.sub(r"([^\w./-])", r"\\\1", name)
