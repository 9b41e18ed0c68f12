"""Move a definition of Python to another module: the imports it needs, and those of the modules that use it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from toolroll.result import ErrorCode, ToolError
from toolroll.text.code.symbol_spans import MoveRequest, join_pieces

_GUARD = "TYPE_CHECKING"


class _Import(NamedTuple):
    """One name that a statement imports."""

    node: ast.Import | ast.ImportFrom
    alias: ast.alias
    guarded: bool
    """It is imported for type checking only."""

    @property
    def bound(self) -> str:
        return self.alias.asname or self.alias.name.partition(".")[0]


def plan_move(request: MoveRequest) -> dict[str, str]:
    """The new texts of all files that change, by path; ToolError if the two modules would import each other."""
    piece, rest = request.cut()
    before = _parse(request.source_text, request.source)
    used = _used_names(_parse(piece, request.source))
    others = {path: text for path, text in request.others.items() if path not in (request.source, request.target)}
    imports = {one.bound: one for one in _imports(before)}
    root, relative = _style(request, before, others)
    kept = _defined_names(before) - {request.name}
    statements = [_from(_module(request.source, request.target, root, relative), name) for name in sorted(used & kept)]
    back = request.name in _used_names(_parse(rest, request.source)) or _is_attribute(request, others)
    if statements and back:
        names = ", ".join(sorted(used & kept))
        raise ToolError(
            ErrorCode.CONFLICT,
            f"{request.name!r} needs {names} of {request.source}, which needs {request.name!r}: the modules would "
            "import each other. Nothing was moved: move these names too, or first.",
        )
    guarded: list[str] = []
    for one in (imports[name] for name in sorted(used & imports.keys())):
        if not _is_import_of(one, request.source, request.target):
            (guarded if one.guarded else statements).append(_restate(one, request.source, request.target))
    target = _add_imports(request.target_text, request.target, statements, guarded, _has_future(before))
    changed = {request.target: join_pieces(_without_import(target, request), piece)}
    changed[request.source] = rest
    if back:
        line = _from(_module(request.target, request.source, root, relative), request.name)
        changed[request.source] = _add_imports(rest, request.source, [line], [], future=False)
    for path, text in others.items():
        if (made := _redirect(text, path, request)) != text:
            changed[path] = made
    return changed


def _parse(text: str, path: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise ToolError(
            ErrorCode.CONFLICT, f"{path!r} does not parse, line {error.lineno}. Nothing was moved."
        ) from None


def _imports(tree: ast.Module) -> Iterator[_Import]:
    for node in tree.body:
        inner = node.body if isinstance(node, ast.If) and _GUARD in ast.unparse(node.test) else [node]
        for one in inner:
            if isinstance(one, ast.Import | ast.ImportFrom) and getattr(one, "module", "") != "__future__":
                for alias in one.names:
                    yield _Import(one, alias, one is not node)


def _used_names(tree: ast.Module) -> set[str]:
    """The names that code uses, also in types that are written in quotes."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            try:
                quoted = ast.parse(node.value, mode="eval")
            except (SyntaxError, ValueError):
                continue
            found |= {one.id for one in ast.walk(quoted) if isinstance(one, ast.Name)}
    return found


def _defined_names(tree: ast.Module) -> set[str]:
    """The names that a module binds itself, not by imports."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign | getattr(ast, "TypeAlias", ast.Assign)):
            found |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return found


def _from(module: str, name: str, asname: str | None = None) -> str:
    return f"from {module} import {name}{f' as {asname}' if asname else ''}"


def _parts(path: str) -> list[str]:
    """The parts of the module that a file is."""
    return path.removesuffix(".py").removesuffix("/__init__").split("/")


def _folder(path: str) -> list[str]:
    return path.split("/")[:-1]


def _module(path: str, importer: str, root: str, relative: bool) -> str:
    """How a module is named in another file."""
    if not relative:
        return ".".join(_parts(path.removeprefix(root)))
    here, there = _folder(importer), _parts(path)
    same = 0
    while same < min(len(here), len(there) - 1) and here[same] == there[same]:
        same += 1
    return "." * (len(here) - same + 1) + ".".join(there[same:])


def _style(request: MoveRequest, tree: ast.Module, others: dict[str, str]) -> tuple[str, bool]:
    """The folder that absolute imports start from, and whether modules of the package are imported relatively."""
    if any(isinstance(one.node, ast.ImportFrom) and one.node.level for one in _imports(tree)):
        return "", True
    for path, text in others.items():
        for one in _imports(_parse(text, path)):
            if isinstance(one.node, ast.ImportFrom) and (root := _root_of(one.node, path, request.source)) is not None:
                return root, False
    return ("src/" if request.source.startswith("src/") else ""), False


def _root_of(node: ast.ImportFrom, importer: str, path: str) -> str | None:
    """The folder that an import of a file starts from; None if it is one of another file."""
    wanted = _parts(path)
    named = node.module.split(".") if node.module else []
    if node.level:
        here = _folder(importer)
        return "" if here[: len(here) - node.level + 1] + named == wanted else None
    if not named or wanted[-len(named) :] != named:
        return None
    return "".join(f"{part}/" for part in wanted[: -len(named)])


def _restate(one: _Import, source: str, target: str) -> str:
    """The statement that imports the same name in another file."""
    if isinstance(one.node, ast.Import):
        return f"import {one.alias.name}{f' as {one.alias.asname}' if one.alias.asname else ''}"
    module = one.node.module or ""
    if not one.node.level:
        return _from(module, one.alias.name, one.alias.asname)
    here = _folder(source)
    path = "/".join([*here[: len(here) - one.node.level + 1], *module.split(".")]).rstrip("/")
    return _from(_module(f"{path}.py", target, "", relative=True), one.alias.name, one.alias.asname)


def _is_import_of(one: _Import, importer: str, path: str) -> bool:
    return isinstance(one.node, ast.ImportFrom) and _root_of(one.node, importer, path) is not None


def _is_attribute(request: MoveRequest, others: dict[str, str]) -> bool:
    """Whether another module uses the name as an attribute of the source's module."""
    stem = _parts(request.source)[-1]
    for path, text in others.items():
        tree = _parse(text, path)
        bound = {one.bound for one in _imports(tree) if stem in (*one.alias.name.split("."), one.alias.asname)}
        bound |= {one.alias.name for one in _imports(tree) if stem in one.alias.name.split(".")}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == request.name and ast.unparse(node.value) in bound:
                return True
    return False


