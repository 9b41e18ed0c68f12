"""Set one entry in a settings file of another program, and change nothing else."""

from __future__ import annotations

import json
import os
import re
import time
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

_MAX_LINKS = 40  # as the kernel
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def merge_json(before: str, key: str, name: str, value: dict[str, Any]) -> str:
    """The JSON text with `key.name` set; ValueError when it is not a JSON object or `key` is not one."""
    found = _json(before) if before.strip() else {}
    table = found.setdefault(key, {})
    if not isinstance(table, dict):
        raise ValueError(f"{key!r} in it is no object")
    table[name] = value
    return json.dumps(found, indent=_indent(before), ensure_ascii=False, allow_nan=False) + "\n"


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise ValueError(f"it is not plain JSON ({error}); comments would be lost") from None
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return found


def _indent(text: str) -> int | str:
    """The indentation of the file: the blanks before its first key."""
    second = text.partition("\n")[2]
    blanks = second[: len(second) - len(second.lstrip(" \t"))]
    return "\t" if blanks.startswith("\t") else len(blanks) or 2


def merge_toml(before: str, key: str, name: str, value: dict[str, Any]) -> str:
    """The TOML text with the table `key.name` set; all other lines stay. ValueError as for JSON."""
    known = _toml(before)
    kept = "".join(_without(before, f"{key}.{name}"))
    body = "".join(f"{word} = {json.dumps(one, ensure_ascii=False)}\n" for word, one in value.items())
    after = f"{kept.rstrip()}\n\n[{key}.{_toml_key(name)}]\n{body}".lstrip()
    table = known.get(key, {})
    if not isinstance(table, dict) or _toml(after) != {**known, key: {**table, name: value}}:
        raise ValueError(f"its {key!r} is written in a way that cannot be added to")
    return after


def _toml_key(name: str) -> str:
    """A name as a TOML key, quoted if needed."""
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is not valid TOML ({error})") from None


def _without(text: str, table: str) -> Iterator[str]:
    """The lines outside this table and its subtables."""
    inside = False
    for line in text.splitlines(keepends=True):
        header = line.strip()
        if header.startswith("["):
            title = header.strip("[]").split("]")[0].replace('"', "").strip()
            inside = title == table or title.startswith(f"{table}.")
        if not inside:
            yield line


def rewrite(path: str, merge: Callable[[str], str]) -> str | None:
    """Replace a file atomically by `merge` of its text; returns the backup of a file that changed."""
    real = _follow_links(path)
    try:
        with open(real, "rb") as file:
            data = file.read()
        mode = os.stat(real).st_mode & 0o777
    except FileNotFoundError:
        data, mode = b"", 0o600
        os.makedirs(os.path.dirname(real), exist_ok=True)
    try:
        before = data.decode()
        after = _keep_line_ends(before, merge(before))
    except ValueError as error:
        raise ValueError(f"{path!r} is left as it is: {error}. Add the entry by hand.") from None
    if after == before:
        return None
    backup = (
        _write_file(_free_backup_name(f"{real}.{time.strftime('%Y%m%d-%H%M%S')}"), before, mode) if before else None
    )
    draft = _write_file(f"{real}.{os.getpid()}.draft", after, mode)
    os.replace(draft, real)
    return backup


def _keep_line_ends(before: str, after: str) -> str:
    """The new text with the line ends of the old one."""
    plain = after.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if "\r\n" in before else plain


def _follow_links(path: str) -> str:
    """The target of a link: users who link their settings keep the links."""
    for _ in range(_MAX_LINKS):
        if not os.path.islink(path):
            return path
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    raise ValueError(f"{path!r} is a link to itself.")


def _free_backup_name(path: str) -> str:
    """An unused name for a backup."""
    names = (f"{path}{f'-{number}' if number else ''}.backup" for number in range(1000))
    return next(name for name in names if not os.path.lexists(name))


def _write_file(path: str, text: str, mode: int) -> str:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(fd)
    return path
