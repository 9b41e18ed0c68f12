"""Charts of the trees of a workspace, kept up with their files."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from toolroll.host.code.fact_reader import BY_PATH, NO_TEXT, Copy, Surveyor
from toolroll.host.code.fact_store import Sheets, Stamp
from toolroll.host.search.file_list import Folders, Listed
from toolroll.policy.effects import Effect
from toolroll.policy.rules import Policy, has_paths, judge_path
from toolroll.text.code.map.file_facts import EMPTY, Sheet
from toolroll.text.code.map.ranking import Chart

if TYPE_CHECKING:
    from toolroll.host.code.structure import Structure
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.runtime.cancellation import Token
    from toolroll.host.runtime.progress import Progress
    from toolroll.host.search.search import Search

_TREES = 4
_BATCH = 256  # files that are read before what came of them is kept
_SECONDS = 60.0  # for reading; what was not read is read by the next call
_SHARE = 0.8  # of the time that the call has left, so that it can still answer
_PLAIN = (NO_TEXT, BY_PATH)

State = tuple[str, Stamp | None]
"""A path and the state of its file."""


@dataclass(slots=True)
class Charted:
    """A chart as it is now, and what it took to bring it up to date."""

    chart: Chart
    files: int
    """All that are listed."""
    whole: bool
    """False if the tree is too large to be listed."""
    read: int = 0
    """Files that had to be read."""
    made: int = 0
    """Sheets that had to be made."""
    left: int = 0
    """Files for which there was no time."""
    unreadable: int = 0
    """Files that may not or cannot be read."""


@dataclass(slots=True)
class _Tree:
    chart: Chart = field(default_factory=Chart)
    keys: dict[str, bytes] = field(default_factory=dict)
    """The files that were looked at, and what they were then."""
    tidied: bool = False
    seen: tuple[Listed, Charted] | None = None
    """The files of a watched tree when all of them were charted, and what that gave."""

    def put(self, path: str, key: bytes, sheet: Sheet) -> None:
        self.keys[path] = key
        if key != NO_TEXT:
            self.chart.put(path, sheet)
        elif path in self.chart:
            self.chart.drop(path)

    def drop(self, path: str) -> None:
        if self.keys.pop(path) != NO_TEXT:
            self.chart.drop(path)


class Charts:
    """Charts of the folders of one workspace. Not for several threads at a time."""

    def __init__(self, files: Workspace, search: Search, structure: Structure, policy: Policy) -> None:
        self._policy = policy
        self._sheets = Sheets(files.state)
        self._folders = Folders(files.root, search)
        self._surveyor = Surveyor(files, structure.parsers)
        self._trees: OrderedDict[str, _Tree] = OrderedDict()
        self._places: dict[str, tuple[Stamp, bytes]] | None = None

    def updated(self, path: str, token: Token | None, progress: Progress | None) -> Charted:
        """The chart of a folder, brought up to date."""
        tree = self._trees.setdefault(path, _Tree())
        self._trees.move_to_end(path)
        if len(self._trees) > _TREES:
            self._trees.popitem(last=False)
        return self._updated(tree, path, token, progress)

    def close(self) -> None:
        """Let go of what is kept on disk."""
        self._sheets.close()

    def _updated(self, tree: _Tree, path: str, token: Token | None, progress: Progress | None) -> Charted:
        listed = self._folders.files(path, token)
        if tree.seen is not None and tree.seen[0] is listed:
            return tree.seen[1]
        places = self._known()
        allowed = self._allowed(listed.files)
        now = Charted(tree.chart, len(listed.files), listed.whole, unreadable=len(listed.files) - len(allowed))
        for gone in tree.keys.keys() - set(allowed):
            tree.drop(gone)
        stamps = [listed.stamps[one] for one in allowed] if listed.stamps else self._folders.stamps(allowed)
        unsure = self._recalled(tree, allowed, stamps, places)
        deadline = time.monotonic() + min(_SECONDS, _SHARE * token.remaining() if token is not None else _SECONDS)
        for at in range(0, len(unsure), _BATCH):
            if time.monotonic() > deadline:
                now.left += len(unsure) - at
                break
            self._read(tree, unsure[at : at + _BATCH], now, deadline, token)
            if progress is not None and len(unsure) > _BATCH:
                progress(min(at + _BATCH, len(unsure)), len(unsure), "files read")
        if not tree.tidied and path == "." and listed.whole and not now.left:
            tree.tidied = True
            self._sheets.tidy(listed.files)
        if listed.stamps is not None and not now.left:
            tree.seen = listed, replace(now, read=0, made=0)
        return now

    def _known(self) -> dict[str, tuple[Stamp, bytes]]:
        """The last known state of each path, and the key of its sheet."""
        if self._places is None:
            self._places = self._sheets.places()
        return self._places

    def _allowed(self, paths: list[str]) -> list[str]:
        """Those that may be read. Asked each time: what is kept may have been read under another policy."""
        policy = self._policy
        if policy.extensions is None and not has_paths(policy):
            return paths
        kinds = policy.extensions
        return [
            path
            for path in paths
            if judge_path(path.split("/"), Effect.READ, policy).decision != "deny"
            and (kinds is None or (os.path.splitext(path)[1].lower() or None) in (*kinds, None))
        ]

    def _recalled(
        self,
        tree: _Tree,
        paths: Sequence[str],
        stamps: Sequence[Stamp | None],
        places: Mapping[str, tuple[Stamp, bytes]],
    ) -> list[State]:
        """Chart the files that are known to be as they were; the others."""
        unsure: list[State] = []
        wanted: list[tuple[str, Stamp, bytes]] = []
        for path, stamp in zip(paths, stamps, strict=True):
            known = places.get(path)
            if stamp is None or known is None or known[0] != stamp:
                unsure.append((path, stamp))
            elif tree.keys.get(path) != known[1]:
                wanted.append((path, stamp, known[1]))
        sheets = self._sheets.get(key for _, _, key in wanted if key not in _PLAIN)
        for path, stamp, key in wanted:
            if key in _PLAIN or key in sheets:
                tree.put(path, key, sheets.get(key, EMPTY))
            else:
                unsure.append((path, stamp))
        return unsure

    def _read(self, tree: _Tree, states: Sequence[State], now: Charted, deadline: float, token: Token | None) -> None:
        """Read files, chart those that are new, and keep what was made of them."""
        copies = [copy for path, stamp in states if (copy := self._surveyor.read(path, stamp)) is not None]
        now.read += len(copies)
        now.unreadable += len(states) - len(copies)
        for path in {path for path, _ in states}.difference(copy.path for copy in copies) & tree.keys.keys():
            tree.drop(path)
        new = [copy for copy in copies if tree.keys.get(copy.path) != copy.key]
        sheets = self._sheets.get(copy.key for copy in new if copy.key not in _PLAIN)
        missing = [copy for copy in new if copy.key not in _PLAIN and copy.key not in sheets]
        self._surveyor.fill(missing, deadline, token)
        now.made += sum(copy.sheet is not None for copy in missing)
        for copy in new:
            found = sheets.get(copy.key) or copy.sheet or (EMPTY if copy.key in _PLAIN else None)
            if found is None:
                now.left += 1
            else:
                tree.put(copy.path, copy.key, found)
        self._keep([copy for copy in copies if tree.keys.get(copy.path) == copy.key], missing)

    def _keep(self, copies: Sequence[Copy], made: Sequence[Copy]) -> None:
        """Remember the states of files; on disk only what holds another time too."""
        passing = {copy.key for copy in made if not copy.lasting}
        stamped = {copy.path: (copy.stamp, copy.key) for copy in copies if copy.stamp is not None}
        self._known().update(stamped)
        fresh = {copy.key: copy.packed for copy in made if copy.packed and copy.lasting}
        self._sheets.put(fresh, {path: place for path, place in stamped.items() if place[1] not in passing})
