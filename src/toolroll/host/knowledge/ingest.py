"""Add files to the library: read, convert, split and store them."""

from __future__ import annotations

import os
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import TYPE_CHECKING

from toolroll.host.convert import errors, formats, limits
from toolroll.host.convert.failure_cache import FailureCache
from toolroll.host.convert.formats import Format
from toolroll.host.files.spill import PREFIX
from toolroll.host.files.tree import FileTree
from toolroll.host.files.versions import digest
from toolroll.host.search.query import Scope
from toolroll.host.web import page
from toolroll.result import ErrorCode, ToolError
from toolroll.text import notebook
from toolroll.text.code.syntax import languages
from toolroll.text.knowledge import chunks, passages
from toolroll.text.knowledge.chunks import Chunk
from toolroll.text.knowledge.passages import Form, Hits, LibraryDocument, PassageResults, check_title
from toolroll.text.lines import counted, list_some
from toolroll.text.names import show_name

if TYPE_CHECKING:
    from toolroll.host.code.structure import Structure
    from toolroll.host.convert.converter import Converter
    from toolroll.host.files.reader import TextFile
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.knowledge.library import Library
    from toolroll.host.runtime.call import Call
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.runtime.state import State
    from toolroll.host.search.search import Search

MAX_DOCUMENT_BYTES = 10_000_000
MAX_FILES = 2_000
MAX_CONVERSION_SECONDS = 240.0  # after which no more documents of a folder are converted in one call
MAX_RECOGNITION_SECONDS = 5.0  # the same for pictures and recordings, which take longest and say least

_BATCH_PIECES = 500  # that are stored together
_MAX_NAMED = 5  # files that were not added, for each reason
_CUTS = {"pdf": chunks.split_text, "image": chunks.split_text, "audio": chunks.split_text, "sheet": chunks.split_table}
_FORMS: dict[str, Form] = {
    **dict.fromkeys((".md", ".markdown", ".mdown"), "markdown"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".csv", ".tsv"), "table"),
    ".ipynb": "notebook",
}
_RECOGNISED = ("image", "audio")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")  # more than a few of these are in no text
_NO_STRUCTURE = (ErrorCode.UNSUPPORTED, ErrorCode.EXECUTION, ErrorCode.TOO_LARGE)
_INSTEAD = "Export it as text, Markdown or PDF, or unpack it, and add that."
_OUT_OF_TIME = "that would take too long now: add the folder again to go on with them"
_REASONS = {
    ErrorCode.UNSUPPORTED: "of a type that cannot be added",
    ErrorCode.VALIDATION: "without text that can be read",
    ErrorCode.TOO_LARGE: "too large",
    ErrorCode.PERMISSION: "with a password, or not allowed",
    ErrorCode.SECURITY: "not allowed",
    ErrorCode.NOT_FOUND: "gone meanwhile",
}


@dataclass(slots=True)
class IngestReport:
    """The result of adding documents; each is in one of the lists."""

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """Documents whose files are gone; only by `sync`."""
    skipped: dict[str, int] = field(default_factory=dict)
    """How many files of a folder were not added, by reason."""
    left: list[str] = field(default_factory=list)
    """These files, in the order of the reasons."""
    pieces: int = 0
    stopped: bool = False
    """The folder holds more files than can be added at once."""
    remarks: list[str] = field(default_factory=list)
    """What was left out of a document, or may be wrong."""
    waiting: str = ""
    """How many passages have no embedding yet, and why."""

    @property
    def steps(self) -> int:
        """At least as many as were reported as progress: files, or the pages of one."""
        return len(self.added + self.replaced + self.unchanged) + sum(self.skipped.values()) + self.pieces

    @property
    def note(self) -> str:
        rest = map(show_name, self.left)
        named = {why: list(islice(rest, count)) for why, count in self.skipped.items()}
        passed = ", ".join(f"{len(paths)} {why} ({list_some(paths, _MAX_NAMED)})" for why, paths in named.items())
        late = f"Only the first {MAX_FILES} files were looked at: add its folders one by one." if self.stopped else ""
        return "\n".join(filter(None, [f"Not added: {passed}." if passed else "", late, *self.remarks, self.waiting]))

    def __str__(self) -> str:
        lists = (
            ("Added", self.added),
            ("Replaced", self.replaced),
            ("Unchanged:", self.unchanged),
            ("Removed", self.removed),
        )
        said = [f"{done} {ones[0] if len(ones) == 1 else f'{len(ones)} documents'}" for done, ones in lists if ones]
        pieces = f" ({counted(self.pieces, 'piece')})" if self.added or self.replaced else ""
        return f"{', '.join(said)}{pieces}." if said else "Nothing was added."


