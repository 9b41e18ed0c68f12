"""Say in words what a search covered and what it skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolroll.text.lines import counted
from toolroll.text.names import show_name

DOCUMENT = "document"
"""Why a file was not searched: its text is not in its bytes."""


def sentence(searched: int, skipped: Mapping[str, int], elsewhere: Mapping[str, int], near: Sequence[str] = ()) -> str:
    """Such as "Searched 12 files; not searched: 3 ignored. There are more matches: 2 in ignored files." """
    parts = [f"Searched {counted(searched, 'file')}"]
    if passed := _counts(skipped):
        parts.append(f"; not searched: {passed}")
    parts.append(".")
    places = (f"{count} in {reason} files" for reason, count in sorted(elsewhere.items()) if count)
    if found := ", ".join(places):
        parts.append(f" There are more matches: {found}.")
    if skipped.get(DOCUMENT):
        parts.append(" Documents are searched where a glob names them, such as *.pdf.")
    if near:
        parts.append(f" Names like it: {', '.join(map(show_name, near))}.")
    return "".join(parts)


def _counts(skipped: Mapping[str, int]) -> str:
    said = {reason: f"{count} {reason}" for reason, count in sorted(skipped.items()) if count}
    if DOCUMENT in said:
        said[DOCUMENT] = counted(skipped[DOCUMENT], DOCUMENT)
    return ", ".join(said.values())
