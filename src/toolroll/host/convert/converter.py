"""A file that is not text, as text: converted in a child that reaches no network, writes nowhere and is bounded."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolroll.host.convert import errors, formats, limits
from toolroll.host.convert.formats import Format
from toolroll.host.runtime.call import Progress, silent
from toolroll.result import CouldNotLookError, ErrorCode, Looked, ToolError
from toolroll.text import terminal
from toolroll.text.knowledge.chunks import DocumentPart
from toolroll.text.knowledge.passages import name_page
from toolroll.text.lines import counted

if TYPE_CHECKING:
    from toolroll.host.convert.text_cache import TextCache
    from toolroll.host.files.reader import FileReader
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.runtime.processes import Stream

_CHILD_MODULE = "toolroll.host.convert.child"
_PATH = "/usr/local/bin:/usr/bin:/bin"
_MEGABYTE = 1_000_000
_PICTURE = "a picture without text"
_SIGNALLED = 128  # what a shell, and bubblewrap, add to the number of a signal
_SIGXCPU, _SIGKILL = 24, 9


@dataclass(slots=True)
class Converted:
    """A document as text, in the order of its pages."""

    format: Format
    parts: list[DocumentPart] = field(default_factory=list)
    title: str = ""
    notes: list[str] = field(default_factory=list)  # what was left out, or is less sure than it looks

    @property
    def looked(self) -> Looked:
        """What an answer about it stands on."""
        return Looked(counted(len(self.parts), "part"), ("the converter",))

    @property
    def text(self) -> str:
        """All of it, each page, sheet or slide behind a line that names it."""
        return "\n\n".join(f"{_label(one, self.format)}{one.text}" for one in self.parts)

    @property
    def places(self) -> list[str]:
        """The page, sheet or slide of each line of `text`, as it is cited; empty where there are none."""
        made: list[str] = []
        for one in self.parts:
            count = f"{_label(one, self.format)}{one.text}".count("\n") + 2  # with the blank line after it
            made += [name_page(self.format.form, one.page, one.title)] * count
        return made


@dataclass(slots=True)
class _ChildOutput:
    """The parsed output of a child."""

    parts: list[DocumentPart] = field(default_factory=list)
    title: str = ""
    notes: list[str] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)
    failure: tuple[str, int] | None = None


class Converter:
    """Converts files on behalf of one call."""

    def __init__(
        self,
        launcher: Launcher,
        token: CancelToken,
        progress: Progress = silent,
        cache: TextCache | None = None,
    ) -> None:
        self._launcher = launcher
        self._token = token
        self._progress = progress
        self._cache = cache

    def without_progress(self) -> Converter:
        """The same converter; the caller reports the progress."""
        return Converter(self._launcher, self._token, cache=self._cache)

    def convert(self, data: bytes, path: str, format: Format) -> Converted:
        """The text of a file; ToolError that says what to do if it has none, or cannot be read."""
        if not available(format):
            raise errors.make_missing_error(path, format.what, format.extra)
        if len(data) > limits.BYTES:
            raise ToolError(
                ErrorCode.TOO_LARGE, f"{path!r} has {len(data)} bytes; at most {limits.BYTES} are converted. Split it."
            )
        if self._cache is None:
            return self._convert(data, path, format)
        from toolroll.host.convert.text_cache import CachedText

        reader = f"{format.reader}{'-ocr' if available(formats.SCANNED) else ''}"
        if (known := self._cache.find(data, reader)) is not None:
            return Converted(format, [DocumentPart(*one) for one in known.parts], known.title, known.notes)
        made = self._convert(data, path, format)
        parts = [(one.text, one.page, one.title) for one in made.parts]
        self._cache.keep(data, reader, CachedText(made.title, made.notes, parts))
        return made

    def _convert(self, data: bytes, path: str, format: Format) -> Converted:
        collected = self._run(data, path, format, len(data) // _MEGABYTE)
        made = Converted(format, collected.parts, collected.title, collected.notes)
        if collected.scanned:
            self._read_scanned(data, path, collected.scanned, made)
        if not made.parts:
            raise errors.make_error("empty", 0, path, format)
        return made

    def recognise(self, data: bytes, path: str) -> str:
        """The text in an image; empty if there is none, or the extra that reads it is not installed."""
        if not available(formats.IMAGE):
            return ""
        try:
            return self.convert(data, path, formats.IMAGE).text
        except ToolError as error:
            if error.code in (ErrorCode.CANCELLED, ErrorCode.TIMEOUT):
                raise
            return ""

    def read(self, files: FileReader, path: str, pages: str = "") -> Converted | None:
        """A document as text, all of it or of pages such as "3" or "1-5"; None for a file that only has such a name."""
        data = files.data(path, limits.BYTES)
        format = formats.of_file(data, path)
        if format is None:
            return None
        found = self.convert(data, path, format)
        if pages:
            first, dash, last = pages.partition("-")
            if not first.isdecimal() or (dash and not last.isdecimal()):
                raise ToolError(ErrorCode.VALIDATION, f"`pages` is a number or a range such as 1-5, not {pages!r}.")
            found.parts = [one for one in found.parts if int(first) <= one.page <= int(last or first)]
            if not found.parts:
                raise ToolError(ErrorCode.VALIDATION, f"{path!r} has no text on pages {pages}.")
        return found

    def _read_scanned(self, data: bytes, path: str, pages: list[int], made: Converted) -> None:
        """Add the text of pages that are pictures, where it can be read."""
        if not available(formats.SCANNED):
            if not made.parts:
                raise errors.make_missing_error(path, f"{formats.SCANNED.what} without text", formats.SCANNED.extra)
            made.parts = sorted([*made.parts, *(DocumentPart("", page, _PICTURE) for page in pages)], key=_by_page)
            from toolroll.host.requirement import add_extra

            add = f"Their text can be read with an extra: {add_extra(formats.SCANNED.extra)}"
            made.notes.append(f"Without text, because they are pictures: {_pages(pages)}. {add}")
            return
        some, rest = pages[: limits.SCANNED], pages[limits.SCANNED :]
        words = ",".join(map(str, some))
        found = self._run(data, path, formats.SCANNED, len(some), words)
        made.parts = sorted([*made.parts, *found.parts], key=_by_page)
        made.notes.append(f"Read from pictures, so letters may be wrong: {_pages(some)}.")
        if rest:
            made.notes.append(f"Pictures that were not read, for they are too many: {_pages(rest)}.")

    def _run(self, data: bytes, path: str, format: Format, units: int, *words: str) -> _ChildOutput:
        """Run a child on a file; ToolError if it reports an error or does not end well."""
        bounds = format.bounds
        deadline = time.monotonic() + bounds.seconds_for(units)
        argv = [format.reader, str(bounds.cpu_for(units)), str(bounds.memory), *words]
        collected = _ChildOutput()
        try:
            with start_child(self._launcher, argv, data, self._token, deadline) as stream:
                for line in _lines(stream):
                    self._parse(collected, line, format)
                if stream.status and collected.failure is None:
                    collected.failure = _explain_exit(stream)
        except TimeoutError:
            collected.failure = ("time", 0)
        if collected.failure is not None:
            raise errors.make_error(*collected.failure, path, format)
        return collected

    def _parse(self, collected: _ChildOutput, line: bytes, format: Format) -> None:
        """Parse one line of output. A hostile file may have written it: nothing in it is trusted."""
        import msgspec

        try:
            match msgspec.json.decode(line):
                case ["part", str(text), int(page), str(title)]:
                    collected.parts.append(DocumentPart(_clean(text).strip(), page, _clean(title)))
                case ["title", str(title)]:
                    collected.title = _clean(title)
                case ["note", str(text)]:
                    collected.notes.append(_clean(text))
                case ["scanned", int(page)]:
                    collected.scanned.append(page)
                case ["progress", int(done), int(total)]:
                    self._progress(done, total, f"{format.unit} {done}" if format.unit else "")
                case ["failure", str(name), int(number)]:
                    collected.failure = (name, number)
                case _:
                    collected.failure = ("crash", 0)
        except msgspec.MsgspecError:
            collected.failure = ("crash", 0)


def available(format: Format) -> bool:
    """Whether the packages that it takes are installed."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in format.needs)