class TimeBudgetError(Exception):
    """The time for converting documents of a folder is used up: this one is for another call."""


class Conversions:
    """The conversions of one call. `remarks` collects what was left out, or may be wrong."""

    def __init__(self, converter: Converter, state: State, token: CancelToken) -> None:
        self._converter = converter
        self._spent = 0.0
        self._unreadable = FailureCache(state, token)
        self.remarks: list[str] = []

    def load(
        self, data: bytes, source: str, format: Format, *, one_of_many: bool
    ) -> tuple[LibraryDocument, Callable[[], list[Chunk]]]:
        """A file as a document, and what converts and cuts it."""
        document = LibraryDocument("file", source, format.form, digest(data).hex(), len(data))
        return document, lambda: self._cut(data, document, format, one_of_many)

    def _cut(self, data: bytes, document: LibraryDocument, format: Format, one_of_many: bool) -> list[Chunk]:
        source, known_by = document.source, document.digest
        if one_of_many:  # a file that was named itself is tried again
            self._unreadable.check(known_by, format.reader, source)
            if self._spent > (MAX_RECOGNITION_SECONDS if format.form in _RECOGNISED else MAX_CONVERSION_SECONDS):
                raise TimeBudgetError
        began = time.monotonic()
        try:
            converter = self._converter.without_progress() if one_of_many else self._converter
            found = converter.convert(data, source, format)
        except ToolError as error:
            self._unreadable.keep(known_by, format.reader, error)
            raise
        finally:
            self._spent += time.monotonic() - began
        self.remarks += [f"{source}: {note}" for note in found.notes]
        return chunks.split_parts(found.parts, _CUTS.get(format.form, chunks.split_markdown))