def _has_future(tree: ast.Module) -> bool:
    return any(isinstance(one, ast.ImportFrom) and one.module == "__future__" for one in tree.body)


def _add_imports(text: str, path: str, statements: list[str], guarded: list[str], future: bool) -> str:
    """A text with further imports behind those it has; none twice."""
    tree = _parse(text, path)
    known = {_restate(one, path, path) for one in _imports(tree)}
    new = [one for one in dict.fromkeys(statements) if one not in known]
    for_types = [one for one in dict.fromkeys(guarded) if one not in known]
    if for_types and _GUARD not in {one.bound for one in _imports(tree)}:
        new.append(f"from typing import {_GUARD}")
    if future and not _has_future(tree) and (not text or for_types):
        new.insert(0, "from __future__ import annotations\n")
    block = "".join(f"{one}\n" for one in new)
    if for_types:
        block += f"\nif {_GUARD}:\n" + "".join(f"    {one}\n" for one in for_types)
    if not block:
        return text
    lines = text.splitlines(keepends=True)
    ends = [one.end_lineno or 0 for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    if not ends and tree.body and isinstance(tree.body[0], ast.Expr) and ast.get_docstring(tree) is not None:
        ends, block = [tree.body[0].end_lineno or 0], f"\n{block}"
    at = max(ends, default=0)
    gap = "\n" if at == 0 and text else ""
    return "".join([*lines[:at], block + gap, *lines[at:]])


def _redirect(text: str, path: str, request: MoveRequest) -> str:
    """A text whose imports of the name from the source are from the target."""
    tree = _parse(text, path)
    lines = text.splitlines(keepends=True)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    for node in sorted(nodes, key=lambda one: -one.lineno):
        root = _root_of(node, path, request.source)
        moved = [alias for alias in node.names if alias.name == request.name]
        if root is None or not moved:
            continue
        indent = " " * node.col_offset
        module = _module(request.target, path, root, bool(node.level))
        new = [f"{indent}{_from(module, one.name, one.asname)}\n" for one in moved]
        kept = [alias for alias in node.names if alias.name != request.name]
        old = f"{indent}from {'.' * node.level}{node.module or ''} import "
        names = [f"{one.name}{f' as {one.asname}' if one.asname else ''}" for one in kept]
        if kept and node.lineno != node.end_lineno:
            new.insert(0, f"{old}(\n{''.join(f'{indent}    {name},{chr(10)}' for name in names)}{indent})\n")
        elif kept:
            new.insert(0, f"{old}{', '.join(names)}\n")
        lines[node.lineno - 1 : node.end_lineno] = new
    return "".join(lines)


def _without_import(text: str, request: MoveRequest) -> str:
    """The target without its own import of the name."""
    lines = text.splitlines(keepends=True)
    for node in reversed(_parse(text, request.target).body):
        if isinstance(node, ast.ImportFrom) and _root_of(node, request.target, request.source) is not None:
            kept = [alias for alias in node.names if alias.name != request.name]
            if len(kept) < len(node.names):
                names = ", ".join(f"{one.name}{f' as {one.asname}' if one.asname else ''}" for one in kept)
                new = [f"from {'.' * node.level}{node.module or ''} import {names}\n"] if kept else []
                lines[node.lineno - 1 : node.end_lineno] = new
    return "".join(lines)
