"""A Jupyter notebook as readable text: its cells in order, with what they printed."""

from __future__ import annotations

from typing import Any

import msgspec

from toolroll.result import ErrorCode, ToolError

_MOST_OUTPUT = 2_000  # characters of one cell's output


def cells(source: str) -> str:
    """The notebook's cells under headings; raises ToolError when the text is no notebook."""
    try:
        notebook = msgspec.json.decode(source)
        found = notebook["cells"]
        return "\n".join(_cell(number, cell) for number, cell in enumerate(found, 1))
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ToolError(
            ErrorCode.VALIDATION, f"It is not a readable notebook ({error}). Read it as plain text instead."
        ) from error


def _cell(number: int, cell: dict[str, Any]) -> str:
    parts = [f"[cell {number}: {cell['cell_type']}]", _joined(cell["source"]).rstrip("\n")]
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