class Ingest:
    """Adds documents to a library and finds passages in it, on behalf of one call."""

    def __init__(
        self,
        store: Library,
        files: Workspace,
        search: Search,
        structure: Structure,
        launcher: Launcher,
        converter: Converter,
        call: Call,
    ) -> None:
        self._store = store
        self._files, self._search, self._structure, self._launcher = files, search, structure, launcher
        self._call = call
        self._conversions = Conversions(converter, files.state, call.token)

    def add(self, path: str) -> IngestReport:
        """Take in a file, or the files of a folder; ToolError if a file cannot be taken, or nothing of a folder."""
        made = IngestReport()
        if not self._is_folder(path):
            self._put(made, *self._fresh(path))
            return made
        paths, made.stopped = self._listed(path)
        self._add_each(paths, made)
        if not (made.added or made.replaced or made.unchanged):
            raise ToolError(ErrorCode.VALIDATION, f"No file in {path!r} can be added. {made.note}".rstrip())
        return made

    def sync(self, path: str) -> IngestReport:
        """Make the library hold of a file or folder what is there now: add, replace, and remove what is gone."""
        made, source = IngestReport(), "/".join(self._files.key(path))
        paths: list[str] = []
        if self._is_folder(path):
            paths, made.stopped = self._listed(path)
        elif FileTree(self._files).is_file(path):
            paths = [source]
        held = self._store.beneath(source)
        if not paths and not held:
            raise ToolError(ErrorCode.NOT_FOUND, f"There is no file in {path!r}, and none of it is in the library.")
        self._add_each(paths, made)
        if not made.stopped:
            gone = [one for one in held if one not in set(paths)]
            made.removed = [one for one in gone if self._store.drop("file", one)]
        return made

    def _add_each(self, paths: Sequence[str], made: IngestReport) -> None:
        """Take in the files of a folder that can be taken, those that take longest last."""
        skipped: dict[str, list[str]] = {}
        waiting: list[tuple[LibraryDocument, list[Chunk]]] = []  # a transaction for each would take most of the time
        for done, one in enumerate(sorted(paths, key=_effort)):
            self._call.token.check()
            self._call.progress(done, len(paths), one)
            try:
                document, pieces = self._fresh(f"./{one}", top=True)
            except TimeBudgetError:
                skipped.setdefault(_OUT_OF_TIME, []).append(one)
                continue
            except ToolError as error:
                if error.code not in _REASONS:
                    raise
                skipped.setdefault(_REASONS[error.code], []).append(one)
                continue
            if pieces is None:
                made.unchanged.append(document.source)
                continue
            waiting.append((document, pieces))
            if sum(len(each) for _, each in waiting) >= _BATCH_PIECES:
                self._put_all(made, waiting)
        self._put_all(made, waiting)
        self._call.progress(len(paths), len(paths), "")
        made.skipped = {why: len(names) for why, names in sorted(skipped.items())}
        made.left = [name for _, names in sorted(skipped.items()) for name in names]

    def _put_all(self, made: IngestReport, waiting: list[tuple[LibraryDocument, list[Chunk]]]) -> None:
        if not waiting:
            return
        for (document, pieces), replaced in zip(waiting, self._store.put_all(waiting), strict=True):
            (made.replaced if replaced else made.added).append(document.source)
            made.pieces += len(pieces)
        made.remarks += self._conversions.remarks
        self._conversions.remarks.clear()
        waiting.clear()

    def add_text(self, text: str, title: str) -> IngestReport:
        """Take in a text under a title; without one, under a name that its content gives."""
        data = text.encode()
        if len(data) > MAX_DOCUMENT_BYTES:
            why = f"The text has {len(data)} bytes; a document has at most {MAX_DOCUMENT_BYTES}. Split it."
            raise ToolError(ErrorCode.TOO_LARGE, why)
        _check_text(text, "The text")
        known_by = digest(data).hex()
        name = check_title(title) if title.strip() else f"text-{known_by[:8]}"
        made = IngestReport()
        document = LibraryDocument("text", name, "markdown", known_by, len(data))
        self._put(made, document, None if self._store.knows(document) else chunks.split_markdown(text))
        return made

    def search(self, query: str, limit: int, *, lead: str = "", none: str = "") -> PassageResults:
        """The passages that answer a question, none of them of an older version of its file."""
        asked = passages.check_query(query)
        hits = self._store.search(asked, limit)
        if (old := self._stale(hits)) and self._refresh(old):
            hits = self._store.search(asked, limit)
            old = self._stale(hits)
        kept = replace(hits, passages=[one for one in hits.passages if one.kind != "file" or one.source not in old])
        more = [f"Left out, because they changed or are gone since they were added: {', '.join(old)}."] if old else []
        return passages.show_hits(kept, lead=lead, none=none, more=more)

    def _stale(self, hits: Hits) -> list[str]:
        """The files whose passages are of an older version."""
        files = {one.source: one.digest for one in hits.passages if one.kind == "file"}
        return [source for source, known_by in files.items() if self._changed(source, known_by)]

    def _refresh(self, sources: Sequence[str]) -> bool:
        """Take in files that changed, but those that take long to convert; returns whether there was any."""
        made = IngestReport()
        for one in sources:
            if formats.of_name(one) is None:
                with suppress(ToolError, TimeBudgetError):
                    self._put(made, *self._fresh(f"./{one}", top=True))
        return bool(made.replaced)

    def _changed(self, source: str, known_by: str) -> bool:
        try:
            return digest(self._files.at(".").data(source, limits.BYTES)).hex() != known_by
        except (ToolError, OSError):
            return True

    def _fresh(self, path: str, *, top: bool = False) -> tuple[LibraryDocument, list[Chunk] | None]:
        """A file as a document, and its pieces unless the library holds just these."""
        document, cut = self._loaded(path, top=top)
        return document, None if self._store.knows(document) else cut()

    def _put(self, made: IngestReport, document: LibraryDocument, pieces: list[Chunk] | None) -> None:
        if pieces is None:
            made.unchanged.append(document.source)
        else:
            self._put_all(made, [(document, pieces)])

    def _is_folder(self, path: str) -> bool:
        root, where = self._files.where(path)
        try:
            os.close(root.folder(where))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def _listed(self, path: str) -> tuple[list[str], bool]:
        search, where = self._search.of(*self._files.where(path))
        listing = search.find("**", Scope(where), sort="path", token=self._call.token)
        paths = [entry.path for entry in listing.entries if entry.kind == "file"]
        return paths[:MAX_FILES], len(paths) > MAX_FILES or not listing.complete

    def _loaded(self, path: str, *, top: bool = False) -> tuple[LibraryDocument, Callable[[], list[Chunk]]]:
        """A file as a document, and what cuts it; converting waits until it is known to be new."""
        files = self._files.at(".") if top else self._files
        data = files.data(path, limits.BYTES) if formats.of_name(path) is not None else b""
        if data and (format := formats.of_file(data, path)) is not None:
            return self._conversions.load(data, "/".join(files.key(path)), format, one_of_many=top)
        suffix = formats.suffix(path)
        if suffix in formats.REFUSED and (top or FileTree(self._files).is_file(path)):
            raise errors.make_refusal(path, *formats.REFUSED[suffix])
        files.data(path, MAX_DOCUMENT_BYTES)  # which refuses what is larger
        file = _text_of(files, path)
        language = languages.detect(path, file.data)
        form = _FORMS.get(suffix) or ("code" if language is not None and language.code else "text")
        _check_text(file.text, repr(path))
        document = LibraryDocument("file", file.path, form, digest(file.data).hex(), len(file.data))
        return document, lambda: self._cut(file, form)

    def _cut(self, file: TextFile, form: Form) -> list[Chunk]:
        if form == "html":
            return _checked(chunks.split_markdown(_html_text(file, self._call.token, self._launcher)), file.path)
        if form == "notebook":
            return _checked(_split_cells(notebook.cells(file.text)), file.path)
        if form == "code":
            return self._code(file)
        return {"markdown": chunks.split_markdown, "table": chunks.split_table}.get(form, chunks.split_text)(file.text)

    def _code(self, file: TextFile) -> list[Chunk]:
        if file.path.startswith(PREFIX):
            return chunks.split_text(file.text)
        try:
            tags = self._structure.tags_of(file.path, self._call.token)
        except ToolError as error:
            if error.code not in _NO_STRUCTURE:
                raise
            return chunks.split_text(file.text)  # paragraphs are better than nothing
        return chunks.split_code(file.text, tags.definitions)


