"""Grammars, parsers and compiled queries, loaded on first use."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from toolroll.text.code.syntax import languages

if TYPE_CHECKING:
    from types import ModuleType

    from tree_sitter import Language as Grammar
    from tree_sitter import Parser, Query

_CAPTURES = re.compile(rb"@([\w.]+)")


@cache
def grammar(name: str) -> Grammar:
    """The grammar of a language; a ToolError if it is not installed."""
    language = languages.get(name)
    try:
        import tree_sitter

        module = _binding(language.module or f"tree_sitter_{name}")
    except ImportError:
        from toolroll.result import ErrorCode, ToolError

        raise ToolError(ErrorCode.UNSUPPORTED, f"there is no grammar for {language.title} here.") from None
    return tree_sitter.Language(getattr(module, language.function)())


def _binding(package: str) -> ModuleType:
    """The compiled module of a grammar's package, without the package itself, whose imports are slow."""
    import sys
    from importlib import import_module
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    whole = PathFinder.find_spec(package) if package not in sys.modules else None
    within = whole.submodule_search_locations if whole is not None else None
    part = PathFinder.find_spec("_binding", within) if within else None
    if part is None or part.loader is None:
        return import_module(package)
    module = module_from_spec(part)
    part.loader.exec_module(module)
    return module


@cache
def parser(name: str) -> Parser:
    """The parser of a language, for one thread."""
    import tree_sitter

    return tree_sitter.Parser(grammar(name))


@cache
def query_without(name: str, *captures: str) -> Query:
    """The query of a language without the patterns whose captures all begin with one of these."""
    import tree_sitter

    text = f"{languages.get(name).query}\n[(ERROR) (MISSING)] @error".encode()
    query = tree_sitter.Query(grammar(name), text.decode())
    for number in range(query.pattern_count):
        pattern = text[query.start_byte_for_pattern(number) : query.end_byte_for_pattern(number)]
        if all(found.decode().startswith((*captures, "_")) for found in _CAPTURES.findall(pattern)):
            query.disable_pattern(number)
    return query
