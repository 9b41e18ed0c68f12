"""Redact secrets from texts such as transcripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from toolroll.policy.secrets import is_literal, is_secret

HIDDEN = "[redacted]"
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)[\w.~+/=-]{8,}")
# A name and its value: NAME=value, "name": "value", name: value.
_PAIR = re.compile(
    r"""(?P<name>[A-Za-z_][\w-]{1,60})(?P<between>\\?["']?\s{0,4}[=:]\s{0,4}\\?["']?)(?P<value>[^\s"'\\,;]{6,})"""
)
_WORD = re.compile(r"[^\s\"'\\`<>(){}\[\],;]{12,}")
_SCHEMES = ("bearer", "basic")
_MIN_CHARACTERS = 8  # characters; a shorter value is found everywhere
_CHUNK_CHARACTERS, _OVERLAP_CHARACTERS = 30_000, 2_000  # characters; about as much as can be judged at once


class Redaction:
    """Hides secrets: the values of this environment that are some, and all that looks like one."""

    def __init__(self, environment: Mapping[str, str], also: Iterable[str] = ()) -> None:
        values = {value for name, value in environment.items() if is_secret(name, value)} | set(also)
        self._values = sorted((one for one in values if len(one) >= _MIN_CHARACTERS), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, HIDDEN)
        parts = [
            text[at : at + _CHUNK_CHARACTERS + _OVERLAP_CHARACTERS] for at in range(0, len(text), _CHUNK_CHARACTERS)
        ]
        if not any(is_secret("", part) for part in parts) and _PAIR.search(text) is None:
            return text
        text = _PRIVATE_KEY.sub(HIDDEN, text)
        text = _BEARER.sub(rf"\1\2{HIDDEN}", text)
        text = _PAIR.sub(_pair, text)
        return _WORD.sub(_word, text)


def _pair(match: re.Match[str]) -> str:
    name, between, value = match["name"], match["between"], match["value"]
    if value.startswith(HIDDEN) or value.lower() in _SCHEMES or not (is_literal(value) and is_secret(name, value)):
        return match[0]
    return f"{name}{between}{HIDDEN}"


def _word(match: re.Match[str]) -> str:
    word = match[0]
    return word if word.endswith((":", "=")) or not is_secret("", word) else HIDDEN
