"""Projects in a workspace: their folders, their own programs, and the reports that programs write."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.host.files.root import Root
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.shell.interpreter import walk_up
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.runtime.call import Call
    from toolroll.host.search.query import Scope
    from toolroll.host.search.search import FindResult, Search
    from toolroll.host.shell.shell import Shell

_MAX_REPORT_BYTES = 64 << 20
_ENVIRONMENTS = (".venv/bin", "venv/bin")


@dataclass(frozen=True, slots=True)
class Projects:
    """The projects of a workspace, for one call: their files and their own programs."""

    files: Workspace
    search: Search
    shell: Shell
    """Runs on behalf of the call."""
    call: Call

    @property
    def root(self) -> str:
        return self.files.root.path

    def locate(self, path: str) -> str:
        """A path as the workspace has it; ToolError for one in a further root, where programs would not find it."""
        parts = self.files.key(path)
        name, _, _ = self.files.root.owner(parts)
        if name:
            raise ToolError(
                ErrorCode.UNSUPPORTED,
                f"{path!r} is in the root {name!r}; this works in the workspace. Use `bash` with `cwd` {name!r}.",
            )
        return "/".join(parts) or "."

    def find_files(self, pattern: str, scope: Scope) -> FindResult:
        return self.search.find(pattern, scope, sort="path", token=self.call.token)

    def program(self, name: str, folder: str = ".") -> str | None:
        """A program by its name: the project's own, else the one beside our Python, else one on PATH."""
        if own := self._own(name, folder, (*_ENVIRONMENTS, "node_modules/.bin")):
            return own
        beside = os.path.join(os.path.dirname(sys.executable), name)
        if os.access(beside, os.X_OK):
            return beside
        return name if self.shell.has(name) else None

    def runs_workspace(self, program: str) -> bool:
        """Whether a program, by its path or as PATH has it, is one that commands can change."""
        import shutil

        found = shutil.which(program, path=self.shell.environment.get("PATH"))
        return found is not None and self.shell.programs.is_changeable(found)

    def python(self, folder: str = ".") -> str:
        """The Python of the project in this folder."""
        return self.shell.python(folder)

    def _own(self, name: str, folder: str, places: Iterable[str]) -> str | None:
        paths = (os.path.join(self.root, where, place, name) for where in walk_up(folder) for place in places)
        return next((os.path.normpath(path) for path in paths if os.access(path, os.X_OK)), None)

    def file_names(self, folder: str) -> set[str]:
        with closing_fd(self.files.root.folder(folder)) as fd:
            return set(os.listdir(fd))

    def read_text(self, path: str) -> str:
        """The text of a small file; empty when it cannot be read."""
        try:
            return self.files.peek(path).text
        except (ToolError, OSError):
            return ""

    @contextmanager
    def scripts(self, texts: Mapping[str, tuple[str, str]]) -> Iterator[dict[str, str]]:
        """Temporary files outside the workspace by name, from texts and suffixes; they go at the end."""
        made: dict[str, str] = {}
        try:
            for name, (content, suffix) in texts.items():
                made[name] = self.shell.script(content, suffix)
            yield made
        finally:
            _remove(made.values())


def _remove(paths: Iterable[str]) -> None:
    """Remove temporary files, and the folders beside them."""
    import shutil

    for path in paths:
        with suppress(OSError):
            os.unlink(path)
        for beside in (".d", ".cache"):
            shutil.rmtree(path + beside, ignore_errors=True)


def read_report(path: str, inner: str = "") -> bytes:
    """Read what a program wrote to a temporary file, or to the file beside it with this suffix."""
    folder, name = os.path.split(path)
    # The program could have put a link there: nothing outside that folder is read.
    with closing(Root(folder)) as root:
        try:
            fd = root.file(name + inner)
        except (OSError, ToolError):
            return b""
    with os.fdopen(fd, "rb") as file:
        return file.read(_MAX_REPORT_BYTES)


def driver_source(name: str) -> str:
    """The text of one of our drivers."""
    from importlib.resources import files

    return (files("toolroll.host.dev.drivers") / f"{name}.py").read_text("utf-8")
