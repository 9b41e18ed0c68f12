"""Decide which requests could carry a secret out, after one was read."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, unquote_plus

from toolroll.policy.secrets import is_secret_name, secret_values

LOOKING = frozenset({"GET", "HEAD"})
"""Methods that ask a server for something and change nothing there."""
MAX_CARRIED_CHARACTERS = 300
"""Characters of a path, a query and headers that a request may have after a secret was read."""

_MIN_VALUE_CHARACTERS = 6  # characters of a value; a shorter one is found everywhere
_MAX_TEXT_CHARACTERS = 100_000  # characters of one argument that are looked through
_PLACE = re.compile(r"[\w./~@+-]+")
_LONG = re.compile(r"[A-Za-z0-9+/_=-]{20,}")


def secret_file(paths: Iterable[str]) -> str:
    """The first of these paths that is a file of secrets by its name; empty if none is."""
    return next((path for path in paths if is_secret_name(path)), "")


def secret_file_in(arguments: Any) -> str:
    """The first file of secrets that a command, or another text among the arguments of a call, speaks of."""
    for text in _texts(arguments):
        # A word alone, such as `credentials`, is more often prose than a file.
        words = (one.strip(".-") if one.endswith(".") else one for one in _PLACE.findall(text[:_MAX_TEXT_CHARACTERS]))
        if found := secret_file(word for word in words if any(sign in word for sign in "./_")):
            return found
    return ""


def values_in(text: str) -> set[str]:
    """The parts of a text with secrets that must not be seen in an address."""
    return {one for one in (*secret_values(text), *_LONG.findall(text)) if len(one) >= _MIN_VALUE_CHARACTERS}


def objection(method: str, url: str, headers: Mapping[str, str], *, body: bool, values: Iterable[str]) -> str:
    """What of a request could carry a secret; empty if nothing can."""
    if method not in LOOKING or body:
        return f"a {method} request can carry it"
    return objection_to_text(f"{url.partition('//')[2]} {' '.join(headers.values())}", values)


def objection_to_text(text: str, values: Iterable[str]) -> str:
    """What of a text that is sent could carry a secret; empty if nothing can."""
    if carries(text, values):
        return "this one holds it"
    if len(text) > MAX_CARRIED_CHARACTERS:
        return f"this one has {len(text)} characters of address and headers, which could hold it"
    return ""


def carries(text: str, values: Iterable[str]) -> bool:
    """Whether a text holds one of the values: as it is, percent-encoded, in base64 or in hexadecimal."""
    seen = "\n".join((text, unquote(text), unquote_plus(text))).lower()
    return any(form in seen for value in values for form in _forms(value))


def _forms(value: str) -> Iterator[str]:
    data = value.encode("utf-8", "replace")
    yield value.lower()
    yield data.hex()
    for before in range(3):  # in base64 what stands before shifts all that follows; the ends depend on neighbours
        whole = b64encode(b"\0" * before + data).decode().rstrip("=").lower()
        part = whole[2 * before : -1] if before else whole[:-1]
        if len(part) >= _MIN_VALUE_CHARACTERS:
            yield part
            yield part.replace("+", "-").replace("/", "_")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
