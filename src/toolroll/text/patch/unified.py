"""Parse unified and git diffs, with the faults that models make when they write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolroll.result import ErrorCode, ToolError
from toolroll.text.patch import binary, names
from toolroll.text.patch import hunks as body
from toolroll.text.patch.model import FilePatch, Hunk, Kind, unreadable

_BINARY = re.compile(r"Binary files (.*) differ$")
_TELLING = frozenset("d@*-+B")  # first characters of lines that belong to patches
_LINK, _MODULE, _FILE = 0o120000, 0o160000, 0o100000


def parse(text: str) -> list[FilePatch]:
    """The files of a diff in their order. What stands before, between and after them is passed over."""
    lines = body.HunkLines(strip_fence(text))
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


def _hunks(lines: body.HunkLines, at: int) -> tuple[tuple[Hunk, ...], int]:
    hunks: list[Hunk] = []
    while True:
        start = at
        while at < len(lines) and lines[at] in ("", "\r"):
            at += 1
        if at >= len(lines) or not body.is_hunk(lines[at]):
            return tuple(hunks), start
        hunk, at = body.read(lines, at)
        hunks.append(hunk)


def _plain(lines: body.HunkLines, at: int) -> tuple[FilePatch, int]:
    """A file whose header is `---` and `+++` alone."""
    old, never_was = names.of_header(lines[at][4:].rstrip("\r"))
    new, gone = names.of_header(lines[at + 1][4:].rstrip("\r"))
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
    bare_names: bool = False
    ids: tuple[str, str] = ("", "")

    def take(self, line: str, at: int) -> bool:
        """Read one line of it; False when the line is no part of it."""
        for start, field in _FIELDS.items():
            if line.startswith(start):
                self._set(field, line[len(start) :], at)
                return True
        return False

    def _set(self, field: str, value: str, at: int) -> None:
        made = {"rename", "copy", "new file", "deleted file"}
        if field in made and self.kind != "change" and field.removesuffix(" file") != _KIND_FIELDS[self.kind]:
            unreadable(at + 1, f"this contradicts that the file is a {self.kind} by the lines above. Keep one of them.")
        if field in ("rename", "copy"):
            self.kind = "rename" if field == "rename" else "copy"
            self.bare_names = True
        elif field == "index":
            ids, _, mode = value.partition(" ")
            self.ids = (ids.partition("..")[0], ids.partition("..")[2])
            if mode:
                self.old_mode = self.new_mode = _mode(mode, at)
        elif field == "new file":
            self.kind, self.new_mode = "create", _mode(value, at)
        elif field == "deleted file":
            self.kind, self.old_mode = "delete", _mode(value, at)
        elif field == "old mode":
            self.old_mode = _mode(value, at)
        elif field == "new mode":
            self.new_mode = _mode(value, at)


_KIND_FIELDS = {"create": "new", "delete": "deleted", "rename": "rename", "copy": "copy"}
_FIELDS = {
    "old mode ": "old mode",
    "new mode ": "new mode",
    "new file mode ": "new file",
    "deleted file mode ": "deleted file",
    "rename from ": "rename",
    "rename to ": "rename",
    "copy from ": "copy",
    "copy to ": "copy",
    "similarity index ": "",
    "dissimilarity index ": "",
    "index ": "index",
}


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


def _git(lines: body.HunkLines, at: int) -> tuple[FilePatch, int]:
    """A file with a `diff --git` header."""
    start = at
    pair = names.of_git(lines[at][len("diff --git ") :].rstrip("\r"))
    header = _Header()
    at += 1
    while at < len(lines) and header.take(line := lines[at].rstrip("\r"), at):
        verb, _, rest = line.partition(" ")
        if verb in ("rename", "copy"):
            side, _, name = rest.partition(" ")
            if side == "from":
                header.old = names.unquote(name)
            else:
                header.new = names.unquote(name)
        at += 1
    _check_text(lines, at, pair)
    old, new = pair or (None, None)
    hunks: tuple[Hunk, ...] = ()
    if at < len(lines) and lines[at].startswith("GIT binary patch"):
        patch, at = binary.parse(lines, at + 1, header.ids)
        return _file(header, old, new, (), start, patch), at
    belongs = at < len(lines) and body.is_file(lines, at) and _belongs(lines, at, header, pair)
    if header.kind in ("create", "delete") and not belongs and at < len(lines) and body.is_file(lines, at):
        unreadable(at + 1, "these names are not those of the header above. Write the same name in both.")
    if belongs:
        named_old, _ = names.of_header(lines[at][4:].rstrip("\r"))
        named_new, _ = names.of_header(lines[at + 1][4:].rstrip("\r"))
        if header.kind == "change" and (named_old is None or named_new is None):
            header.kind = "create" if named_old is None else "delete"
        old, new = named_old or old, named_new or new
        hunks, at = _hunks(lines, at + 2)
    return _file(header, old, new, hunks, start), at


def _belongs(lines: Sequence[str], at: int, header: _Header, pair: tuple[str, str] | None) -> bool:
    """The `---` and `+++` lines name the files of the header above them, and do not begin another file."""
    known = (header.old, header.new) if header.bare_names else pair or (None, None)
    for line, name in zip(lines[at : at + 2], known, strict=True):
        said, _ = names.of_header(line[4:].rstrip("\r"))
        if said is not None and name is not None and said != name and not said.endswith(f"/{name}"):
            return False
    return True


def _check_text(lines: Sequence[str], at: int, pair: tuple[str, str] | None) -> None:
    if at < len(lines) and _BINARY.match(line := lines[at].rstrip("\r")):
        raise _binary(at, pair[1].partition("/")[2] or pair[1] if pair else line)


def _file(
    header: _Header,
    old: str | None,
    new: str | None,
    hunks: tuple[Hunk, ...],
    start: int,
    patch: binary.BinaryPatch | None = None,
) -> FilePatch:
    if header.bare_names:
        old, new = header.old, header.new
    if old is None or new is None:
        unreadable(start + 1, "the names in this header cannot be told. Write '--- a/name' and '+++ b/name'.")
    unchanged = header.old_mode == header.new_mode
    if header.kind == "change" and not hunks and patch is None and unchanged:
        unreadable(start + 1, f"there is no hunk for {new!r}. Begin one with '@@ -1,3 +1,4 @@'.")
    return FilePatch(
        kind=header.kind,
        old=old,
        new=new,
        hunks=hunks,
        old_mode=header.old_mode,
        new_mode=header.new_mode,
        git=True,
        bare_names=header.bare_names,
        binary=patch,
        line=start + 1,
    )
