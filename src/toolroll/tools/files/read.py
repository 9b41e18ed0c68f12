"""Show a file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

from toolroll.host.context import Context
from toolroll.result import MAX_IMAGE_BYTES, ErrorCode, Image, Suggestion, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text import lines, notebook
from toolroll.text.lines import counted
from toolroll.tool import Effect, tool

_NUMBERED = "{}\t{}"
_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_PART = 2000  # lines that are a part of a file of any size; a range of more may be all of it


@dataclass(slots=True)
class ShownLines:
    """Lines of a file. `content` is the text itself; the model sees it with line numbers."""

    path: str
    content: str
    start: int
    line_count: int
    total_lines: int | None
    truncated: bool
    ended: bool = False
    """A line feed follows the last line shown, and then the file ends."""
    form: str = _NUMBERED
    """How a line is written: its number, then its text."""
    more: Suggestion | None = None
    images: tuple[Image, ...] = ()
    meta: dict[str, str] = field(default_factory=dict)
    """The encoding, if it had to be guessed."""

    @property
    def last(self) -> int:
        """The number of the last line shown."""
        return self.start + self.line_count - 1

    @property
    def exact(self) -> str:
        """The content with the line feed that ends the file, if all of it is shown."""
        return self.content + "\n" if self.ended and self.start == 1 else self.content

    def numbered(self, form: str) -> str:
        """The lines, each behind its number; in words what has none."""
        if self.images:
            return f"{self.path}: an image of {len(self.images[0].data)} bytes."
        if not self.line_count:
            total = self.total_lines
            return f"{self.path} has {counted(total, 'line')}." if total else f"{self.path} is empty."
        shown = enumerate(self.content.split("\n"), self.start)
        if form == _NUMBERED:  # mostly, and this way takes half the time
            return "\n".join([f"{number}\t{line}" for number, line in shown])
        return "\n".join([form.format(number, line) for number, line in shown])

    def __str__(self) -> str:
        return self.numbered(self.form)

    @property
    def note(self) -> str:
        """What is not shown, and what was guessed, in words."""
        guessed = f"(Not UTF-8: read as {self.meta['encoding']}.)" if self.meta else ""
        if not self.truncated:
            return guessed
        total = "many" if self.total_lines is None else self.total_lines
        return f"(Lines {self.start}-{self.last} of {total}.){guessed and f' {guessed}'}"


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
) -> ShownLines:
    """Show a file's lines with their numbers. Images are shown as images, notebooks as cells."""
    if mime := _IMAGES.get(path[path.rfind(".") :].lower()):
        return _image(ctx, path, mime)
    if only_images:
        known = ", ".join(_IMAGES)
        raise ToolError(ErrorCode.UNSUPPORTED, f"{path!r} is no image: the name of one ends in {known}.")
    if path.endswith(".ipynb") and not raw:
        return _cells(ctx, path, offset, limit)
    if end is not None:
        if end < offset:
            raise ToolError(ErrorCode.VALIDATION, f"`end` ({end}) is before `offset` ({offset}).")
        limit = end - offset + 1 if window else min(limit, end - offset + 1)
    asked = None if end is None else end - offset + 1
    part = end is not None and limit <= _PART
    found = ctx.files.window(path, offset, limit, ctx.call.token, encoding, ranged=part)
    shown = _shown(ctx, path, list(found.lines), offset, found.total, found.ended, asked, most)
    if shown.more is not None and end is not None:
        shown = replace(shown, more=Suggestion("read", {**shown.more.arguments, "end": end}))
    if found.encoding.guessed:
        shown = replace(shown, meta={"encoding": found.encoding.codec})
    return shown if numbers else replace(shown, form="{1}")


def _shown(
    ctx: Context,
    path: str,
    found: list[str],
    start: int,
    total: int | None,
    ended: bool = False,
    asked: int | None = None,
    most: int | None = None,
) -> ShownLines:
    """As many of the lines as fit, and the call that shows the next ones, unless no more were asked for."""
    if total and start > total:
        raise ToolError(ErrorCode.VALIDATION, f"There is no line {start}: {path!r} has {counted(total, 'line')}.")
    kept = lines.cut_to_fit(found, most or ctx.call.limits.line_chars, most or ctx.call.limits.output_chars)
    following = start + len(kept)
    truncated = bool(found) and (total is None or following <= total) and len(kept) != asked
    more = Suggestion("read", {"path": path, "offset": following}) if truncated else None
    return ShownLines(path, "\n".join(kept), start, len(kept), total, truncated, ended and not truncated, more=more)


def _image(ctx: Context, path: str, mime: str) -> ShownLines:
    data = ctx.files.data(path, MAX_IMAGE_BYTES)
    return ShownLines(path, "", 1, 0, 0, truncated=False, images=(Image(data, mime),))


def _cells(ctx: Context, path: str, offset: int, limit: int) -> ShownLines:
    every = lines.split_bare(notebook.cells(ctx.files.read(path).text))
    return _shown(ctx, path, every[offset - 1 : offset - 1 + limit], offset, len(every))
