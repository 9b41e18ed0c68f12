"""Notice that one remembered fact takes the place of another: the same sentence with another value."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_WORD = re.compile(r"[\w.:/%$€@+-]*\w|[^\w\s]")
_NEGATIONS = frozenset({"not", "never", "no", "without", "cannot", "longer"})
_MIN_SHARED = 2  # words that both must begin with, at least: who or what they speak of
_MAX_VALUE = 6  # words of a value
_MAX_UNIT = 1  # words behind a number that is a value
_MAX_WORDS = 60


def contradicts(old: str, new: str) -> bool:
    """Whether two sentences say different things of one subject.

    That is sure only where they differ in one place: in their ends, in a number with at most its unit behind it, or in
    a negation. Two subjects of which the same is said do not contradict each other.
    """
    before, after = _words(old), _words(new)
    if before == after or not before or max(len(before), len(after)) > _MAX_WORDS:
        return False
    changed = [one for one in SequenceMatcher(None, before, after, autojunk=False).get_opcodes() if one[0] != "equal"]
    removed = [word for _, start, end, _, _ in changed for word in before[start:end]]
    added = [word for _, _, _, start, end in changed for word in after[start:end]]
    if removed != added and _NEGATIONS.issuperset((*removed, *added)):
        return True
    if len(changed) != 1:
        return False
    kind, start, end, _, _ = changed[0]
    rest = len(before) - end
    if kind != "replace" or start < _MIN_SHARED or max(len(removed), len(added)) > _MAX_VALUE:
        return False
    return not rest or (rest <= _MAX_UNIT and all(word[0].isdigit() for word in (*removed, *added)))


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold().replace("n't", " not")) if word not in ".,;!?'\"`"]
