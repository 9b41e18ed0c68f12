"""Show a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from toolroll.host.context import Context
from toolroll.host.files.spill import PREFIX
from toolroll.result import MAX_IMAGE_BYTES, ErrorCode, Image, Suggestion, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text import lines, notebook
from toolroll.text.lines import counted
from toolroll.text.search.file_types import TEXT_DOCUMENTS
from toolroll.text.shown_lines import ShownLines
from toolroll.tool import Effect, tool

_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_SOUNDS = {".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".flac": "audio/flac"}
_MEDIA = {**_IMAGES, **_SOUNDS, ".bmp": "image/bmp", ".svg": "image/svg+xml"}
_ALL = 10**9
_PART = 2000  # lines that are a part of a file of any size; a range of more may be all of it


@tool(Effect.READ)
def read(
    ctx: Context,
    path: Annotated[FilePath, "File, relative to the workspace, or spill: handle."],
    offset: Annotated[int, Field(ge=1), "First line, from 1."] = 1,
    limit: Annotated[int, Field(ge=1), "Most lines."] = 2000,
    encoding: Annotated[str | None, "Only for files that are not UTF-8 or UTF-16."] = None,
    *,
    end: Annotated[int | None, Field(ge=1), "Last line to show, inclusive."] = None,
    window: Annotated[bool, "Let `limit` count only where no `end` is given."] = False,
    numbers: Annotated[bool, "Show line numbers."] = True,
    most: Annotated[int | None, "Characters to show, long lines whole."] = None,
    raw: Annotated[bool, "Show a notebook as it is stored."] = False,
    only_images: Annotated[bool, "Refuse what is no image."] = False,
    levels: Annotated[int, Field(ge=0), "Levels of a folder to list; without any, a folder is refused."] = 0,
    span: Annotated[tuple[int, ...] | None, "First and last line to show; -1 is the end of the file."] = None,
    pages: Annotated[str, "Pages of a document to show, such as 3 or 1-5."] = "",
    media: Annotated[bool, "Give a file of any type as it is."] = False,
    tail: Annotated[int | None, Field(ge=1), "Show only so many lines at the end."] = None,
    force: Annotated[bool, "Show it although it was shown before."] = False,  # noqa: ARG001 for the MCP server
) -> ShownLines:
    """Show a file's lines, numbered (no part of the line); images, notebooks as cells, PDF and office files as text."""
    if media:
        return _media(ctx, path)
    if (mime := _IMAGES.get(path[path.rfind(".") :].lower())) or (only_images and not path.startswith(PREFIX)):
        return _image(ctx, path, mime, recognised=not only_images)
    if levels and not ctx.tree.is_file(path):
        return _names(ctx, path, levels, offset, limit)
    if path.endswith(".ipynb") and not raw:
        return _cells(ctx, path, offset, limit)
    if path.lower().endswith(TEXT_DOCUMENTS) and not raw and (shown := _document(ctx, path, pages, offset, limit, end)):
        return shown
    offset, end = _range(ctx, path, offset, end, span, tail)
    if end is not None:
        if end < offset:
            raise ToolError(ErrorCode.VALIDATION, f"`end` ({end}) is before `offset` ({offset}).")
        limit = end - offset + 1 if window else min(limit, end - offset + 1)
    asked, again = (None, None) if end is None else (end - offset + 1, {"end": end})
    part = end is not None and limit <= _PART
    found = ctx.files.window(path, offset, limit, ctx.call.token, encoding, ranged=part)
    shown = _shown(ctx, path, list(found.lines), offset, found.total, found.ended, asked, most, again)
    if found.encoding.guessed:
        shown = replace(shown, meta={"encoding": found.encoding.codec})
    return shown if numbers else replace(shown, form="{1}")


def _range(
    ctx: Context, path: str, offset: int, end: int | None, span: tuple[int, ...] | None, tail: int | None
) -> tuple[int, int | None]:
    """The first and the last line that are asked for, in whichever way."""
    if span is not None:
        return _ends(span)
    if tail is None:
        return offset, end
    if end is not None:
        raise ToolError(ErrorCode.VALIDATION, "Give `end` or `tail`, not both.")
    return max(1, len(ctx.files.window(path, 1, _ALL, ctx.call.token).lines) - tail + 1), None


