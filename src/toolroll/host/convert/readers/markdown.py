"""How headings and tables are written as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def heading(text: str, level: int) -> str:
    """A heading on one line."""
    return f"{'#' * max(1, min(level, 6))} {' '.join(text.split())}"


def table(rows: Iterable[Sequence[str]]) -> str:
    """A table; its first row with anything in it names the columns. Columns and rows without anything are left out."""
    kept = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    kept = [row for row in kept if any(row)]
    width = max((at for row in kept for at, cell in enumerate(row, 1) if cell), default=0)
    columns = [at for at in range(width) if any(at < len(row) and row[at] for row in kept)]
    lines = [f"| {' | '.join(row[at] if at < len(row) else '' for at in columns)} |" for row in kept]
    return "\n".join([*lines[:1], f"|{' --- |' * len(columns)}", *lines[1:]]) if lines else ""
