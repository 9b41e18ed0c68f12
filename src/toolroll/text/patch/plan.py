"""Turn the text of a patch into the complete list of changes to files, or raise an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from toolroll.result import ErrorCode, ToolError
from toolroll.text.edit.match import check_omissions
from toolroll.text.patch import binary, blocks, errors, unified, v4a
from toolroll.text.patch.apply import Applied, apply, is_quoted_once
from toolroll.text.patch.model import FilePatch
from toolroll.text.patch.paths import Relative, resolve_names
from toolroll.text.patch.tree import PatchedTree, PatchNode, PatchStep

Stale = Callable[[str], ToolError | None]
_MOST_TEXT = 8_000_000  # characters of a patch


def plan(
    patch_text: str,
    *,
    strip: int | None = None,
    reverse: bool = False,
    exists: Callable[[str], bool],
    read: Callable[[str], str],
    read_bytes: Callable[[str], bytes] = lambda _path: b"",
    stale: Stale = lambda _path: None,
    relative: Relative = lambda _path: None,
    folder: str = ".",
) -> list[PatchStep]:
    """What carries out the patch, in the order to do it. Raises ToolError unless every hunk of it applies.

    Its names are beneath `folder`, which is only for messages; `relative` gives those of absolute paths. A file for
    which `stale` has an error must be quoted once, to the letter.
    """
    if not patch_text.strip():
        raise ToolError(ErrorCode.VALIDATION, "The patch is empty.")
    if len(patch_text) > _MOST_TEXT:
        raise ToolError(ErrorCode.TOO_LARGE, f"The patch has {len(patch_text)} characters. Send it in several parts.")
    files = resolve_names(parse(patch_text), strip, exists, relative)
    if reverse:
        files = [one.reversed() for one in reversed(files)]
    planner = _Planner(PatchedTree(exists, read, read_bytes), files, reverse, folder, stale)
    for file in files:
        planner.take(file)
    return planner.changes()


def parse(patch_text: str) -> list[FilePatch]:
    """The files of a patch of any form."""
    if v4a.is_v4a(patch_text):
        return v4a.parse(patch_text)
    return blocks.parse(patch_text) if blocks.is_blocks(patch_text) else unified.parse(patch_text)


class _Planner:
    def __init__(self, tree: PatchedTree, files: Sequence[FilePatch], reverse: bool, folder: str, stale: Stale) -> None:
        self._tree = tree
        self._stale = stale
        self._folder = folder
        self._done: dict[str, int] = {}  # files that are as the patch makes them, and a line of each
        self._reverse = reverse
        self._vacated = {
            one.old for one in files if one.kind in ("delete", "rename") and one.old not in (None, one.new)
        }
        self._uncopied: list[tuple[FilePatch, str]] = []

    def take(self, file: FilePatch) -> None:
        """Do one file of the patch."""
        if file.kind == "change" or (file.kind == "rename" and file.old == file.new):
            self._change(file)
        elif file.kind == "create":
            self._create(file)
        elif file.kind == "delete":
            self._delete(file)
        elif file.kind == "copy" and self._reverse:
            self._uncopy(file)
        else:
            self._take_over(file)

    def changes(self) -> list[PatchStep]:
        """All that was done, once it is certain that no copy is deleted which is more than that."""
        for file, text in self._uncopied:
            source = self._tree.now(_name(file.new))
            if source is None or self._tree.text(source) != text:
                raise _differs(_name(file.old), file)
        changes = self._tree.changes()
        if self._done and not changes:
            raise errors.applied(list(self._done), next(iter(self._done.values())))
        return changes

    def _change(self, file: FilePatch) -> None:
        names = [name for name in (file.new, file.old) if name is not None]
        if self._reverse:
            names.reverse()
        path = next((name for name in names if self._tree.now(name) is not None), names[0])
        node = self._tree.now(path)
        if node is None and any(hunk.old for hunk in file.hunks):
            raise _missing(path, file, "changes")
        if node is None:
            self._create(replace(file, new=path))
        else:
            self._put(path, node, file)

    def _create(self, file: FilePatch) -> None:
        if file.blind:
            raise ToolError(
                ErrorCode.UNSUPPORTED,
                f"The patch deletes {file.new!r} without showing its text, so that cannot be taken back.",
            )
        path = _name(file.new)
        mode = 0o755 if (file.new_mode or 0) & 0o100 else None
        if file.binary:
            node = PatchNode(mode=mode, data=binary.apply(file.binary, b"", path))
        else:
            applied = apply("", file.hunks, name=path)
            node = PatchNode(applied.text, None, mode, applied.hunks)
        self._check_free(path, file, node.text)
        self._tree.put(path, node)

    def _delete(self, file: FilePatch) -> None:
        path = _name(file.old)
        node = self._tree.source(path)
        if node is None:
            raise _missing(path, file, "deletes")
        if file.binary and binary.apply(file.binary, self._tree.data(node), path):
            raise _differs(path, file)
        applied = None if file.blind or file.binary else self._applied(path, node, file)
        if applied is not None and applied.text:
            raise _differs(path, file)
        self._tree.drop(path, () if applied is None else applied.hunks)

    def _take_over(self, file: FilePatch) -> None:
        """Rename or copy."""
        old, new = _name(file.old), _name(file.new)
        node = self._tree.source(old)
        if file.kind == "copy":  # of what git saw before the patch, also when another part changes that file
            node = self._tree.before(old) or node
        if node is None:
            raise _missing(old, file, "renames" if file.kind == "rename" else "copies")
        self._check_free(new, file)
        self._put(new, node, file)
        if file.kind == "rename":
            self._tree.drop(old)

    def _uncopy(self, file: FilePatch) -> None:
        """Delete a copy that the patch made, when it is still what it was made of."""
        path = _name(file.old)
        node = self._tree.now(path)
        if node is None:
            raise _missing(path, file, "copies to")
        self._uncopied.append((file, self._applied(path, node, file).text))
        self._tree.drop(path)

    def _put(self, path: str, node: PatchNode, file: FilePatch) -> None:
        applied = self._applied(path, node, file) if file.hunks else None
        mode = node.mode
        if file.new_mode is not None and file.new_mode != file.old_mode:
            mode = 0o755 if file.new_mode & 0o100 else 0o644
        text = node.text if applied is None else applied.text
        hunks = node.hunks if applied is None else (*node.hunks, *applied.hunks)
        data = binary.apply(file.binary, self._tree.data(node), path) if file.binary else node.data
        self._tree.put(path, PatchNode(text, node.origin, mode, hunks, data))

    def _applied(self, path: str, node: PatchNode, file: FilePatch) -> Applied:
        text = self._tree.text(node)
        check_omissions("\n".join(line for hunk in file.hunks for line in hunk.only_new), lambda: text, path)
        error = self._stale(node.origin) if node.origin is not None else None
        if error is not None and not is_quoted_once(text, file.hunks):
            raise error
        found = apply(text, file.hunks, name=below(self._folder, path))
        if found.text == text and any(hunk.added or hunk.removed for hunk in file.hunks):
            self._done[path] = found.hunks[0].line
        return found

    def _check_free(self, path: str, file: FilePatch, text: str | None = None) -> None:
        """Raise if a file that stays has the name already."""
        now = self._tree.now(path)
        if now is None or (path in self._vacated and now.origin == path and now.text is None):
            return
        if text is not None and now.origin is not None and self._tree.text(now) == text:
            but = "exists with just this text: the patch seems to be applied already."
        else:
            but = "exists. Patch the file that is there, or delete or move it first."
        raise _refused(ErrorCode.CONFLICT, path, file, "makes", f"it {but}")


def below(folder: str, name: str) -> str:
    """The path of a name in a folder."""
    return name if folder in (".", "./") else f"{folder.rstrip('/')}/{name}"


def _name(name: str | None) -> str:
    if name is None:
        raise ToolError(ErrorCode.VALIDATION, "The patch names /dev/null where a file is needed.")
    return name


def _missing(path: str, file: FilePatch, verb: str) -> ToolError:
    return _refused(ErrorCode.NOT_FOUND, path, file, verb, "there is no such file. Check the name and `strip`.")


def _differs(path: str, file: FilePatch) -> ToolError:
    but = "the file holds more than the patch shows. Read it first; what is to be kept would be lost."
    return _refused(ErrorCode.CONFLICT, path, file, "deletes", but)


def _refused(code: ErrorCode, path: str, file: FilePatch, verb: str, but: str) -> ToolError:
    what = f"The patch {verb} {path!r} (line {file.line} of the patch), but {but}"
    return ToolError(code, what, details={"path": path, "patch_line": file.line})
