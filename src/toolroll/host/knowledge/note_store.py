"""The notes of a workspace: files that people and version control can read too, changed like any other file."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property

import msgspec

from toolroll.host.files.tree import FileTree, TreeItem
from toolroll.host.files.versions import digest
from toolroll.host.files.workspace import Workspace
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.file_lock import hold_lock
from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.text.knowledge import notes
from toolroll.text.knowledge.front_matter import Value
from toolroll.text.knowledge.memories import format_time
from toolroll.text.knowledge.notes import SUFFIX, Note, Type

FOLDER = ".toolroll/notes"
_CODEC = "utf-8"  # said, because a note may quote a declaration of another one
_STATE, _MADE = "notes", "made.json"
_MAX_SUGGESTIONS = 3
_MAX_SAME_NAME = 1000  # notes of one name


class NoteStore:
    """Makes, changes and finds notes. The folder is made with the first one; each note's id is its file's name."""

    def __init__(self, files: Workspace, token: CancelToken) -> None:
        self._files = files.at(".")
        self._tree = FileTree(self._files)
        self._token = token

    def create(self, title: str, content: str, type: Type, tags: Sequence[str]) -> Note:
        """Write a new note; its name comes from its title."""
        text = notes.compose(title, content, type, tags, format_time(time.time()))
        with self._alone():
            id = self._free(notes.name_of(title))
            self._files.write(path(id), text, overwrite=False)
            self._claim(id, text)
        return self._parsed(id, text)

    def read(self, id: str) -> Note:
        """A note by its id; it then counts as seen."""
        where = self._known(id)
        with _told(id):
            return self._parsed(id, self._files.read(where, _CODEC).text)

    def update(
        self, id: str, title: str | None, content: str | None, type: Type | None, tags: Sequence[str] | None
    ) -> Note:
        """Change what is given; what others wrote since it was seen is not overwritten."""
        changes: dict[str, Value] = {}
        if title is not None:
            changes["title"] = notes.check_title(title)
        if type is not None:
            changes["type"] = type
        if tags is not None:
            changes["tags"] = notes.check_tags(tags)
        with self._alone():
            where = self._known(id)
            with _told(id):
                draft = self._files.draft(where, _CODEC)
                text = notes.revise(draft.text, format_time(time.time()), changes, content)
                owned = self._parsed(id, draft.text).origin == "toolroll"
                self._files.save(draft, text)
            if owned:  # else what others wrote is still in it
                self._claim(id, text)
        return self._parsed(id, text)

    def delete(self, id: str) -> str:
        """Remove a note and say where it was; an undo brings it back."""
        with self._alone():
            where = self._known(id)
            self._tree.delete(where, recursive=False)
        return where

    def all(self) -> tuple[list[Note], list[str]]:
        """Every note, the last changed first, and for each file that cannot be read one sentence why."""
        found, faults = [], []
        for item in self._files_of_notes():
            self._token.check()
            id = item.name.removesuffix(SUFFIX)
            try:
                with _told(id):
                    note = self._parsed(id, self._files.peek(path(id), _CODEC).text)
            except ToolError as error:  # one bad file must not hide the others
                faults.append(error.message)
            else:
                found.append(note if note.updated else replace(note, updated=format_time(item.modified)))
        return notes.newest_first(found), faults

    def _parsed(self, id: str, text: str) -> Note:
        """A note, and whether it is as we wrote it: what came with the files was written by others."""
        ours = self._made.get(id) == _digest(text)
        return replace(notes.parse(id, text), origin="toolroll" if ours else "files")

    @cached_property
    def _made(self) -> dict[str, str]:
        """The notes that were made here, with the digest of each as we last wrote it."""
        try:
            with open(f"{self._files.state.path}/{_STATE}/{_MADE}", "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            return {}

    def _claim(self, id: str, text: str) -> None:
        """Remember that a note is ours, while we are alone."""
        self.__dict__.pop("_made", None)
        self._made[id] = _digest(text)
        self._files.state.put(_STATE, _MADE, msgspec.json.encode(self._made))

    def _items(self) -> list[TreeItem]:
        try:
            return self._tree.folder(FOLDER, 1, self._token)[1]
        except ToolError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
            return []

    def _files_of_notes(self) -> list[TreeItem]:
        """Links are not notes, nor is what an editor hides."""
        files = (item for item in self._items() if item.kind == "file" and item.name.endswith(SUFFIX))
        return [item for item in files if not item.name.startswith(".")]

    def _known(self, id: str) -> str:
        """The path of a note that exists."""
        if self._tree.is_file(path(id)):
            return path(id)
        ids = [item.name.removesuffix(SUFFIX) for item in self._files_of_notes()]
        near = difflib.get_close_matches(notes.name_of(id), ids, n=_MAX_SUGGESTIONS, cutoff=0.6)
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "Use action 'list' to see what there is."
        raise ToolError(
            ErrorCode.NOT_FOUND,
            f"There is no note {id!r}. {hint}",
            details={"near": near},
            suggest=tuple(Suggestion("note", {"action": "read", "id": one}) for one in near),
        )

    def _free(self, wanted: str) -> str:
        taken = {item.name.casefold() for item in self._items()}  # some file systems do not tell case apart
        for number in range(1, _MAX_SAME_NAME + 1):
            id = wanted if number == 1 else f"{wanted}-{number}"
            if f"{id}{SUFFIX}".casefold() not in taken:
                return id
        raise ToolError(ErrorCode.CONFLICT, f"There are {_MAX_SAME_NAME} notes {wanted!r}. Use another `title`.")

    def _alone(self) -> AbstractContextManager[None]:
        """One change at a time, among all processes on this workspace."""
        return hold_lock(self._files.state.folder("locks"), "notes", self._token)


def path(id: str) -> str:
    """Where a note lies in the workspace."""
    return f"{FOLDER}/{id}{SUFFIX}"


@contextmanager
def _told(id: str) -> Iterator[None]:
    """The workspace's refusals in the words of notes."""
    try:
        yield
    except ToolError as error:
        if error.code is ErrorCode.CONFLICT:
            raise ToolError(
                ErrorCode.CONFLICT,
                f"Note {id!r} was changed since you last read it, or you never did. "
                "Use action 'read', then redo the change.",
                suggest=(Suggestion("note", {"action": "read", "id": id}),),
            ) from None
        if isinstance(error.details, dict) and "byte" in error.details:
            raise ToolError(ErrorCode.UNSUPPORTED, f"{path(id)!r} is not UTF-8 text. Save it as such.") from None
        raise


def _digest(text: str) -> str:
    return digest(text.encode("utf-8", "surrogatepass")).hex()
