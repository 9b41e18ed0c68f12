"""The languages whose structure is known: how their files are told, and where their grammars are."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from toolroll.text.code.syntax.queries import compiled, data, scripts, web

if TYPE_CHECKING:
    from types import ModuleType

    from tree_sitter import Language as Grammar
    from tree_sitter import Parser, Query

    from toolroll.result import ToolError

MOST_BYTES = 2 << 20
"""Larger sources are not parsed: they are generated, and nobody reads their outline."""


class Language(NamedTuple):
    """A language: its files, its grammar and what to look for in it."""

    name: str
    title: str
    module: str
    query: str
    suffixes: tuple[str, ...]
    files: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    """What its scripts are run by, as named after "#!"."""
    function: str = "language"
    pattern: str = ""
    """Its name in structural patterns; empty if there are none."""
    word: str = ""
    """Characters that its names may hold besides letters, digits and underscores."""
    code: bool = True
    """False for languages in which nothing is called or used."""
    holders: frozenset[str] = frozenset()
    """Kinds, besides the usual ones, whose functions are methods."""


_ALL = (
    Language(
        "python",
        "Python",
        "tree_sitter_python",
        scripts.PYTHON,
        (".py", ".pyi", ".pyw"),
        ("SConstruct",),
        ("python",),
        pattern="python",
    ),
    Language(
        "javascript",
        "JavaScript",
        "tree_sitter_javascript",
        web.JAVASCRIPT,
        (".js", ".jsx", ".mjs", ".cjs"),
        programs=("node", "deno", "bun"),
        pattern="javascript",
        word="$",
    ),
    Language(
        "typescript",
        "TypeScript",
        "tree_sitter_typescript",
        web.TYPESCRIPT,
        (".ts", ".mts", ".cts"),
        function="language_typescript",
        pattern="typescript",
        word="$",
    ),
    Language(
        "tsx",
        "TSX",
        "tree_sitter_typescript",
        web.TSX,
        (".tsx",),
        function="language_tsx",
        pattern="tsx",
        word="$",
    ),
    Language("go", "Go", "tree_sitter_go", compiled.GO, (".go",), pattern="go"),
    Language("rust", "Rust", "tree_sitter_rust", compiled.RUST, (".rs",), pattern="rust"),
    Language("java", "Java", "tree_sitter_java", compiled.JAVA, (".java",), pattern="java", word="$"),
    Language("c", "C", "tree_sitter_c", compiled.C, (".c", ".h"), pattern="c"),
    Language(
        "cpp",
        "C++",
        "tree_sitter_cpp",
        compiled.CPP,
        (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".h++", ".ipp", ".inl"),
        pattern="cpp",
    ),
    Language("csharp", "C#", "tree_sitter_c_sharp", compiled.CSHARP, (".cs",), pattern="csharp"),
    Language(
        "ruby",
        "Ruby",
        "tree_sitter_ruby",
        scripts.RUBY,
        (".rb", ".rake", ".gemspec"),
        ("Rakefile", "Gemfile"),
        ("ruby",),
        pattern="ruby",
        holders=frozenset({"module"}),
    ),
    Language(
        "php",
        "PHP",
        "tree_sitter_php",
        scripts.PHP,
        (".php", ".phtml"),
        programs=("php",),
        function="language_php",
        pattern="php",
    ),
    Language(
        "bash",
        "Bash",
        "tree_sitter_bash",
        scripts.BASH,
        (".sh", ".bash", ".zsh"),
        programs=("bash", "sh", "dash", "zsh", "ksh"),
        pattern="bash",
        word="-./",
    ),
    Language("json", "JSON", "tree_sitter_json", data.JSON, (".json",), pattern="json", code=False),
    Language("yaml", "YAML", "tree_sitter_yaml", data.YAML, (".yaml", ".yml"), pattern="yaml", code=False),
    Language("toml", "TOML", "tree_sitter_toml", data.TOML, (".toml",), code=False),
    Language("html", "HTML", "tree_sitter_html", web.HTML, (".html", ".htm"), pattern="html", code=False),
    Language("css", "CSS", "tree_sitter_css", web.CSS, (".css",), pattern="css", code=False),
    Language("markdown", "Markdown", "tree_sitter_markdown", data.MARKDOWN, (".md", ".markdown"), code=False),
)

LANGUAGES = {language.name: language for language in _ALL}

_BY_SUFFIX = {suffix: language for language in _ALL for suffix in language.suffixes}
_BY_FILE = {name: language for language in _ALL for name in language.files}
_BY_PROGRAM = {program: language for language in _ALL for program in language.programs}
_SHEBANG = re.compile(rb"#![ \t]*\S*?([a-z]+)[\d.]*(?:[ \t]+(?:-\S+[ \t]+)*\S*?([a-z]+)[\d.]*)?(?=\s|$)")
_CAPTURES = re.compile(rb"@([\w.]+)")
_IS_CPP = re.compile(rb"^[ \t]*(?:class|namespace|template|using)\b|\w::\w", re.MULTILINE)


@lru_cache(maxsize=1 << 16)
def named(path: str) -> Language | None:
    """The language of a file by its name alone; None if it is of no known one, or has no suffix."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    if dot <= 0:
        return _BY_FILE.get(name)
    return _BY_FILE.get(name) or _BY_SUFFIX.get(name[dot:].lower())