def _effort(path: str) -> int:
    """How long a file takes to read: text, a document to convert, a picture or recording to recognise."""
    format = formats.of_name(path)
    return 0 if format is None else 2 if format.form in _RECOGNISED else 1


def _split_cells(cells: Sequence[str]) -> list[Chunk]:
    """Pieces of a notebook, with the cell that each begins in as its page."""
    first = list(accumulate((cell.count("\n") + 1 for cell in cells), initial=1))  # lines where cells begin
    pieces = chunks.split_text("\n".join(cells))
    return [replace(one, page=bisect_right(first, one.start)) for one in pieces]


def _text_of(files: Workspace, path: str) -> TextFile:
    """The file as text, in the encoding that it seems to have if it says none."""
    try:
        return files.peek(path)
    except ToolError as error:
        if error.code is ErrorCode.UNSUPPORTED:
            raise ToolError(error.code, f"{error.message} {_INSTEAD}") from error
        if error.code is not ErrorCode.VALIDATION or not isinstance(error.details, dict):
            raise
        guess = error.details.get("guess")
    file = files.peek(path, guess) if guess else None
    if file is None or len(_CONTROL.findall(file.text)) * 100 > len(file.text):
        raise ToolError(ErrorCode.UNSUPPORTED, f"{path!r} is no text in any known encoding. Save it as UTF-8 first.")
    return file


def _html_text(file: TextFile, token: CancelToken, launcher: Launcher) -> str:
    try:
        return page.read(file.data, "text/html", "", "main", token, launcher).text
    except ToolError as error:
        if error.code is not ErrorCode.TOO_LARGE:
            raise
        why = f"{file.path!r} is too large or too deep to be converted. Add a smaller page."
        raise ToolError(ErrorCode.TOO_LARGE, why) from error


def _check_text(text: str, what: str) -> None:
    if not text.strip():
        raise ToolError(ErrorCode.VALIDATION, f"{what} is empty: there is nothing to add.")
    if "\0" in text:
        raise ToolError(ErrorCode.VALIDATION, f"{what} holds a NUL byte, so it is no text.")


def _checked(pieces: list[Chunk], path: str) -> list[Chunk]:
    if not pieces:
        raise ToolError(ErrorCode.VALIDATION, f"{path!r} has no text in it: there is nothing to add.")
    return pieces