@contextmanager
def start_child(
    launcher: Launcher, words: Sequence[str], data: bytes, token: CancelToken | None, deadline: float
) -> Iterator[Stream]:
    """A child that has these bytes on its stdin, without network and without room.

    It may read the system's own files, Python's and this package's, and nothing else.
    """
    from toolroll.host.runtime.launcher import PIPE
    from toolroll.host.runtime.processes import Stream
    from toolroll.host.runtime.python_child import start_module
    from toolroll.host.runtime.state import create_nameless_file

    env = {"PATH": _PATH, "HOME": "/nonexistent"}
    fd = create_nameless_file(data)
    try:
        process = start_module(launcher, _CHILD_MODULE, words, env=env, stdin=fd, stdout=PIPE, stderr=PIPE)
    finally:
        os.close(fd)
    stream = Stream(process, token, deadline)
    try:
        yield stream
    finally:
        stream.close()


def _lines(stream: Stream) -> Iterator[bytes]:
    """The lines of the output, up to the limit of its size."""
    rest = bytearray()
    total = 0
    for chunk in stream:
        total += len(chunk)
        if total > 2 * limits.OUTPUT:
            yield b'["failure","output",0]'
            return
        rest += chunk
        if b"\n" in chunk:
            *whole, last = rest.split(b"\n")
            rest = bytearray(last)
            yield from map(bytes, whole)
    if rest:
        yield bytes(rest)


def _explain_exit(stream: Stream) -> tuple[str, int]:
    """Why a child did not end well; ToolError if the file is not the reason."""
    status = stream.status or 0
    if status == 1:
        why = stream.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][-200:]
        why = f"it does not work here: {why or 'it output nothing'}."
        raise CouldNotLookError("The converter", why, message=f"The converter{why.removeprefix('it')}")
    signal = -status if status < 0 else status - _SIGNALLED
    return ("time" if signal in (_SIGXCPU, _SIGKILL) else "crash"), 0


def _label(part: DocumentPart, format: Format) -> str:
    if not part.page or not format.unit or format.unit == "image":
        return ""
    return f"[{format.unit} {part.page}{f': {part.title}' if part.title else ''}]\n"


def _by_page(part: DocumentPart) -> int:
    return part.page


def _pages(numbers: list[int]) -> str:
    """Numbers of pages, a run of them as its ends."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    shown = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs[:20])
    return f"page{'s' if len(numbers) > 1 else ''} {shown}{' and more' if len(runs) > 20 else ''}"


def _clean(text: str) -> str:
    return terminal.clean(text.encode("utf-8", "replace"))