def may_be_script(path: str) -> bool:
    """Whether only the first line can tell what a file is."""
    return "." not in path.rpartition("/")[2]


def of(path: str, source: bytes) -> Language | None:
    """The language of a file by its name, or by the "#!" that it begins with."""
    found = named(path)
    if found is None and may_be_script(path) and (first := _SHEBANG.match(source[:200])):
        programs = [name.decode() for name in first.groups() if name]
        return next((_BY_PROGRAM[name] for name in reversed(programs) if name in _BY_PROGRAM), None)
    if found is not None and path.endswith(".h") and _IS_CPP.search(source):
        return LANGUAGES["cpp"]
    return found


def unknown(path: str) -> ToolError:
    """The error for a file of a language that has no grammar here."""
    from toolroll.result import ErrorCode, ToolError

    titles = ", ".join(language.title for language in _ALL)
    return ToolError(
        ErrorCode.UNSUPPORTED,
        f"The language of {path!r} is not known. There are: {titles}. Use `grep` or `read` instead.",
    )


def missing(titles: str) -> ToolError:
    """The error for languages whose grammars are not installed."""
    from toolroll.result import ErrorCode, ToolError

    return ToolError(
        ErrorCode.UNSUPPORTED, f"There is no grammar for {titles} here. Add it with: pip install 'toolroll[code]'."
    )


@cache
def grammar(name: str) -> Grammar:
    """The grammar of a language, imported on first use."""
    language = LANGUAGES[name]
    try:
        import tree_sitter

        module = _compiled(language.module)
    except ImportError:
        raise missing(language.title) from None
    return tree_sitter.Language(getattr(module, language.function)())


def _compiled(package: str) -> ModuleType:
    """The compiled part of a grammar's package: the rest of it imports much in order to read files of its own."""
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
def load(name: str) -> tuple[Grammar, Query]:
    """The grammar of a language and its compiled query."""
    import tree_sitter

    found = grammar(name)
    return found, tree_sitter.Query(found, _asked(LANGUAGES[name]))


@cache
def parser(name: str) -> Parser:
    """The parser of a language, for one thread."""
    import tree_sitter

    return tree_sitter.Parser(grammar(name))


@cache
def query_without(name: str, *captures: str) -> Query:
    """The query of a language without the patterns that find nothing but these captures, told by how they begin."""
    import tree_sitter

    said = _asked(LANGUAGES[name])
    query, text = tree_sitter.Query(grammar(name), said), said.encode()
    for number in range(query.pattern_count):
        pattern = text[query.start_byte_for_pattern(number) : query.end_byte_for_pattern(number)]
        if all(found.decode().startswith((*captures, "_")) for found in _CAPTURES.findall(pattern)):
            query.disable_pattern(number)
    return query


def _asked(language: Language) -> str:
    return f"{language.query}\n[(ERROR) (MISSING)] @error"
