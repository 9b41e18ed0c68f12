"""Find in a program's output what the system denied it: a host, a socket, a file, a call of the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

DenialKind = Literal["host", "socket", "file", "missing", "call"]

_MAX_LINES = 400  # from the end: a program says there why it gives up
_NO = r"(?:permission denied|read-only file system|operation not permitted)"
_MISSING = "no such file or directory"
_OPEN, _CLOSE = "['\u2018]", "['\u2019]"
# A pattern that has a group names what was denied.
_ROWS: tuple[tuple[DenialKind, str], ...] = (
    ("host", r"could not resolve host(?:name)?:? \W?([\w.-]+)"),
    ("host", r"getaddrinfo (?:ENOTFOUND|EAI_AGAIN) ([\w.-]+)"),
    ("host", r"\bdial \w+: lookup ([\w.-]+)"),
    ("host", r"host='([\w.-]+)', port=\d+\): Max retries"),
    ("host", r"failed to lookup address|temporary failure in name resolution|name or service not known"),
    ("host", r"network is unreachable|ENETUNREACH"),
    ("socket", r"\b(?:connect|listen|bind|socket|dial)\b.{0,80}(?:EPERM|operation not permitted)"),
    ("call", rf"\b(ptrace|unshare|chroot|setns|bpf|perf_event_open|keyctl|mount)\b.*{_NO}"),
    ("call", r"(?:the )?.no new privileges. flag is set"),
    ("file", r"\[Errno (?:1|13|30)\] [^:]+: ['\"]([^'\"]+)['\"]"),
    ("file", r"\b(?:EACCES|EROFS|EPERM): [^,]+, \w+ '([^']+)'"),
    ("file", rf"\b(?:open|mkdir|rename|remove|unlink|stat|create|chmod) (/[^\s:]+): {_NO}"),
    ("file", rf"(/[^\s:]+) \({_NO}\)"),
    ("file", rf"{_OPEN}([^'\u2019]+){_CLOSE}: {_NO}$"),
    ("file", rf": ([^:'\u2019]+): {_NO}$"),
    ("missing", r"\[Errno 2\] [^:]+: ['\"](/[^'\"]+)['\"]"),
    ("missing", r"\bENOENT: [^,]+, \w+ '(/[^']+)'"),
    ("missing", rf"{_OPEN}(/[^'\u2019]+){_CLOSE}: {_MISSING}$"),
    ("missing", rf": (/[^:'\u2019]+): {_MISSING}$"),
)
_PATTERNS = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _ROWS]
_ANY = re.compile(
    rf"{_NO}|{_MISSING}|resolve host|getaddrinfo|lookup|max retries|name resolution|not known|unreach|no new priv"
    r"|E(?:PERM|ACCES|ROFS|NOENT)",
    re.IGNORECASE,
)
_BARE = re.compile(r"PermissionError: \[Errno 1\] Operation not permitted\s*$")
_SOCKET_CODE = re.compile(r"\bsocket\b")


@dataclass(frozen=True, slots=True)
class Denial:
    """What was denied, and the host, path or call that it was about, where the output names it."""

    kind: DenialKind
    target: str = ""


def find_denials(output: str) -> Iterator[Denial]:
    """The denials that an output tells of, the last first."""
    lines = output.splitlines()[-_MAX_LINES:]
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at].rstrip()
        if not _ANY.search(line):
            continue
        if _BARE.search(line):  # Python names no path for a socket, but shows the code
            if any(map(_SOCKET_CODE.search, lines[max(0, at - 4) : at])):
                yield Denial("socket")
            continue
        for kind, pattern in _PATTERNS:
            if found := pattern.search(line):
                yield Denial(kind, found[1] if pattern.groups and found[1] else "")
                break
