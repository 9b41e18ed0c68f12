"""The user's settings of cargo for a private CARGO_HOME: where crates come from, without credentials."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolroll.host.network.credentials import Credential
from toolroll.host.runtime.launcher import is_beneath

_KEPT = ("source", "registries", "registry", "net")
_SECRET = re.compile(r"token|credential|proxy")
_MAX_BYTES = 1_000_000


def read_settings(environ: Mapping[str, str], workspace: Sequence[str]) -> dict[str, Any]:
    """What of the user's settings says where crates come from."""
    found = _read("config", environ, workspace)
    return {name: found[name] for name in _KEPT if isinstance(found.get(name), dict)}


def read_tokens(environ: Mapping[str, str], workspace: Sequence[str]) -> list[tuple[str, Credential]]:
    """The addresses of registries that cargo has a token for, and what it sends there."""
    secrets = _table(_read("credentials", environ, workspace), "registries")
    found = []
    for name, about in _table(_read("config", environ, workspace), "registries").items():
        variable = f"CARGO_REGISTRIES_{name.upper().replace('-', '_')}_TOKEN"
        token = environ.get(variable) or _table(secrets, name).get("token") or _table({"": about}, "").get("token")
        if isinstance(token, str) and isinstance(index := _table({"": about}, "").get("index"), str):
            found.append((index.removeprefix("sparse+"), Credential(token)))
    return found


def format_settings(settings: Mapping[str, Any], address: Callable[[str], str], path: tuple[str, ...] = ()) -> str:
    """The settings as cargo reads them, without credentials, and with `address` made of each text."""
    plain = {
        name: value for name, value in settings.items() if not isinstance(value, dict) and not _SECRET.search(name)
    }
    lines = [f"[{'.'.join(map(json.dumps, path))}]"] if plain and path else []
    for name, value in plain.items():
        if isinstance(value, str):
            lines.append(f"{json.dumps(name)} = {json.dumps(address(value))}")
        elif isinstance(value, (bool, int)):
            lines.append(f"{json.dumps(name)} = {json.dumps(value)}")
    tables = [
        format_settings(value, address, (*path, name)) for name, value in settings.items() if isinstance(value, dict)
    ]
    return "".join([*(f"{line}\n" for line in lines), *tables])


def _read(name: str, environ: Mapping[str, str], workspace: Sequence[str]) -> dict[str, Any]:
    home = environ.get("CARGO_HOME") or f"{environ.get('HOME', '')}/.cargo"
    for path in (f"{home}/{name}.toml", f"{home}/{name}"):
        try:
            with open(path, "rb") as file:
                there = os.readlink(f"/proc/self/fd/{file.fileno()}")
                if any(is_beneath(there, one) for one in workspace):
                    return {}
                return tomllib.loads(file.read(_MAX_BYTES).decode())
        except OSError:
            continue
        except ValueError:
            return {}
    return {}


def _table(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name)
    return found if isinstance(found, dict) else {}
