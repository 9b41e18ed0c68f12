"""The files that a patch touches, as they are while its parts are taken one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from toolroll.text.patch.apply import Landed

StepKind = Literal["write", "delete", "move", "copy"]


@dataclass(frozen=True, slots=True)
class PatchStep:
    """One step of carrying out a patch. No path is the target of two, and their order matters."""

    kind: StepKind
    path: str
    text: str | None = None
    """The whole new text; None where the content stays (a move, a copy, a new mode) or goes."""
    source: str | None = None
    """Where a move or copy comes from. For a write: the file, as it was before, whose mode it takes."""
    mode: int | None = None
    """0o644 or 0o755 where the patch says so; None to leave it, or for an ordinary new file."""
    created: bool = False
    hunks: tuple[Landed, ...] = ()
    data: bytes | None = None
    """The whole new content of a file that is no text."""


@dataclass(frozen=True, slots=True)
class PatchNode:
    """A file: its text (None until it is read) and the file it was before the patch, if any."""

    text: str | None = None
    origin: str | None = None
    mode: int | None = None
    hunks: tuple[Landed, ...] = ()
    data: bytes | None = None


class PatchedTree:
    """The files before the patch, and what has become of them so far."""

    def __init__(
        self, exists: Callable[[str], bool], read: Callable[[str], str], read_bytes: Callable[[str], bytes]
    ) -> None:
        self._exists = exists
        self._read = read
        self._read_bytes = read_bytes
        self._before: dict[str, PatchNode | None] = {}
        self._now: dict[str, PatchNode | None] = {}
        self._gone: dict[str, tuple[Landed, ...]] = {}
        self._texts: dict[str, str] = {}

    def before(self, path: str) -> PatchNode | None:
        """The file as it was before the patch."""
        if path not in self._before:
            self._before[path] = PatchNode(origin=path) if self._exists(path) else None
        return self._before[path]

    def now(self, path: str) -> PatchNode | None:
        """The file as it is by now."""
        return self._now[path] if path in self._now else self.before(path)

    def source(self, path: str) -> PatchNode | None:
        """What a rename or copy starts from.

        The parts of a git diff do not depend on their order: a file that only took this name over is not meant.
        """
        now = self.now(path)
        return self.before(path) if self._taken_over(path, now) else now

    def _taken_over(self, path: str, now: PatchNode | None) -> bool:
        """Another file has the name already, while the one that had it is still to be dealt with."""
        return path not in self._gone and self.before(path) is not None and (now is None or now.origin != path)

    def text(self, node: PatchNode) -> str:
        """The text of a file."""
        if node.text is not None or node.origin is None:
            return node.text or ""
        if node.origin not in self._texts:
            self._texts[node.origin] = self._read(node.origin)
        return self._texts[node.origin]

    def data(self, node: PatchNode) -> bytes:
        """The bytes of a file."""
        if node.data is not None or node.origin is None:
            return node.data or b""
        return self._read_bytes(node.origin)

    def put(self, path: str, node: PatchNode) -> None:
        """A file has this name from now on."""
        self.before(path)
        self._now[path] = node

    def drop(self, path: str, hunks: tuple[Landed, ...] = ()) -> None:
        """The file that had this name before the patch is gone, unless another has taken the name."""
        if not self._taken_over(path, self.now(path)):
            self._now[path] = None
        self._gone[path] = hunks

    def changes(self) -> list[PatchStep]:
        """What is to be done: deletions, copies, moves and then writes."""
        moves = self._moves()
        found = [self._change(path, node, moves) for path, node in self._now.items()]
        order = ("delete", "copy", "move", "write")
        return sorted((one for one in found if one is not None), key=lambda one: order.index(one.kind))

    def _moves(self) -> dict[str, str]:
        """From the old name to the new one, for files that can simply be moved."""
        moves: dict[str, str] = {}
        for path, node in self._now.items():
            origin = node.origin if node is not None else None
            if origin is None or origin == path or origin in moves or self.before(path) is not None:
                continue
            left = self.now(origin)
            inside = path.startswith(origin + "/") or origin.startswith(path + "/")
            if (left is None or left.origin != origin) and not inside:
                moves[origin] = path
        return moves

    def _change(self, path: str, node: PatchNode | None, moves: dict[str, str]) -> PatchStep | None:
        was = self.before(path)
        if node is None:
            deleted = was is not None and path not in moves
            return PatchStep("delete", path, hunks=self._gone.get(path, ())) if deleted else None
        origin, text = node.origin, self._new_text(node)
        kind: StepKind = "write"
        if origin is None:
            text = text if node.data is not None else node.text or ""
        elif origin == path:
            if text is None and node.data is None and node.mode is None:
                return None
        elif moves.get(origin) == path:
            kind = "move"
        else:
            kept = self.now(origin)
            stays = origin in moves or (kept is not None and kept.origin == origin)
            kind, text = ("copy", text) if stays and was is None else ("write", self.text(node))
        source = None if origin == path else origin
        return PatchStep(kind, path, text, source, node.mode, was is None or path in moves, node.hunks, node.data)

    def _new_text(self, node: PatchNode) -> str | None:
        same = node.text is None or (node.origin is not None and node.text == self.text(PatchNode(origin=node.origin)))
        return None if same else node.text
