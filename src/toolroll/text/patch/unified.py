"""Parse unified and git diffs, with the faults that models make when they write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolroll.result import ErrorCode, ToolError
from toolroll.text.patch import binary, names
from toolroll.text.patch import hunks as body
from toolroll.text.patch.model import BinaryPatch, FilePatch, Hunk, Kind, unreadable

_BINARY = re.compile(r"Binary files (.*) differ$")
_TELLING = frozenset("d@*-+B")  # first characters of lines that belong to patches
_LINK, _MODULE, _FILE = 0o120000, 0o160000, 0o100000


def parse(text: str) -> list[FilePatch]:
    """The files of a diff in their order. What stands before, between and after them is passed over."""
    lines = strip_fence(text).removesuffix("\n").split("\n")
    found: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("diff --git "):
            file, at = _git(lines, at)
        elif body.is_file(lines, at):
            file, at = _plain(lines, at)
        else:
            if line[:1] in _TELLING:
                _check_unknown(lines, at)
            at += 1
            continue
        found.append(file)
    if not found:
        raise ToolError(
            ErrorCode.VALIDATION,
            "There is no patch in this text. Give a unified diff ('--- a/name', '+++ b/name', '@@ ... @@') "
            "or the form between '*** Begin Patch' and '*** End Patch'.",
        )
    return found


def strip_fence(text: str) -> str:
    """The text without a byte order mark and without a fence around the whole of it."""
    text = text.removeprefix("\ufeff")
    bare = text.strip()
    if not bare.startswith("```") or not bare.endswith("```") or "\n" not in bare:
        return text
    return bare[bare.index("\n") + 1 : -3]


def _check_unknown(lines: Sequence[str], at: int) -> None:
    """Raise for what is meant as part of a patch but cannot be read."""
    line = lines[at].rstrip("\r")
    if body.is_hunk(line):
        unreadable(at + 1, "a hunk without a file. Put '--- a/name' and '+++ b/name' before it.")
    if line.startswith(("diff --cc ", "diff --combined ")):
        raise _unsupported(at, f"{line!r} is the diff of a merge. Make one against a single parent")
    if line.startswith("*** ") and at + 1 < len(lines) and lines[at + 1].startswith("--- "):
        raise _unsupported(at, "this is a context diff. Make a unified one (diff -u)")
    if line.startswith("--- ") and at + 1 < len(lines) and body.is_hunk(lines[at + 1]):
        unreadable(at + 2, "'+++ b/name' is missing between '---' and the hunk.")
    if line.startswith("+++ ") and at + 1 < len(lines) and body.is_hunk(lines[at + 1]):
        unreadable(at + 1, "'--- a/name' is missing before '+++'.")
    if found := _BINARY.match(line):
        raise _binary(at, found[1])


def _unsupported(at: int, what: str) -> ToolError:
    return ToolError(ErrorCode.UNSUPPORTED, f"Line {at + 1} of the patch: {what}.", details={"line": at + 1})


def _binary(at: int, name: str) -> ToolError:
    return _unsupported(
        at,
        f"{name!r} is a binary file, and its new content is not in the patch. Make it with --binary",
    )


def _hunks(lines: Sequence[str], at: int) -> tuple[tuple[Hunk, ...], int]:
    hunks: list[Hunk] = []
    while True:
        start = at
        while at < len(lines) and lines[at] in ("", "\r"):
            at += 1
        if at >= len(lines) or not body.is_hunk(lines[at]):
            return tuple(hunks), start
        hunk, at = body.read(lines, at)
        hunks.append(hunk)


def _plain(lines: Sequence[str], at: int) -> tuple[FilePatch, int]:
    """A file whose header is `---` and `+++` alone."""
    (old, never_was), (new, gone) = _named(lines, at)
    hunks, after = _hunks(lines, at + 2)
    if not hunks:
        unreadable(at + 1, f"there is no hunk for {new or old!r}. Begin one with '@@ -1,3 +1,4 @@'.")
    if old is None and new is None:
        unreadable(at + 1, "both names are /dev/null.")
    kind: Kind = "change"
    if old is None or (never_was and not any(hunk.old for hunk in hunks)):
        kind = "create"
    elif new is None or (gone and not any(hunk.new for hunk in hunks)):
        kind = "delete"
    return FilePatch(kind, old, new, hunks, line=at + 1), after


@dataclass(slots=True)
class _Header:
    """The extended header of one file of a git diff."""

    kind: Kind = "change"
    old: str | None = None
    new: str | None = None
    old_mode: int | None = None
    new_mode: int | None = None
    ids: tuple[str, str] = ("", "")

    def take(self, line: str, at: int) -> bool:
        """Read one line of it; False when the line is no part of it."""
        found = _EXTENDED.match(line)
        if found is None:
            return False
        field, value = found[1], found[2]
        kind = _KINDS.get(field, self.kind)
        if self.kind not in ("change", kind):
            unreadable(at + 1, f"this contradicts that the file is a {self.kind} by the lines above. Keep one of them.")
        self.kind = kind
        if field.endswith(" from"):
            self.old = names.unquote(value)
        elif field.endswith(" to"):
            self.new = names.unquote(value)
        elif field in ("old mode", "deleted file mode"):
            self.old_mode = _mode(value, at)
        elif field.endswith(" mode"):
            self.new_mode = _mode(value, at)
        elif field == "index":
            ids, _, mode = value.partition(" ")
            self.ids = (ids.partition("..")[0], ids.partition("..")[2])
            if mode:
                self.old_mode = self.new_mode = _mode(mode, at)
        return True

    @property
    def bare_names(self) -> bool:
        """The names are those of rename or copy lines, without a/ and b/."""
        return self.kind in ("rename", "copy")


_EXTENDED = re.compile(
    r"((?:old|new|new file|deleted file) mode|(?:rename|copy) (?:from|to)|(?:dis)?similarity index|index) (.*)"
)
_KINDS: dict[str, Kind] = {
    "new file mode": "create", "deleted file mode": "delete",
    "rename from": "rename", "rename to": "rename", "copy from": "copy", "copy to": "copy",
}  # fmt: skip


def _mode(text: str, at: int) -> int:
    if not re.fullmatch(r"[0-7]{5,6}", text.strip()):
        unreadable(at + 1, f"{text[:20]!r} is no file mode. Use 100644 or 100755.")
    mode = int(text.strip(), 8)
    if mode & 0o170000 == _LINK:
        raise ToolError(
            ErrorCode.SECURITY,
            f"Line {at + 1} of the patch: mode 120000 is a symbolic link. A patch may not make, change or delete one.",
        )
    if mode & 0o170000 != _FILE:
        what = "a submodule" if mode & 0o170000 == _MODULE else "not a plain file"
        raise _unsupported(at, f"mode {text.strip()} is {what}, which cannot be patched")
    return mode


def _git(lines: Sequence[str], at: int) -> tuple[FilePatch, int]:
    """A file with a `diff --git` header."""
    start = at
    pair = names.of_git(lines[at][len("diff --git ") :].rstrip("\r"))
    header = _Header()
    at += 1
    while at < len(lines) and header.take(lines[at].rstrip("\r"), at):
        at += 1
    following = lines[at].rstrip("\r") if at < len(lines) else ""
    if _BINARY.match(following):
        raise _binary(at, pair[1].partition("/")[2] or pair[1] if pair else following)
    old, new = pair or (None, None)
    hunks: tuple[Hunk, ...] = ()
    if following.startswith("GIT binary patch"):
        patch, at = binary.parse(lines, at + 1, header.ids)
        return _file(header, old, new, (), start, patch), at
    named = at < len(lines) and body.is_file(lines, at)
    belongs = named and _belongs(lines, at, header, pair)
    if named and not belongs and header.kind in ("create", "delete"):
        unreadable(at + 1, "these names are not those of the header above. Write the same name in both.")
    if belongs:
        (named_old, _), (named_new, _) = _named(lines, at)
        if header.kind == "change" and (named_old is None or named_new is None):
            header.kind = "create" if named_old is None else "delete"
        old, new = named_old or old, named_new or new
        hunks, at = _hunks(lines, at + 2)
    return _file(header, old, new, hunks, start), at


def _belongs(lines: Sequence[str], at: int, header: _Header, pair: tuple[str, str] | None) -> bool:
    """The `---` and `+++` lines name the files of the header above them, and do not begin another file."""
    known = (header.old, header.new) if header.bare_names else pair or (None, None)
    return all(
        said is None or name is None or said == name or said.endswith(f"/{name}")
        for (said, _), name in zip(_named(lines, at), known, strict=True)
    )


def _named(lines: Sequence[str], at: int) -> list[tuple[str | None, bool]]:
    """The names in the `---` and `+++` lines, each with whether its date says "no such file"."""
    return [names.of_header(line[4:].rstrip("\r")) for line in lines[at : at + 2]]


def _file(
    header: _Header,
    old: str | None,
    new: str | None,
    hunks: tuple[Hunk, ...],
    start: int,
    patch: BinaryPatch | None = None,
) -> FilePatch:
    if header.bare_names:
        old, new = header.old, header.new
    if old is None or new is None:
        unreadable(start + 1, "the names in this header cannot be told. Write '--- a/name' and '+++ b/name'.")
    if header.kind == "change" and not hunks and patch is None and header.old_mode == header.new_mode:
        unreadable(start + 1, f"there is no hunk for {new!r}. Begin one with '@@ -1,3 +1,4 @@'.")
    modes = header.old_mode, header.new_mode
    return FilePatch(header.kind, old, new, hunks, *modes, True, header.bare_names, binary=patch, line=start + 1)
