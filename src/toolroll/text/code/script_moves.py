"""Move a definition of TypeScript or JavaScript to another module, with the imports it needs and those of its users."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from toolroll.text.code.symbol_spans import MoveRequest, join_pieces

_IMPORT = re.compile(
    r"^import\s+(?P<type>type\s+)?(?P<names>[^'\";]+?)\s+from\s+(?P<quote>['\"])(?P<spec>[^'\"]+)(?P=quote);?[ \t]*\n",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_DEFINED = re.compile(
    r"^(export\s+)?(?:declare\s+)?(?:async\s+)?(?:abstract\s+)?(?:function\*?|class|const|let|var|interface|type|enum)\s+([\w$]+)",
    re.MULTILINE,
)
_ENDINGS = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$")


class _Import(NamedTuple):
    """An import statement: where it is, and the names it binds, each as it is written."""

    start: int
    end: int
    kind: str
    spec: str
    quote: str
    names: dict[str, str]
    semicolon: str


def plan_move(request: MoveRequest) -> dict[str, str]:
    """The new texts of all files that change, by path."""
    piece, rest = request.cut()
    used = set(_WORD.findall(piece)) - {request.name}
    needed: list[str] = []
    for one in _imports(request.source_text):
        for bound, written in one.names.items():
            if bound in used and _resolve(one.spec, request.source) != _bare(request.target):
                spec = _respell(one.spec, request.source, request.target)
                needed.append(_statement(one.kind, bound, written, spec, one))
    kept = {found[2] for found in _DEFINED.finditer(rest)} & used
    if kept:
        rest = _DEFINED.sub(lambda found: found[0] if found[1] or found[2] not in kept else f"export {found[0]}", rest)
        needed.append(_named(sorted(kept), _spell(request.source, request.target, request), request.source_text))
    if re.search(rf"(?<![\w$.]){re.escape(request.name)}(?![\w$])", rest):
        rest = _add(
            rest, [_named([request.name], _spell(request.target, request.source, request), request.source_text)]
        )
    if not re.search(r"^(?:@|export\b)", piece.lstrip("/* \n"), re.MULTILINE) and _DEFINED.search(piece):
        piece = _DEFINED.sub(lambda found: found[0] if found[1] else f"export {found[0]}", piece, count=1)
    target = _redirect(request.target_text, request.target, request, drop=True)
    changed = {request.source: rest, request.target: join_pieces(_add(target, needed), piece)}
    for path, text in request.others.items():
        if path not in changed and (made := _redirect(text, path, request)) != text:
            changed[path] = made
    return changed


def _imports(text: str) -> Iterator[_Import]:
    for found in _IMPORT.finditer(text):
        names: dict[str, str] = {}
        braces = re.search(r"\{([^}]*)\}", found["names"])
        for written in braces[1].split(",") if braces else ():
            if written.strip():
                names[_WORD.findall(written)[-1]] = " ".join(written.split())
        for written in re.sub(r"\{[^}]*\}", "", found["names"]).split(","):
            if (plain := " ".join(written.split())) and (words := _WORD.findall(plain)):
                names[words[-1]] = plain if plain.startswith("*") else f"={words[-1]}"
        end = ";" if found[0].rstrip().endswith(";") else ""
        yield _Import(found.start(), found.end(), found["type"] or "", found["spec"], found["quote"], names, end)


def _statement(kind: str, bound: str, written: str, spec: str, like: _Import) -> str:
    names = bound if written.startswith("=") else written if written.startswith("*") else f"{{ {written} }}"
    return f"import {kind}{names} from {like.quote}{spec}{like.quote}{like.semicolon}\n"


def _named(names: list[str], spec: str, text: str) -> str:
    """An import in the style of a text."""
    like = next(_imports(text), None)
    quote, end = (like.quote, like.semicolon) if like else ('"', ";")
    return f"import {{ {', '.join(names)} }} from {quote}{spec}{quote}{end}\n"


def _bare(path: str) -> str:
    """A path without what may be left out of it in an import."""
    return _ENDINGS.sub("", path).removesuffix("/index")


def _resolve(spec: str, importer: str) -> str | None:
    """The file that a relative import names, without its ending."""
    if not spec.startswith("."):
        return None
    return _bare(posixpath.normpath(posixpath.join(posixpath.dirname(importer), spec)))


def _respell(spec: str, importer: str, other: str) -> str:
    """A relative import of one file, as another file has to write it."""
    if not spec.startswith("."):
        return spec
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(importer), spec))
    return _relative(whole, other)


def _relative(path: str, importer: str) -> str:
    made = posixpath.relpath(path, posixpath.dirname(importer) or ".")
    return made if made.startswith(".") else f"./{made}"


def _spell(path: str, importer: str, request: MoveRequest, like: str | None = None) -> str:
    """How a file is named in an import, with an ending if the others have one."""
    specs = [like] if like else [one.spec for one in _imports(request.source_text) if one.spec.startswith(".")]
    ending = _ENDINGS.search(specs[0]) if specs else None
    return _relative(_bare(path), importer) + (ending[0] if ending else "")


def _redirect(text: str, path: str, request: MoveRequest, drop: bool = False) -> str:
    """A text whose imports of the name from the source are from the target, or are dropped."""
    for one in reversed(list(_imports(text))):
        if _resolve(one.spec, path) != _bare(request.source):
            continue
        moved = {
            bound: written
            for bound, written in one.names.items()
            if _WORD.match(written) and written.split()[0] == request.name
        }
        if not moved:
            continue
        kept = [written for bound, written in one.names.items() if bound not in moved and _WORD.match(written)]
        whole = [written.removeprefix("=") for written in one.names.values() if not _WORD.match(written)]
        names = ", ".join([*whole, *([f"{{ {', '.join(kept)} }}"] if kept else [])])
        new = f"import {one.kind}{names} from {one.quote}{one.spec}{one.quote}{one.semicolon}\n" if names else ""
        if not drop:
            spec = _spell(request.target, path, request, one.spec)
            new += "".join(_statement(one.kind, bound, written, spec, one) for bound, written in moved.items())
        text = text[: one.start] + new + text[one.end :]
    return text


def _add(text: str, statements: list[str]) -> str:
    """A text with further imports behind those it has."""
    known = list(_imports(text))
    bound = {name for one in known for name in one.names}
    new = "".join(one for one in dict.fromkeys(statements) if not set(next(_imports(one)).names) <= bound)
    at = known[-1].end if known else 0
    gap = "\n" if new and not known and text else ""
    return text[:at] + new + gap + text[at:]
