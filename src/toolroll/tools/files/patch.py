"""Apply a patch to files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from toolroll.host.context import Context
from toolroll.host.files.reader import ContentChange, TextFile
from toolroll.host.files.versions import modified_error
from toolroll.host.files.workspace import OfferingCalls
from toolroll.schema import Field, FilePath
from toolroll.text.patch.plan import below, plan
from toolroll.text.patch.tree import PatchStep
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """What happened to one file. `offsets` tell how far from its number each hunk was found."""

    path: str
    kind: Literal["write", "create", "delete", "move", "copy"]
    source: str | None
    added: int
    removed: int
    offsets: list[int]
    notes: list[str]
    """What is to be said of hunks that were not found just as they are written."""

    def __str__(self) -> str:
        source = f" from {self.source}" if self.source and self.kind in ("move", "copy") else ""
        moved = [str(one) for one in self.offsets if one]
        counts = f" (+{self.added} -{self.removed})" if self.offsets or self.kind != "delete" else ""
        offset = f", hunks off by {', '.join(moved)} lines" if moved else ""
        return "\n".join([f"{self.kind:<6} {self.path}{source}{counts}{offset}", *(f"  {note}" for note in self.notes)])


@dataclass(frozen=True, slots=True)
class Patched:
    """All files of a patch: applied, or only shown to be applicable."""

    files: list[PatchedFile]
    applied: bool
    reversed: bool
    backups: list[str]
    note: str = ""
    """Which files were changed by others since they were read, and which do not parse any more."""

    @property
    def validated(self) -> bool:
        return True

    def __str__(self) -> str:
        done = "Applied" if self.applied else "It applies; nothing was changed"
        return "\n".join([f"{done}{' in reverse' if self.reversed else ''}:", *map(str, self.files)])


@tool(Effect.READ | Effect.WRITE | Effect.DELETE)
def patch(
    ctx: Context,
    patch: Annotated[str, Field(min_length=1), "A unified or git diff, or the form between *** Begin and End Patch."],
    path: Annotated[FilePath, "Folder that its names are relative to."] = ".",
    strip: Annotated[int | None, Field(ge=0), "Name components to drop; a/ and b/ are found without it."] = None,
    reverse: Annotated[bool, "Take the patch back."] = False,
    dry_run: Annotated[bool, "Only check that it applies."] = False,
    *,
    backup: Annotated[bool, "Keep copies of the old files beside them."] = False,
) -> Patched:
    """Apply a patch to all its files or none. Hunks may be at other lines than they say, never at other text."""
    drafts: dict[str, TextFile] = {}

    def read(name: str) -> str:
        drafts[name] = ctx.files.draft(below(path, name), quoted=True)
        return drafts[name].text

    with OfferingCalls(drafts, path):
        changes = plan(
            patch,
            strip=strip,
            reverse=reverse,
            exists=lambda name: ctx.tree.is_file(below(path, name)),
            read=read,
            read_bytes=lambda name: ctx.files.data(below(path, name), ctx.limits.write_bytes),
            stale=lambda name: modified_error(drafts[name].path) if name in drafts and drafts[name].stale else None,
            relative=lambda name: ctx.files.relative(name, path),
            folder=path,
        )
    backups: list[str] = []
    notes = [f"{one.path}: {one.since}" for one in drafts.values() if one.since]
    if not dry_run:
        backups = [ctx.files.back_up(drafts[one.path]) for one in changes if backup and one.path in drafts]
        for change in [_with_mode(ctx, path, one) for one in changes]:  # modes as they are before the first step
            notes.append(_carry_out(ctx, path, change, drafts))
    shown = "/".join(ctx.files.key(path)) or "."
    told = [_told(one, shown) for one in changes]
    return Patched(told, not dry_run, reverse, backups, "\n".join(filter(None, notes)))


def _with_mode(ctx: Context, folder: str, change: PatchStep) -> PatchStep:
    """A new file that takes over another's content is executable if that one was."""
    if change.kind != "write" or change.source is None or change.mode is not None:
        return change
    return replace(change, mode=ctx.tree.item(below(folder, change.source)).mode & 0o777)


def _carry_out(ctx: Context, folder: str, change: PatchStep, drafts: dict[str, TextFile]) -> str:
    """Take one step; says where a file does not parse any more."""
    target = below(folder, change.path)
    source = below(folder, change.source) if change.source is not None else None
    if change.kind == "delete":
        ctx.tree.delete(target, recursive=False)
        return ""
    if change.kind == "copy" and source is not None:
        ctx.tree.copy(source, target, False, ctx.token)
    elif change.kind == "move" and source is not None:
        ctx.tree.move(source, target, overwrite=False)
    if change.created and change.kind == "write" and ctx.tree.is_empty_folder(target):
        ctx.tree.delete(target, recursive=False)  # what it held is deleted or moved by the same patch
    written = _put(ctx, target, change, drafts) if change.text is not None or change.data is not None else None
    if change.mode is not None:
        ctx.tree.set_executable(target, bool(change.mode & 0o100))
    return written.verdict if written is not None else ""


def _put(ctx: Context, target: str, change: PatchStep, drafts: dict[str, TextFile]) -> ContentChange:
    text = change.text or ""
    if change.data is not None:
        return ctx.files.write(target, change.data, overwrite=True)
    if change.kind in ("move", "copy"):
        return ctx.files.save(ctx.files.draft(target), text)
    if change.path in drafts and not change.created:
        return ctx.files.save(drafts[change.path], text)
    return ctx.files.write(target, text, overwrite=not change.created)


def _told(change: PatchStep, folder: str) -> PatchedFile:
    return PatchedFile(
        path=below(folder, change.path),
        kind="create" if change.kind == "write" and change.created else change.kind,
        source=change.source,
        added=sum(hunk.added for hunk in change.hunks),
        removed=sum(hunk.removed for hunk in change.hunks),
        offsets=[hunk.offset or 0 for hunk in change.hunks],
        notes=[f"hunk {number} {hunk.note}" for number, hunk in enumerate(change.hunks, 1) if hunk.note],
    )
