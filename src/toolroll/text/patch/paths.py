"""Resolve the names in a patch to safe paths beneath its folder, without a/ and b/."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from toolroll.result import ErrorCode, ToolError
from toolroll.text.patch.model import FilePatch

Exists = Callable[[str], bool]
Relative = Callable[[str], str | None]
"""An absolute path as one beneath the folder of the patch; None if it is not."""
_PAIRS = {("a/", "b/"), ("b/", "a/")}
_GIT_PAIRS = {*_PAIRS, ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/")}  # git's diff.mnemonicPrefix
_OURS = ("a/", "b/")


def resolve_names(files: Sequence[FilePatch], strip: int | None, exists: Exists, relative: Relative) -> list[FilePatch]:
    """The files with their names as paths.

    Raises ToolError for a name that leads elsewhere, also when the patch would not use it.
    """
    checked = [_renamed(one, _checked(one.old, one, relative), _checked(one.new, one, relative)) for one in files]
    if strip is not None and strip < 0:
        raise ToolError(ErrorCode.VALIDATION, f"`strip` is {strip}. Use 0 or more.")
    if strip:
        return [_stripped(one, strip) for one in checked]
    both = [one for one in checked if one.old and one.new and not one.bare_names]
    convention = any(map(_is_pair, both)) if both else None
    return [_without_prefix(one, convention, exists, literal=strip == 0) for one in checked]


def _checked(name: str | None, file: FilePatch, relative: Relative) -> str | None:
    if name is None:
        return None
    where = f"Line {file.line} of the patch names {name!r}"
    if "\0" in name:
        raise ToolError(ErrorCode.SECURITY, f"{where}, which holds a NUL byte. Remove it.")
    if name.startswith("/"):
        inside = relative(name)
        if inside is None:
            raise ToolError(ErrorCode.SECURITY, f"{where}, an absolute path that leads out of the folder.")
        name = inside
    parts = name.split("/")
    if ".." in parts:
        raise ToolError(ErrorCode.SECURITY, f"{where}, which leads out of the folder by '..'.")
    if parts[-1] in ("", "."):
        raise ToolError(ErrorCode.VALIDATION, f"{where}, which is no name of a file.")
    return "/".join(part for part in parts if part not in ("", "."))


def _renamed(file: FilePatch, old: str | None, new: str | None) -> FilePatch:
    return file if (old, new) == (file.old, file.new) else replace(file, old=old, new=new)


def _stripped(file: FilePatch, strip: int) -> FilePatch:
    """The names without their first components; those of rename lines never had the a/ or b/."""
    if file.bare_names:
        strip = strip - 1 if file.git else 0

    def without(name: str | None) -> str | None:
        if name is None:
            return None
        parts = name.split("/")
        if len(parts) <= strip:
            raise ToolError(
                ErrorCode.VALIDATION,
                f"`strip` is {strip}, but {name!r} (line {file.line} of the patch) has only {len(parts)} parts. "
                "Leave `strip` out: a/ and b/ are found without it.",
            )
        return "/".join(parts[strip:])

    return _renamed(file, without(file.old), without(file.new))


def _is_pair(file: FilePatch) -> bool:
    """The two names begin as those of git's diffs do."""
    pairs = _GIT_PAIRS if file.git else _PAIRS
    return file.old is not None and file.new is not None and (file.old[:2], file.new[:2]) in pairs


def _without_prefix(file: FilePatch, convention: bool | None, exists: Exists, *, literal: bool) -> FilePatch:
    if not file.bare_names and _is_pair(file):
        if literal and any(name is not None and exists(name) for name in (file.old, file.new)):
            return file
        return _renamed(file, _tail(file.old), _tail(file.new))
    one_sided = (file.old is None) != (file.new is None) and not file.bare_names

    def without(name: str | None, prefix: str) -> str | None:
        if name is None or name[:2] not in _OURS or len(name) == 2:
            return name
        known, tail = exists(name), exists(name[2:])
        if one_sided and name[:2] == prefix:
            by_convention = convention if convention is not None else tail or not known
            return name[2:] if by_convention else name
        return name[2:] if tail and not known else name

    return _renamed(file, without(file.old, "a/"), without(file.new, "b/"))


def _tail(name: str | None) -> str | None:
    return None if name is None else name[2:]
