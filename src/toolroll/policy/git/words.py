"""Parse the words of a git command as git does: options, their values, names, paths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

_COUNT = re.compile(r"-[0-9]+")


@dataclass(frozen=True, slots=True)
class GitOption:
    """One option: the names it may stand for (git takes any beginning of a long one), and its value."""

    names: tuple[str, ...]
    value: str | None = None
    is_path: bool = False
    apart: bool = False
    """The value is the word behind it."""


@dataclass(slots=True)
class GitWords:
    """A command behind its verb."""

    options: list[GitOption] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    """What stands behind `--`: never an option, never a revision."""

    def has(self, wanted: frozenset[str]) -> GitOption | None:
        """The first option that is, or that may be short for, one of these."""
        return next((one for one in self.options if not wanted.isdisjoint(one.names)), None)


@dataclass(frozen=True, slots=True)
class GitOptionSpec:
    """The options of a verb: name to kind. A kind is a flag (""), ":" with a value, "@" with a path, "?" with a
    value that only counts when attached."""

    kinds: dict[str, str]
    changing: frozenset[str]
    """Options that make a verb which otherwise reads do more."""
    counts: bool
    """Whether a number alone is an option, as in `log -5`."""

    @property
    def safe(self) -> frozenset[str]:
        return frozenset(self.kinds) - self.changing

    def resolve(self, name: str, more: frozenset[str]) -> tuple[str, ...]:
        if name in self.kinds or name in more:
            return (name,)
        found = [one for one in (*self.kinds, *more) if one.startswith(name)]
        return tuple(dict.fromkeys(found)) or (name,)


@lru_cache(maxsize=256)
def parse_option_spec(text: str) -> GitOptionSpec:
    """The options written as in `verbs.py`: `n: L: M? -q --output@ --force!`, and `#` for numbers."""
    kinds: dict[str, str] = {}
    changing: set[str] = set()
    for word in text.split():
        name = word.rstrip(":?@!")
        kind = word[len(name) :]
        name = name if name.startswith("-") else f"-{name}"
        kinds[name] = kind.rstrip("!")
        if kind.endswith("!"):
            changing.add(name)
    counts = kinds.pop("-#", None) is not None
    return GitOptionSpec(kinds, frozenset(changing), counts)


def split_words(argv: Sequence[str], known: GitOptionSpec, more: frozenset[str]) -> GitWords:
    """The words behind a verb. `more` are long options that some rule speaks of."""
    words, rest = GitWords(), iter(argv)
    for word in rest:
        if word == "--":
            words.paths = list(rest)
        elif word == "--end-of-options":
            words.names += rest
        elif word.startswith("--"):
            words.options.append(_long(word, rest, known, more))
        elif known.counts and _COUNT.fullmatch(word):
            continue
        elif word.startswith("-") and len(word) > 1:
            words.options += _short(word[1:], rest, known)
        else:
            words.names.append(word)
    return words


def _long(word: str, rest: Iterator[str], known: GitOptionSpec, more: frozenset[str]) -> GitOption:
    given, equals, attached = word.partition("=")
    names = known.resolve(given, more)
    kind = known.kinds.get(names[0], "") if len(names) == 1 else ""
    if equals and kind == "?" and attached in ("false", "no", "never"):
        return GitOption((f"--no-{given[2:]}",))
    apart = not equals and kind in (":", "@")
    value = next(rest, None) if apart else attached if equals else None
    return GitOption(names, value, kind == "@", apart)


def _short(letters: str, rest: Iterator[str], known: GitOptionSpec) -> list[GitOption]:
    """`-qf` is two options, `-mtext` and `-m text` are one."""
    found: list[GitOption] = []
    for at, letter in enumerate(letters, 1):
        name = f"-{letter}"
        kind = known.kinds.get(name, "")
        if kind == "":
            found.append(GitOption((name,)))
            continue
        apart = at == len(letters) and kind != "?"
        value = next(rest, None) if apart else letters[at:] or None
        return [*found, GitOption((name,), value, kind == "@", apart)]
    return found
