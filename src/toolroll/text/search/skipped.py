"""Say in words what a search covered and what it skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolroll.text.lines import counted
from toolroll.text.names import show_name


def sentence(searched: int, skipped: Mapping[str, int], elsewhere: Mapping[str, int], near: Sequence[str] = ()) -> str:
    """Such as "Searched 12 files; not searched: 3 ignored. There are more matches: 2 in ignored files." """
    parts = [f"Searched {counted(searched, 'file')}"]
    if passed := _counts(skipped):
        parts.append(f"; not searched: {passed}")
    parts.append(".")
    places = (f"{count} in {reason} files" for reason, count in sorted(elsewhere.items()) if count)
    if found := ", ".join(places):
        parts.append(f" There are more matches: {found}.")
    if near:
        parts.append(f" Names like it: {', '.join(map(show_name, near))}.")
    return "".join(parts)


def _counts(skipped: Mapping[str, int]) -> str:
    return ", ".join(f"{skipped[reason]} {reason}" for reason in sorted(skipped) if skipped[reason])
