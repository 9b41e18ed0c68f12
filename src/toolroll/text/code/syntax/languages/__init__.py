"""The known languages: one module each, found by listing this folder.

To add one, write its module and a case in tests/text/code/syntax/cases. Modules import only `syntax.language`,
`syntax.declarators` and each other's queries.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from toolroll.text.code.syntax.language import Language

if TYPE_CHECKING:
    from toolroll.result import ToolError

_SHEBANG = re.compile(rb"#![ \t]*\S*?([a-z]+)[\d.]*(?:[ \t]+(?:-\S+[ \t]+)*\S*?([a-z]+)[\d.]*)?(?=\s|$)")


@cache
def names() -> tuple[str, ...]:
    """The names of all languages, sorted."""
    from pkgutil import iter_modules

    return tuple(sorted(module.name for module in iter_modules(__path__)))


@cache
def get(name: str) -> Language:
    """The language of this name; imports its module alone."""
    found: Language = import_module(f"{__name__}.{name}").LANGUAGE
    return found


@cache
def every() -> tuple[Language, ...]:
    """All languages, by their names."""
    return tuple(map(get, names()))


@lru_cache(maxsize=1 << 16)
def by_name(path: str) -> Language | None:
    """The language of a file by its name alone."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return _table("files").get(name) or (_table("suffixes").get(name[dot:].lower()) if dot > 0 else None)


def may_be_script(path: str) -> bool:
    """Whether only the first line tells the language of a file."""
    return "." not in path.rpartition("/")[2]


def detect(path: str, source: bytes) -> Language | None:
    """The language of a file by its name and its content."""
    found = by_name(path)
    if found is None and may_be_script(path) and (first := _SHEBANG.match(source[:200])):
        programs = (name.decode() for name in reversed(first.groups()) if name)
        return next(filter(None, map(_table("programs").get, programs)), None)
    if found is not None:
        for suffix, other, evidence in _claims():
            if path.endswith(suffix) and evidence.search(source):
                return other
    return found


def unknown(path: str) -> ToolError:
    """The error for a file of an unknown language."""
    from toolroll.result import ErrorCode, ToolError

    titles = ", ".join(sorted((language.title for language in every()), key=str.lower))
    return ToolError(
        ErrorCode.UNSUPPORTED,
        f"The language of {path!r} is not known. There are: {titles}. Use `grep` or `read` instead.",
    )


@cache
def _table(field: str) -> dict[str, Language]:
    return {value: language for language in every() for value in getattr(language, field)}


@cache
def _claims() -> tuple[tuple[str, Language, re.Pattern[bytes]], ...]:
    found = ((language, language.claims) for language in every() if language.claims is not None)
    return tuple((claims[0], language, re.compile(claims[1].encode(), re.MULTILINE)) for language, claims in found)
