"""Jupyter notebooks: the cells as readable text, and changes of one cell."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from toolroll.result import ErrorCode, ToolError

CellType = Literal["code", "markdown"]
CellChange = Literal["replace", "insert", "delete"]
_MOST_OUTPUT = 2_000  # characters of one cell's output


@dataclass(frozen=True, slots=True)
class ChangedNotebook:
    """A notebook after a change, and the cell as it was and is."""

    text: str
    id: str
    """Of the cell; its number from 1 where cells have no ids."""
    type: str
    language: str
    old: str | None


def cells(source: str) -> list[str]:
    """The notebook's cells, each under a heading; raises ToolError when the text is no notebook."""
    try:
        return [_cell(number, cell) for number, cell in enumerate(_parse(source)["cells"], 1)]
    except (KeyError, TypeError, AttributeError) as error:
        raise _unreadable(error) from error


def change_cell(source: str, change: CellChange, cell: str | None, new: str, type: CellType | None) -> ChangedNotebook:
    """Replace, delete, or insert a cell behind the one that is named; at the beginning when none is."""
    notebook = _parse(source)
    try:
        found: list[dict[str, Any]] = notebook["cells"]
        at = _position(found, cell) if cell is not None else -1
        if at < 0 and change != "insert":
            raise ToolError(ErrorCode.VALIDATION, f"Which cell? Give the `cell` to {change}.")
        if change == "insert":
            at += 1
            found.insert(at, _new_cell(notebook, new, type))
        one, old = found[at], None if change == "insert" else _joined(found[at]["source"])
        if change == "delete":
            del found[at]
        elif change == "replace":
            _rewrite(one, new, type)
        about = notebook.get("metadata", {})
        language = about.get("language_info", {}).get("name") or about.get("kernelspec", {}).get("language", "python")
        return ChangedNotebook(_written(notebook, source), one.get("id", str(at + 1)), one["cell_type"], language, old)
    except (KeyError, TypeError, AttributeError) as error:
        raise _unreadable(error) from error


def _parse(source: str) -> dict[str, Any]:
    try:
        notebook: dict[str, Any] = msgspec.json.decode(source)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unreadable(error) from error
    return notebook


def _unreadable(error: Exception) -> ToolError:
    return ToolError(ErrorCode.VALIDATION, f"It is not a readable notebook ({error}). Read it as plain text instead.")


def _position(found: list[dict[str, Any]], cell: str) -> int:
    """Where the cell of an id or number is; `cell-0` is the first, as programs that count from 0 write it."""
    for at, one in enumerate(found):
        if one.get("id") == cell:
            return at
    at = int(cell) - 1 if cell.isdecimal() else -1
    if cell.startswith("cell-") and cell[5:].isdecimal():
        at = int(cell[5:])
    if 0 <= at < len(found):
        return at
    raise ToolError(ErrorCode.NOT_FOUND, f"There is no cell {cell!r}: there are {len(found)}. `read` shows their ids.")


def _new_cell(notebook: dict[str, Any], source: str, type: CellType | None) -> dict[str, Any]:
    if type is None:
        raise ToolError(ErrorCode.VALIDATION, "Is the new cell code or markdown? Give its `type`.")
    made: dict[str, Any] = {"cell_type": type}
    if (notebook.get("nbformat", 4), notebook.get("nbformat_minor", 0)) >= (4, 5):
        known = {one.get("id") for one in notebook["cells"]}
        names = (hashlib.sha256(f"{number} {source}".encode()).hexdigest()[:8] for number in range(len(known) + 1))
        made["id"] = next(name for name in names if name not in known)
    return made | {"metadata": {}, **_content(source, type)}


def _rewrite(cell: dict[str, Any], source: str, type: CellType | None) -> None:
    """Give a cell another source; what the old one printed goes."""
    kind = type or cell["cell_type"]
    for name in ("execution_count", "outputs"):
        cell.pop(name, None)
    cell |= {"cell_type": kind, **_content(source, kind)}


def _content(source: str, type: str) -> dict[str, Any]:
    outputs: dict[str, Any] = {"execution_count": None, "outputs": []} if type == "code" else {}
    return {**outputs, "source": source.splitlines(keepends=True)}


def _written(notebook: dict[str, Any], source: str) -> str:
    """The notebook in the layout that it had: its indentation and its last line feed."""
    second = source.partition("\n")[2]
    indent = len(second) - len(second.lstrip(" "))
    text = json.dumps(notebook, ensure_ascii=False, indent=indent or (1 if second else None))
    return text + "\n" * source.endswith("\n")


def _cell(number: int, cell: dict[str, Any]) -> str:
    named = f", id {cell['id']}" if cell.get("id") else ""
    parts = [f"[cell {number}: {cell['cell_type']}{named}]", _joined(cell["source"]).rstrip("\n")]
    for output in cell.get("outputs", ()):
        if shown := _output(output).rstrip("\n"):
            cut = shown if len(shown) <= _MOST_OUTPUT else shown[:_MOST_OUTPUT] + " [cut]"
            parts += [f"[output {number}]", cut]
    return "\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    if "text" in output:
        return _joined(output["text"])
    if "ename" in output:
        return f"{output['ename']}: {output.get('evalue', '')}"
    data = output.get("data", {})
    return _joined(data["text/plain"]) if "text/plain" in data else f"[{', '.join(data)}]"


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