def _ends(span: tuple[int, ...]) -> tuple[int, int | None]:
    if len(span) != 2 or span[0] < 1 or not (span[1] == -1 or span[1] >= span[0]):
        raise ToolError(ErrorCode.VALIDATION, f"`span` is the first and the last line, or -1, not {list(span)}.")
    return span[0], None if span[1] == -1 else span[1]


def _shown(
    ctx: Context,
    path: str,
    found: list[str],
    start: int,
    total: int | None,
    ended: bool = False,
    asked: int | None = None,
    most: int | None = None,
    again: dict[str, Any] | None = None,
) -> ShownLines:
    """As many of the lines as fit, and the call that shows the next ones, unless no more were asked for."""
    if total and start > total:
        raise ToolError(ErrorCode.VALIDATION, f"There is no line {start}: {path!r} has {counted(total, 'line')}.")
    kept = lines.cut_to_fit(found, most or ctx.call.limits.line_chars, most or ctx.call.limits.output_chars)
    following = start + len(kept)
    truncated = bool(found) and (total is None or following <= total) and len(kept) != asked
    more = Suggestion("read", {"path": path, "offset": following, **(again or {})}) if truncated else None
    return ShownLines(
        path, "\n".join(kept), start, len(kept), total, truncated, ended=ended and not truncated, more=more
    )


def _image(ctx: Context, path: str, mime: str | None, *, recognised: bool) -> ShownLines:
    """The image, and where the extra for that is installed the text in it."""
    if mime is None:
        raise ToolError(ErrorCode.UNSUPPORTED, f"{path!r} is no image: the name of one ends in {', '.join(_IMAGES)}.")
    data = ctx.files.data(path, MAX_IMAGE_BYTES)
    text = ctx.converter.recognise(data, path) if recognised else ""
    return ShownLines(path, text, 1, 0, 0, truncated=False, images=(Image(data, mime),))


def _media(ctx: Context, path: str) -> ShownLines:
    mime = _MEDIA.get(path[path.rfind(".") :].lower(), "application/octet-stream")
    _, root, parts = ctx.files.root.owner(ctx.files.key(path))
    file = Image(ctx.files.data(path, MAX_IMAGE_BYTES), mime, "/".join((root.path, *parts)))
    return ShownLines(path, "", 1, 0, 0, truncated=False, images=(file,))


def _names(ctx: Context, path: str, levels: int, offset: int, limit: int) -> ShownLines:
    where, items = ctx.tree.folder(path, levels, ctx.token, [])
    prefix = f"{where}/" if where else ""
    names = [f"{one.path.removeprefix(prefix)}{'/' if one.kind == 'directory' else ''}" for one in items]
    shown = _shown(ctx, path, names[offset - 1 : offset - 1 + limit], offset, len(names))
    return replace(shown, folder=True)


def _cells(ctx: Context, path: str, offset: int, limit: int) -> ShownLines:
    every = lines.split_bare("\n".join(notebook.cells(ctx.files.read(path).text)))
    return _shown(ctx, path, every[offset - 1 : offset - 1 + limit], offset, len(every))


def _document(ctx: Context, path: str, pages: str, offset: int, limit: int, end: int | None) -> ShownLines | None:
    """The text of a document, or of some of its pages; None for a file that only has the name of one."""
    if (found := ctx.converter.read(ctx.files, path, pages)) is None:
        return None
    every, again, asked = lines.split_bare(found.text), {"pages": pages} if pages else None, end and end - offset + 1
    part = every[offset - 1 : min(end or _ALL, offset - 1 + limit)]
    shown = _shown(ctx, path, part, offset, len(every), asked=asked, again=again)
    shown.meta, shown.looked = {"document": " ".join(found.notes)} if found.notes else {}, found.looked
    return shown
