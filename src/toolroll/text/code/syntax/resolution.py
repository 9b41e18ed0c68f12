"""Guess by syntax which definition a use of a name belongs to: by imports, receivers, classes and files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from toolroll.text.code.syntax.model import HOLDERS, Tag, Tags
from toolroll.text.code.syntax.symbols import OWN_RECEIVERS, SymbolPlace

UNLIKELY, BY_NAME, LIKELY = 0, 1, 2
"""Scores: it is another symbol, only the name fits, and from here on something else speaks for it."""

_FAMILIES = {"javascript": "script", "typescript": "script", "tsx": "script", "svelte": "script", "cpp": "c"}
_PACKAGES = frozenset({"go", "java", "kotlin", "scala", "csharp", "swift"})  # a folder shares its names
_IMPLICIT_SELF = frozenset({"java", "kotlin", "scala", "csharp", "swift", "cpp", "ruby"})
_STRICT = frozenset({"python", "script", "go"})  # a bare name is defined in the file or package, or imported
_MAX_DECLARED = 512  # answers of a question about a whole text that is asked for each place in it
_WORD = re.compile(r"\w+")
_INDEX_FILES = frozenset({"__init__", "index", "mod", "lib"})


class DefinedSymbol(NamedTuple):
    """A definition and the file it is in."""

    path: str
    tag: Tag
    tags: Tags

    @property
    def owner(self) -> Tag | None:
        """The class that it is a member of."""
        last = self.tag.parent.rpartition(".")[2]
        holders = [one for one in self.tags.of(HOLDERS) if one.name == last]
        around = [one for one in holders if one.line <= self.tag.line <= one.end_line]
        if around or self.tag.kind == "method":
            return (around or holders or [self.tag._replace(name=last or self.tag.name)])[-1]
        return None


def family(language: str) -> str:
    """The group of languages whose files share their names."""
    return _FAMILIES.get(language, language)


def overrides(one: DefinedSymbol, other: DefinedSymbol) -> bool:
    """Whether the class of one member names that of the other as a base, or the other way round."""
    first, second = one.owner, other.owner
    if first is None or second is None or family(one.tags.language) != family(other.tags.language):
        return False
    bases = [
        (_WORD.findall(own.signature.partition(own.name)[2]), base.name)
        for own, base in ((first, second), (second, first))
    ]
    return first.name != second.name and any(name in words for words, name in bases)


def choose_definition(
    definitions: Sequence[DefinedSymbol], path: str, tags: Tags, text: str, place: SymbolPlace
) -> tuple[int | None, int]:
    """The definition that a use most likely belongs to, by its index, and the score; None if none fits."""
    scores = [judge(one, path, tags, text, place)[0] for one in definitions]
    best = max(scores, default=UNLIKELY)
    return (scores.index(best), best) if best > UNLIKELY else (None, UNLIKELY)


def judge(one: DefinedSymbol, path: str, tags: Tags, text: str, place: SymbolPlace) -> tuple[int, str]:
    """How likely a use in a file belongs to a definition, and why it is another symbol if it is."""
    if family(one.tags.language) != family(tags.language):
        return UNLIKELY, "another language"
    around = _local_scope(one)
    if around is not None:
        inside = path == one.path and around.line <= place.line <= around.end_line and place.receiver is None
        return (6, "") if inside else (UNLIKELY, f"outside {around.path}, which {one.tag.name} is local to")
    owner = one.owner
    if owner is not None:
        return _judge_member(one, owner.name, path, tags, text, place)
    return _judge_global(one, path, tags, place)


def _local_scope(one: DefinedSymbol) -> Tag | None:
    """The function that a definition is local to."""
    if one.owner is not None or not one.tag.parent:
        return None
    inside = (tag for tag in one.tags.of({"function", "method"}) if tag.path == one.tag.parent)
    return next((tag for tag in inside if tag.line <= one.tag.line <= tag.end_line), None)


def _judge_member(
    one: DefinedSymbol, owner: str, path: str, tags: Tags, text: str, place: SymbolPlace
) -> tuple[int, str]:
    before = place.receiver
    if before is None or before in OWN_RECEIVERS:
        if before is None and tags.language not in _IMPLICIT_SELF:
            within = path == one.path and one.owner is not None and one.owner.line <= place.line <= one.owner.end_line
            inner = within and place.kind in ("name", "decorator")
            return (LIKELY, "") if inner else (UNLIKELY, f"no member of {owner}: nothing stands before it")
        around = [tag for tag in tags.of(HOLDERS) if tag.line <= place.line <= tag.end_line]
        if any(tag.name == owner for tag in around):
            return 5, ""
        derived = any(owner in _WORD.findall(tag.signature) for tag in around)
        return (4, "") if derived else (UNLIKELY, f"outside {owner} and what is derived from it")
    last = before.rpartition(".")[2].removesuffix("()")
    if last == owner:
        return 5, ""
    if any(
        last in (*tag.name.split(".")[:1], *re.findall(r"\bas (\w+)", tag.signature)) for tag in tags.of({"import"})
    ):
        return UNLIKELY, f"{last} is imported"
    if _declares(text, last, owner):
        return 4, ""
    if path == one.path or _imports(one, path, tags):
        return 3, ""
    is_named = owner in text and re.search(rf"\b{re.escape(owner)}\b", text)
    return (LIKELY if is_named else BY_NAME), ""


@lru_cache(_MAX_DECLARED)
def _declares(text: str, variable: str, owner: str) -> bool:
    """Whether a variable is given this class: `x = Owner(`, `x: Owner`, `Owner *x`, `x := &Owner{`."""
    if not variable.isidentifier() or owner not in text:
        return False
    x, of = re.escape(variable), re.escape(owner)
    typed = rf"\b{x}\s*(?::=|=|:)\s*(?:new\s+|await\s+|&)*[\"'*]?(?:\w+[.:]+)*{of}\b|\b{x}\s+[*&]*(?:\w+\.)*{of}\b"
    return re.search(rf"{typed}|\b{of}(?:<[^<>]*>)?[\s*&]+{x}\b", text) is not None


def _judge_global(one: DefinedSymbol, path: str, tags: Tags, place: SymbolPlace) -> tuple[int, str]:
    kind, before = family(tags.language), place.receiver
    if before is not None and place.kind != "import":
        if before in OWN_RECEIVERS:
            return UNLIKELY, f"a member of {before}"
        if _names_module(one, before, tags):
            return 5, ""
        return (UNLIKELY, f"{before} is not its module") if kind in _STRICT - {"script"} else (BY_NAME, "")
    if path == one.path:
        return 5, ""
    if kind == "c":
        static = one.tag.signature.startswith("static ") and not one.path.endswith((".h", ".hpp"))
        return (UNLIKELY, f"static in {one.path}") if static else (3, "")
    if _imports(one, path, tags):
        return 4, ""
    if tags.language in _PACKAGES and _folder(path) == _folder(one.path):
        return 4, ""
    return (UNLIKELY, f"{path} does not import it") if kind in _STRICT else (BY_NAME, "")


def _imports(one: DefinedSymbol, path: str, tags: Tags) -> bool:
    """Whether a file imports from the module of a definition."""
    names = _module_names(one.path)
    relative = _folder(path) == _folder(one.path)
    for tag in tags.of({"import"}):
        words = _WORD.findall(tag.name)
        if (words and words[-1] in names) or (relative and tag.name in (".", "./")):
            return True
        if tags.language == "python" and names & set(_WORD.findall(tag.signature)):
            return True
    # A package hands on what its modules define.
    package = _folder(one.path).rpartition("/")[2]
    return bool(package) and any(_WORD.findall(tag.name)[-1:] == [package] for tag in tags.of({"import"}))


def _names_module(one: DefinedSymbol, before: str, tags: Tags) -> bool:
    """Whether a receiver is the module of a definition, by its name or by an alias."""
    last, names = before.rpartition(".")[2], _module_names(one.path)
    if family(tags.language) == "go":
        names |= {_folder(one.path).rpartition("/")[2]}
    if last in names:
        return True
    aliases = (tag for tag in tags.of({"import"}) if last in _WORD.findall(tag.signature))
    return any(names & set(_WORD.findall(tag.signature)) for tag in aliases)


def _module_names(path: str) -> set[str]:
    """The names by which a file is imported."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    above = folder.rpartition("/")[2]
    return {above or stem} if stem in _INDEX_FILES or path.endswith(".go") else {stem}


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
