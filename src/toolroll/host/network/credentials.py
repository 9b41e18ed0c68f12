"""Credentials of hosts: which header a request to a host gets, outside the sandbox, where no command sees it."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolroll.host.runtime.launcher import is_beneath

_MAX_BYTES = 64_000
_SCHEMES = ("basic ", "bearer ", "token ")


@dataclass(frozen=True, slots=True)
class Credential:
    """The value of the header Authorization for the requests of a scope (`policy.network.parse_scope`)."""

    header: str
    problem: str = ""  # why there is none, in words


def basic(login: str) -> Credential:
    """The credential of a user and a password, with a colon between them."""
    return Credential("Basic " + base64.b64encode(login.encode()).decode())


def read_credentials(
    sources: Mapping[str, str], environ: Mapping[str, str], workspace: Sequence[str]
) -> dict[str, Credential]:
    """The credentials by scope, as the setting `credentials` names them: `env:NAME` or `file:PATH`."""
    return {scope: _read(source, environ, workspace) for scope, source in sources.items()}


def _read(source: str, environ: Mapping[str, str], workspace: Sequence[str]) -> Credential:
    kind, _, where = source.partition(":")
    if kind == "env":
        secret, problem = environ.get(where, ""), f"the variable {where} with its credential is not set"
    else:
        secret, problem = _read_file(where, environ, workspace)
    secret = secret.strip()
    if not secret or not secret.isprintable() or not secret.isascii():
        return Credential("", problem)
    if secret.lower().startswith(_SCHEMES):
        return Credential(secret)
    return basic(secret) if ":" in secret else Credential(f"Bearer {secret}")


def _read_file(path: str, environ: Mapping[str, str], workspace: Sequence[str]) -> tuple[str, str]:
    """The text of a file, and what is wrong if there is none."""
    if path.startswith("~/"):
        path = environ.get("HOME", "") + path[1:]
    try:
        with open(path, "rb") as file:
            there = os.readlink(f"/proc/self/fd/{file.fileno()}")
            if any(is_beneath(there, one) for one in workspace):
                return "", f"the file {path!r} with its credential is in the workspace, where commands read it"
            return file.read(_MAX_BYTES).decode("utf-8", "replace"), f"the file {path!r} holds no credential"
    except OSError as error:
        return "", f"the file {path!r} with its credential cannot be read: {error.strerror}"
