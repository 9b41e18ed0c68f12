"""Build the maps of the folders of a workspace, and update them when files change."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from toolroll.host.code.fact_store import FactStore
from toolroll.host.code.parser_pool import ParserPool, TooHardError
from toolroll.host.files.versions import Stamp, digest
from toolroll.host.search.file_list import FileList, FileLists
from toolroll.result import CouldNotLookError, ErrorCode, ToolError
from toolroll.text.code.map.file_facts import EMPTY, FORMAT, FileFacts, make_facts, pack, wants
from toolroll.text.code.map.ranking import FileRanker, FileRanking
from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.language import MAX_SOURCE_BYTES
from toolroll.text.encoding import as_utf8
from toolroll.text.ranking.weights import ASIDE, find_aside

if TYPE_CHECKING:
    from toolroll.host.code.structure import Structure
    from toolroll.host.files.reader import FileReader
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.runtime.call import Progress
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.search.search import Search

_MAX_TREES = 4
_MAX_FAILED = 5
_BATCH_FILES = 256  # read before their facts are stored
_FIRST_FILES = 48  # parsed for a question about files that are not known; of the others of the code the words are read
_SKIMMED_BYTES = 12_000_000  # of which the words are read: a second
_AHEAD_FILES = 16  # read in the background before a call may go first
_SHARE = 0.8  # of the time that the call has left, so that it can still answer
_NO_TEXT = b""  # the key of a file that is not text and has no facts
_BY_PATH = b"path"  # the key of a file that is known by its path alone
_SKIMMED = b"words"  # the key of a file of which only the words are known
_PLAIN = (_NO_TEXT, _BY_PATH)
_MAX_HERE = 4  # plain texts that are not worth the start of a parser
_ENDING = frozenset({ErrorCode.CANCELLED, ErrorCode.TIMEOUT})

State = tuple[str, Stamp | None]  # a path and the stamp of its file
Ranking = Callable[[FileRanker], FileRanking]
"""Ranks the files of a map for a question."""


@dataclass(slots=True)
class SourceFile:
    """A file as it was read."""

    path: str
    stamp: Stamp | None
    """Its stamp before reading; None if it is too recent to show the next change."""
    key: bytes
    language: str = ""
    """Name of its language if it is parsed; else empty."""
    source: bytes = b""
    facts: FileFacts | None = None
    packed: bytes = b""
    lasting: bool = True
    """False if the same content may give other facts another time."""


class FactReader:
    """Makes the facts of the files of one workspace."""

    def __init__(self, files: FileReader, parsers: ParserPool) -> None:
        self._files = files
        self._parsers = parsers
        self.failed: dict[str, CouldNotLookError] = {}
        """Why files were not parsed: no grammar, or a parser that does not work."""

    def read(self, path: str, stamp: Stamp | None) -> SourceFile | None:
        """A file with its key; None if it cannot be read."""
        row = find_aside(path)
        if row is not None and not ASIDE[row].contents:
            return SourceFile(path, stamp, _BY_PATH, facts=EMPTY)
        try:
            data = self._files.data(path, MAX_SOURCE_BYTES)
        except ToolError as error:
            if error.code in _ENDING:
                raise
            return SourceFile(path, stamp, _BY_PATH, facts=EMPTY) if error.code == ErrorCode.TOO_LARGE else None
        except OSError:
            return None
        try:
            source = as_utf8(data)
        except ToolError:
            return SourceFile(path, stamp, _NO_TEXT)
        language = languages.detect(path, data)
        name = language.name if language is not None else ""
        key = digest(b"%d %s\n%s" % (FORMAT, name.encode(), data))
        return SourceFile(path, stamp, key, name if name and wants(name) else "", source)

    def fill(self, copies: Sequence[SourceFile], deadline: float, token: CancelToken | None) -> None:
        """Make missing facts, until the deadline."""

        def some(chosen: Sequence[SourceFile]) -> None:
            if time.monotonic() < deadline:
                self._fill(chosen, token)

        for _ in self._parsers.spread(some, copies):
            pass

    def _fill(self, copies: Sequence[SourceFile], token: CancelToken | None) -> None:
        import msgspec

        if any(copy.language for copy in copies) or len(copies) > _MAX_HERE:
            packed = self._parsers.every_facts([(copy.language, copy.source) for copy in copies], token)
        else:
            packed = [_text_facts(copy.source) for copy in copies]  # not worth a child
        decoder = msgspec.msgpack.Decoder(FileFacts)
        for copy, made in zip(copies, packed, strict=True):
            # The grammar is missing here, or the source is too hard to parse: this may change.
            copy.lasting = not isinstance(made, Exception)
            if isinstance(made, (CouldNotLookError, TooHardError)):
                why = f"{copy.path!r} {made}: its definitions are missing from the map."
                failed = made if isinstance(made, CouldNotLookError) else CouldNotLookError("The parser", why)
                self.failed[failed.message] = failed
            copy.packed = _text_facts(copy.source) if isinstance(made, Exception) else made
            copy.facts = decoder.decode(copy.packed)
            copy.source = b""


def _text_facts(source: bytes) -> bytes:
    return pack(make_facts(source.decode(), None))


@dataclass(slots=True)
class BuiltMap:
    """The map of a folder as it is now, and the work of its last update."""

    ranker: FileRanker
    files: int
    whole: bool
    """False if the tree is too large to list."""
    read: int = 0
    made: int = 0
    """Files whose facts were made."""
    left: int = 0
    """Files that were not read in time."""
    unreadable: int = 0
    """Files that may not or cannot be read."""
    failed: tuple[CouldNotLookError, ...] = ()
    """Why files were not parsed."""


@dataclass(slots=True)
class _Tree:
    ranker: FileRanker = field(default_factory=FileRanker)
    keys: dict[str, bytes] = field(default_factory=dict)
    tidied: bool = False
    seen: tuple[FileList, BuiltMap] | None = None  # the file list of a watched tree, and its map, if that is whole

    def put(self, path: str, key: bytes, facts: FileFacts) -> None:
        self.keys[path] = key
        if key != _NO_TEXT:
            self.ranker.put(path, facts)
        elif path in self.ranker:
            self.ranker.drop(path)

    def drop(self, path: str) -> None:
        if self.keys.pop(path) != _NO_TEXT:
            self.ranker.drop(path)


class MapBuilder:
    """Maps of the folders of one workspace. Not thread-safe."""

    def __init__(self, files: Workspace, search: Search, structure: Structure) -> None:
        self._files = files
        self._search = search
        self._store = FactStore(files.state)
        self._folders = FileLists(files.root, search)
        self._reader = FactReader(files, structure.parsers)
        self._trees: OrderedDict[str, _Tree] = OrderedDict()

    def update(
        self, path: str, token: CancelToken | None, progress: Progress | None, rank: Ranking | None = None
    ) -> BuiltMap:
        """The map of a folder, brought up to date; with `rank`, of many new files those that are ranked first."""
        tree = self._tree(path)
        listed = self._folders.files(path, token)
        if tree.seen is not None and tree.seen[0] is listed:
            return tree.seen[1]
        return self._update(tree, path, listed, token, progress, rank)

    def read_ahead(self, lock: AbstractContextManager[object], token: CancelToken, launcher: Launcher) -> None:
        """Read all files of the workspace with the lowest priority; others may take the lock in between."""
        parsers = ParserPool(launcher, 1, idle=True)
        reader = FactReader(self._files, parsers)
        try:
            with lock:
                tree = self._tree(".")
                now, unsure = self._compare(tree, self._folders.files(".", token))
            for at in range(0, len(unsure), _AHEAD_FILES):
                token.check()
                with lock:
                    self._read(tree, unsure[at : at + _AHEAD_FILES], now, math.inf, token, reader)
        finally:
            parsers.close()

    def close(self) -> None:
        self._store.close()

    def _tree(self, path: str) -> _Tree:
        tree = self._trees.setdefault(path, _Tree())
        self._trees.move_to_end(path)
        if len(self._trees) > _MAX_TREES:
            self._trees.popitem(last=False)
        return tree

    def _compare(self, tree: _Tree, listed: FileList) -> tuple[BuiltMap, list[State]]:
        """The map with what is stored, and the files that must be read: the code of the project first."""
        allowed = [one for one in listed.files if self._search.may_read(one)]  # others may be stored
        now = BuiltMap(tree.ranker, len(listed.files), listed.whole, unreadable=len(listed.files) - len(allowed))
        for gone in tree.keys.keys() - set(allowed):
            tree.drop(gone)
        stamps = [listed.stamps[one] for one in allowed] if listed.stamps else self._folders.stamps(allowed)
        unsure = self._recall(tree, allowed, stamps)
        if len(unsure) > _BATCH_FILES:  # what is left when the time is up matters least
            unsure.sort(key=lambda one: find_aside(one[0]) is not None)
        return now, unsure

    def _update(
        self,
        tree: _Tree,
        path: str,
        listed: FileList,
        token: CancelToken | None,
        progress: Progress | None,
        rank: Ranking | None,
    ) -> BuiltMap:
        now, unsure = self._compare(tree, listed)
        deadline = math.inf if token is None else time.monotonic() + _SHARE * token.remaining()
        if rank is not None and len(unsure) > _BATCH_FILES:
            is_new = self._skim(tree, unsure, deadline)
            places = {name: place for place, (name, _) in enumerate(rank(tree.ranker).files)}
            unsure.sort(key=lambda one: places.get(one[0], math.inf))
            now.left += len(unsure[_FIRST_FILES:]) if is_new else 0
            unsure = unsure[:_FIRST_FILES] if is_new else unsure
        for at in range(0, len(unsure), _BATCH_FILES):
            if time.monotonic() > deadline:
                now.left += len(unsure) - at
                break
            self._read(tree, unsure[at : at + _BATCH_FILES], now, deadline, token)
            if progress is not None and len(unsure) > _BATCH_FILES:
                progress(min(at + _BATCH_FILES, len(unsure)), len(unsure), "files read")
        now.failed = tuple(self._reader.failed.values())[:_MAX_FAILED]
        if not tree.tidied and path == "." and listed.whole and not now.left:
            tree.tidied = True
            self._store.tidy(listed.files)
        if listed.stamps is not None and not now.left:
            tree.seen = listed, replace(now, read=0, made=0)
        return now

    def _skim(self, tree: _Tree, states: Sequence[State], deadline: float) -> bool:
        """Rank files of the code by their words, which takes a fifth of the time; whether there were new ones."""
        size, new = 0, [state for state in states if state[0] not in tree.keys and find_aside(state[0]) is None]
        for path, stamp in new:
            if size > _SKIMMED_BYTES or time.monotonic() > deadline:
                break
            copy = self._reader.read(path, stamp)
            if copy is not None and copy.key not in _PLAIN:
                size += len(copy.source)
                tree.put(path, _SKIMMED, make_facts(copy.source.decode(), None))
        return size > 0

    @cached_property
    def _places(self) -> dict[str, tuple[Stamp, bytes]]:
        return self._store.places()

    def _recall(self, tree: _Tree, paths: Sequence[str], stamps: Sequence[Stamp | None]) -> list[State]:
        """Add unchanged files to the map by their stored facts; return the others."""
        unsure: list[State] = []
        wanted: list[tuple[str, Stamp, bytes]] = []
        for path, stamp in zip(paths, stamps, strict=True):
            known = self._places.get(path)
            if stamp is None or known is None or known[0] != stamp:
                unsure.append((path, stamp))
            elif tree.keys.get(path) != known[1]:
                wanted.append((path, stamp, known[1]))
        facts = self._store.get(key for _, _, key in wanted if key not in _PLAIN)
        for path, stamp, key in wanted:
            if key in _PLAIN or key in facts:
                tree.put(path, key, facts.get(key, EMPTY))
            else:
                unsure.append((path, stamp))
        return unsure

    def _read(
        self,
        tree: _Tree,
        states: Sequence[State],
        now: BuiltMap,
        deadline: float,
        token: CancelToken | None,
        reader: FactReader | None = None,
    ) -> None:
        reader = reader or self._reader
        copies = [copy for path, stamp in states if (copy := reader.read(path, stamp)) is not None]
        now.read += len(copies)
        now.unreadable += len(states) - len(copies)
        for path in {path for path, _ in states}.difference(copy.path for copy in copies) & tree.keys.keys():
            tree.drop(path)
        new = [copy for copy in copies if tree.keys.get(copy.path) != copy.key]
        facts = self._store.get(copy.key for copy in new if copy.key not in _PLAIN)
        missing = [copy for copy in new if copy.key not in _PLAIN and copy.key not in facts]
        reader.fill(missing, deadline, token)
        now.made += sum(copy.facts is not None for copy in missing)
        for copy in new:
            found = facts.get(copy.key) or copy.facts or (EMPTY if copy.key in _PLAIN else None)
            if found is None:
                now.left += 1
            else:
                tree.put(copy.path, copy.key, found)
        self._keep([copy for copy in copies if tree.keys.get(copy.path) == copy.key], missing)

    def _keep(self, copies: Sequence[SourceFile], made: Sequence[SourceFile]) -> None:
        """Remember the stamps of files; on disk only those whose facts are lasting."""
        passing = {copy.key for copy in made if not copy.lasting}
        stamped = {copy.path: (copy.stamp, copy.key) for copy in copies if copy.stamp is not None}
        self._places.update(stamped)
        fresh = {copy.key: copy.packed for copy in made if copy.packed and copy.lasting}
        self._store.put(fresh, {path: place for path, place in stamped.items() if place[1] not in passing})
