"""What pure code may import, and an audit hook that notices when it touches the world."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import toolroll

SOURCE = Path(toolroll.__file__).parent


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLAIN = _names("""abc bisect collections collections.abc contextlib dataclasses difflib enum functools itertools math operator
    re string types typing""")
# By room: what its modules may import besides `__future__` and what import-linter allows them of toolroll.
ALLOWED = {
    "text": PLAIN
    | _names("""array ast ast_grep_py base64 charset_normalizer codecs configparser datetime fnmatch hashlib heapq html json
    keyword msgspec posixpath pyflakes rapidfuzz re2 shlex statistics symtable textwrap tomllib tree_sitter turbohtml
    unicodedata urllib.parse zlib"""),
    "policy": PLAIN
    | _names("""ast base64 binascii fnmatch hashlib html ipaddress msgspec posixpath shlex stringprep tree_sitter
    tree_sitter_bash unicodedata urllib.parse zlib"""),
    "tools": PLAIN | _names("datetime html json secrets shlex time zoneinfo"),
}
# A table that is found by listing its folder imports by a string; `sys.platform` and byte order are no hands.
EXCEPTIONS = {
    "text/code/syntax/grammars.py": {"importlib", "importlib.machinery", "importlib.util", "sys"},
    "text/code/syntax/languages/__init__.py": {"importlib", "pkgutil"},
    "text/web/engines/engine.py": {"importlib"},
    "tools/code/diagnostics.py": {"sys"},
}


def find_impure_imports(module: Path, tree: ast.Module) -> list[str]:
    """The imports of a module of text, policy or tools that no list allows, also those by a string."""
    name = module.relative_to(SOURCE).as_posix()
    room = name.partition("/")[0]
    allowed = ALLOWED[room] | EXCEPTIONS.get(name, set())
    impure = [imported for imported in _list_imports(tree) if not _is_allowed(imported, room, allowed)]
    loaders = {"__import__", "eval", "exec", "compile"} if room != "text" else {"__import__", "eval", "exec"}
    called = [node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return impure + sorted(loaders & set(called))


def _list_imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


def _is_allowed(imported: str, room: str, allowed: frozenset[str] | set[str]) -> bool:
    if imported.startswith("toolroll"):
        return room == "tools" or not imported.startswith(("toolroll.host", "toolroll.tools"))
    return imported in allowed or imported == "__future__"


# The audit events of CPython that mean a file, a process, a socket, another library or another program.
_WORLD = (
    "open",
    "os.",
    "socket.",
    "subprocess.",
    "ctypes.",
    "sqlite3.",
    "shutil.",
    "tempfile.",
    "pty.",
    "urllib.",
    "mmap.",
)
_PURE_ROOMS = tuple(f"{SOURCE / room}/" for room in ("text", "policy"))
_touched: list[str] = []
_installed: list[bool] = []


def _notice(event: str, arguments: tuple[Any, ...]) -> None:
    # CPython looks for the line of a syntax error in a file that is named like the source.
    if event.startswith(_WORLD) and arguments[:1] != ("<unknown>",) and (caller := _find_pure_caller(sys._getframe(1))):
        _touched.append(f"{caller}: {event} {arguments!r:.120}")


def _find_pure_caller(frame: FrameType | None) -> str | None:
    """The pure code that an event comes from; None where it is another's, or an import's, which may read files."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib") or name.endswith("/pkgutil.py"):
            return None
        if name.startswith(str(SOURCE)):
            return f"{name.removeprefix(str(SOURCE))}:{frame.f_lineno}" if name.startswith(_PURE_ROOMS) else None
        frame = frame.f_back
    return None


def watch_purity() -> Iterator[None]:
    """For a test: fail if code of `text` or `policy` opens, starts or reaches something while it runs."""
    _install()
    _touched.clear()
    yield
    assert not _touched, _touched


def _install() -> None:
    if not _installed:  # an audit hook cannot be removed
        _installed.append(True)
        sys.addaudithook(_notice)
