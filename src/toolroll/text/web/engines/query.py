"""Check a web search before an engine is chosen."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from toolroll.result import ErrorCode, ToolError
from toolroll.text.web.engines.engines import Safe, Within

_MOST_CHARS = 400  # what the strictest engine takes
_MOST_TERMS = 20
_NO_TEXT = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{2}))?")
_SITE = re.compile(r"(?:https?://)?(?:\*\.)?((?:[\w-]{1,63}\.)+[\w-]{2,63})(/[^\s\"?#]{0,200})?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WebQuery:
    """A search. Make one with `prepare`, which checks it."""

    words: str
    limit: int = 10
    safe: Safe = "moderate"
    language: str = ""
    """Such as "en"; empty for any."""
    region: str = ""
    """Such as "GB", when the language came with one."""
    within: Within | None = None
    site: str = ""
    """A host, perhaps with a path."""
    exclude: tuple[str, ...] = ()
    today: str = ""
    """For engines that want dates; as 2025-01-31. The caller of the engine sets it."""

    @property
    def host(self) -> str:
        return self.site.partition("/")[0]

    def text(self, *, site: bool = True) -> str:
        """The words, with those filters that the engine reads from among them."""
        words = [self.words]
        if site and self.site:
            words.append(f"site:{self.site}")
        return " ".join([*words, *(f'-"{term}"' if " " in term else f"-{term}" for term in self.exclude)])


def prepare(
    words: str,
    *,
    limit: int = 10,
    safe: Safe = "moderate",
    language: str | None = None,
    within: Within | None = None,
    site: str | None = None,
    exclude: Sequence[str] = (),
) -> WebQuery:
    """A search that can be sent; ToolError for what cannot."""
    plain = _plain(words)
    if not plain:
        raise _wrong("The `query` is empty. Say what to search for.")
    tongue, region = _language(language or "")
    query = WebQuery(plain, limit, safe, tongue, region, within, _site(site or ""), _terms(exclude))
    if len(query.text()) > _MOST_CHARS:
        raise _wrong(
            f"The search has {len(query.text())} characters, engines take {_MOST_CHARS}. "
            "Use the few words that matter most."
        )
    return query


def is_within(url: str, domains: Collection[str], not_domains: Collection[str]) -> bool:
    """Whether a URL is of one of the domains, or of a part of one, if there are any, and of none of the others."""
    host = (urlsplit(url).hostname or "").lower()
    parts = {host[at:] for at, before in enumerate("." + host) if before == "."}
    wanted, unwanted = ({one.lower().strip(".") for one in some} for some in (domains, not_domains))
    return (not wanted or not parts.isdisjoint(wanted)) and parts.isdisjoint(unwanted)


def _plain(text: str) -> str:
    return _NO_TEXT.sub(" ", text).strip()


def _language(text: str) -> tuple[str, str]:
    if not text.strip():
        return "", ""
    found = _LANGUAGE.fullmatch(text.strip())
    if found is None:
        raise _wrong(f"`language` {text!r} is not a code of a language. Use one such as 'en' or 'pt-BR'.")
    return found[1].lower(), (found[2] or "").upper()


def _site(text: str) -> str:
    if not text.strip():
        return ""
    found = _SITE.fullmatch(text.strip())
    if found is None:
        raise _wrong(f"`site` {text!r} is not a site. Use a host such as 'docs.python.org', perhaps with a path.")
    return f"{found[1].lower()}{(found[2] or '').rstrip('/')}"


def _terms(given: Iterable[str]) -> tuple[str, ...]:
    plain = (_plain(term.replace('"', " ")).lstrip("-+ ") for term in given)
    terms = tuple(dict.fromkeys(term for term in plain if term))
    if len(terms) > _MOST_TERMS:
        raise _wrong(f"`exclude` has {len(terms)} terms, the limit is {_MOST_TERMS}. Leave some out.")
    return terms


def _wrong(message: str) -> ToolError:
    return ToolError(ErrorCode.VALIDATION, message)
