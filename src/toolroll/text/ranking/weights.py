"""What counts how much when files are ranked: the only place with such numbers.

Chosen on 957 questions with known answers (changes of Emacs and coreutils, release notes of Django), then on 303
commits of twelve other projects, each asked of the tree before the change; those of history and of words within
names on 681 changes of fifteen projects with a ChangeLog, and what counts as much as the first line on 675 of these
fifteen. Within a third of these values the hits stay the same to a point or two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

KINDS: Mapping[str, float] = {
    **dict.fromkeys(("class", "interface", "struct", "enum", "trait", "function"), 1.0),
    **dict.fromkeys(("type", "method", "module"), 0.8),
    **dict.fromkeys(("heading", "constant"), 0.4),
    **dict.fromkeys(("variable", "key", "rule", "element"), 0.3),
}
"""Of two definitions that answer alike, which to show."""

USED: Mapping[str, int] = {"import": 8, "inherit": 8, "decorator": 4, "type": 4, "call": 1}
"""How sure a use of a name is one of the definition that is known by it."""

_STOP = """
a about after all also an and any are as at be because been before being both but by can cannot could did do does
doing don during each either else etc even ever few for from further get gets getting got had has have having he
her here him his how however i if in instead into is it its itself just let ll made make makes making may me might
more most must my no nor not now of off on once only or other our out over own per please re s same she should since
so some still such t than that the their them then there these they this those through to too under until up upon us
use used uses using ve very via was we were what when where whether which while who whom why will with within
without would yet you your
add added adding adds allow allowed allows bug bugs change changed changes crash ensure ensured ensures error fix
fixed fixes fixing improve improved improves issue issues prevent prevented prevents problem ref refactor refactored
refs regression remove removed removes removing rename renamed support supported supports ticket update updated
updates wrong
"""
STOP = frozenset(_STOP.split())
"""Words of a question that tell nothing of where: those of any sentence, and those of any change."""


_CHORES = "all build chore ci cleanup doc docs feat fix maint misc perf refactor revert style test tests tweaks"
CHORES = frozenset(_CHORES.split())
"""What messages begin with, before a colon, that tells the kind of a change and not where it is."""


class Aside(NamedTuple):
    """Files that say much and do little: what is left of their score, unless the question has one of the words."""

    left: float
    unless: frozenset[str]
    pattern: str
    """In their paths, in lower case."""
    contents: bool = True
    """False if nothing that they say is ever meant: they are known by their paths alone."""
    code: bool = False
    """True if they are part of the program all the same."""


ASIDE = (
    Aside(
        0.3,
        frozenset({"changelog", "news", "license", "authors"}),
        r"(^|/)(changelog|changes|history|news|authors|license|copying)[^/]*$",
    ),
    Aside(
        0.3,
        frozenset({"translation", "lock", "svg", "csv"}),
        r"\.(min\.(js|css)|lock|po|pot|svg|csv|tsv|snap|map)$|(^|/)(package-lock\.json|pnpm-lock\.yaml|go\.sum)$",
        contents=False,
    ),
    Aside(
        0.3,
        frozenset({"vendor", "vendored", "generated", "locale"}),
        r"(^|/)(vendor|vendored|third[_-]?party|node_modules|site-packages|deps|external|dist|generated|locale)/"
        r"|_pb2(_grpc)?\.pyi?$|\.pb\.\w+$|[._]gen(erated)?\.\w+$|(^|/)zz_generated",
    ),
    Aside(
        0.5,
        frozenset({"doc", "docs", "documentation", "readme", "example", "examples", "man", "manual"}),
        r"(^|/)(docs?|documentation|examples?|samples?|man|man-pages)/|(^|/)readme[^/]*$|\.(md|rst|txt|adoc|texi|[1-9])$",
    ),
    Aside(
        0.5,
        frozenset({"test", "tests", "testing", "fixture", "fixtures", "spec", "specs"}),
        r"(^|/)(t|tests?|testing|testsuite|specs?|__tests__|testdata|fixtures)/|(^|/)(test[_-]|conftest\.)"
        r"|[_.-](test|tests|spec)\.|\.test$",
    ),
    Aside(
        0.8,
        frozenset({"header", "headers", "prototype", "prototypes", "declaration", "declarations"}),
        r"\.(h|hh|hpp|hxx|pyi|d\.ts)$",
        code=True,
    ),
)
"""The first that fits a path counts."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The shares of what is known of a file in its score for a question."""

    contents: float = 1.0
    names: float = 0.4
    path: float = 1.0
    glued: float = 1.0
    """For words within those of the name of a file."""
    history: float = 0.5
    """For files whose past changes, all together, were spoken of in such words."""
    alike: float = 0.25
    """For the files of the past changes that were spoken of most alike."""
    popularity: float = 0.05
    """For files that change often, by the logarithm of how often."""
    graph: float = 0.1
    """Of the best score, for files that the best ones depend on."""
    mention: float = 1.0
    """Of the best score, for files that the question names by their path."""
    title: float = 2.5
    """The first line of a question, when it has several; and names of the program, such as `parse_url`, below it."""
    area: float = 2.5
    """For the path: what the first line names before a colon, as messages of changes do."""
    form: float = 0.3
    """Another form of a word, such as the plural."""
    aside: bool = True
    """Whether files that say much and do little count for less."""


WEIGHTS = Weights()


@lru_cache(1 << 16)
def find_aside(path: str) -> int | None:
    """Which row of ASIDE a file belongs to; None for one that counts in full."""
    lower = path.lower()
    return next((at for at, pattern in enumerate(_patterns()) if pattern.search(lower)), None)


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(row.pattern) for row in ASIDE)
