"""Parse, clean, filter and merge the results of all engines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolroll.text import terminal
from toolroll.text.web.engines.engines import Hit
from toolroll.text.web.engines.query import WebQuery

_TITLE = 300
_SNIPPET = 700
_DATE = 40
# How engines mark the words that were searched for, and what they write for characters that mean something in HTML.
_MARKED = re.compile(r"<(b|strong|em|mark)(?: [^<>]{0,100})?>([^<>]*)</\1>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:[a-z]{2,8}|#\d{1,6}|#x[\da-f]{1,5});", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>\"\\^`{|}\x00-\x20\x7f]{1,2000}", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?=$|[T ])")
_PARTS = re.compile(r"https?://(?:[^/?#]*@)?([^/?#:@]*)(?::\d*)?((?:[/?#].*)?)", re.IGNORECASE)
_SAME = re.compile(r"https?://(?:www\.)?([^#]*?)/?(?:#.*)?", re.IGNORECASE)
_RANK = 60  # how much less a place further down counts, as is usual when ranks are merged


class UnreadableError(ValueError):
    """The answer cannot be parsed; the message completes "because ..."."""


class BlockedError(ValueError):
    """The engine refuses programs, perhaps only for now; the message is a sentence."""


def parse_object(body: str) -> dict[str, Any]:
    """The object that a JSON answer holds; UnreadableError when it is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise UnreadableError("it is not JSON") from None
    if not isinstance(found, dict):
        raise UnreadableError("it is not a JSON object")
    return found


def parse_rows(
    found: Mapping[str, Any], name: str, *, title: str = "title", url: str = "url", snippet: str, date: str = ""
) -> list[Hit]:
    """The results in a list of objects, whose keys are named; UnreadableError when there is no such list.

    A row without an address is passed over, unless none has one.
    """
    listed = found.get(name)
    if not isinstance(listed, list):
        raise UnreadableError(f"its {name!r} is not a list")
    made = (_hit(row, title, url, snippet, date) for row in listed)
    hits = [one for one in made if one is not None]
    if listed and not hits:
        raise UnreadableError(f"nothing in its {name!r} has an address")
    return hits


def _hit(row: object, title: str, url: str, snippet: str, date: str) -> Hit | None:
    if not isinstance(row, dict):
        return None
    return make_hit(_plain(row.get(title)), row.get(url), _plain(row.get(snippet)), row.get(date))


def _plain(text: object) -> str:
    """A text as it is read, when an engine sends it as HTML."""
    if not isinstance(text, str):
        return ""
    from html import unescape

    return _ENTITY.sub(lambda found: unescape(found[0]), _MARKED.sub(r"\2", text[: 20 * _SNIPPET]))


def make_hit(title: object, url: object, snippet: object = "", date: object = None) -> Hit | None:
    """A tidy result; None when it has no address that could be fetched."""
    where = url.strip().replace(" ", "%20") if isinstance(url, str) else ""
    if not _URL.fullmatch(where):
        return None
    return Hit(_tidy(title, _TITLE) or where, where, _tidy(snippet, _SNIPPET), _date(date))


def _tidy(text: object, most: int) -> str:
    if not isinstance(text, str):
        return ""
    line = terminal.clean(" ".join(text[: 20 * most].split()).encode("utf-8", "replace"))
    return line if len(line) <= most else f"{line[: most - 3].rstrip()}..."


def _date(text: object) -> str | None:
    line = _tidy(text, _DATE)
    day = _DAY.match(line)
    return day[0] if day else line or None


def filter_hits(hits: Iterable[Hit], query: WebQuery) -> list[Hit]:
    """The results that keep to the search's site and excluded terms, each address once, in order."""
    found: dict[str, Hit] = {}
    terms = [re.compile(rf"(?<!\w){re.escape(term)}(?!\w)", re.IGNORECASE) for term in query.exclude]
    for hit in hits:
        if any(term.search(part) for term in terms for part in (hit.title, hit.snippet)):
            continue
        if not query.site or _is_on(hit.url, query.site):
            found.setdefault(_same(hit.url), hit)
    return list(found.values())


def _is_on(url: str, site: str) -> bool:
    host, _, path = site.partition("/")
    parts = _PARTS.fullmatch(url)
    if parts is None:
        return False
    name, rest = parts[1].lower(), parts[2].removeprefix("/")
    inside = not path or rest == path or rest.startswith((f"{path}/", f"{path}?", f"{path}#"))
    return (name == host or name.endswith(f".{host}")) and inside


def merge_hits(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The results of several engines, the better the more of them place it high."""
    scores: dict[str, float] = {}
    found: dict[str, Hit] = {}
    for hits in lists:
        for place, hit in enumerate(hits, 1):
            key = _same(hit.url)
            scores[key] = scores.get(key, 0) + 1 / (_RANK + place)
            found[key] = _both(found[key], hit) if key in found else hit
    return [found[key] for key in sorted(found, key=lambda key: -scores[key])]


def _both(first: Hit, other: Hit) -> Hit:
    """One result that two engines found: what the first says, and what only the other knows."""
    return replace(
        first,
        snippet=first.snippet or other.snippet,
        date=first.date or other.date,
        engine=f"{first.engine}, {other.engine}",
    )


def _same(url: str) -> str:
    """What two addresses of one page have in common."""
    found = _SAME.fullmatch(url)
    host, slash, path = (found[1] if found else url).partition("/")
    return f"{host.lower()}{slash}{path}"
