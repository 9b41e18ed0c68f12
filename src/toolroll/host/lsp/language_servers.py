"""Front of the language servers: diagnostics, hovers, definitions, references, renames."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from toolroll.host.lsp.answers import FileEdits, FileReport, HoverText, Location, LocationList, Problem
from toolroll.host.lsp.pool import Authorise, LspPool, RunningServer, Spawn
from toolroll.result import CouldNotLookError, ErrorCode, ToolError
from toolroll.text.positions import Positions

if TYPE_CHECKING:
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.lsp.client import LspClient
    from toolroll.host.lsp.diagnostics import CheckOutcome
    from toolroll.host.lsp.positions import PositionQuery
    from toolroll.host.lsp.servers import LanguageServer
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.search.search import Search

T = TypeVar("T")
_BATCH_FILES = 32  # checked at once
_MAX_OPENED_FILES = 200  # opened so that a server knows all uses of a name
_MAX_FILE_BYTES = 4_000_000
_MAX_REPORTS = 1000
_UNREADABLE = "it is gone, is no text, or is larger than 4 MB"


class LanguageServers:
    """Asks language servers, from any thread. Paths are real paths relative to the workspace."""

    def __init__(
        self,
        files: Workspace,
        search: Search,
        *,
        spawn: Spawn,
        authorise: Authorise = lambda _server, _argv, _asks: None,
        choice: Mapping[str, str] | None = None,
        seconds: float = 30.0,
        start_seconds: float = 30.0,
        memory: int | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`authorise` raises ToolError for a program that must not start. `choice` names the program for a language;
        `seconds` limits an answer, `start_seconds` a start, and `memory` the bytes that a server may hold. Nothing is
        started yet."""
        self._files = files.at(".")
        self._search = search
        limits = seconds, start_seconds, memory, os.environ if environ is None else environ
        self._pool = LspPool(files.root, self._text, spawn, authorise, choice or {}, *limits)
        self._lock = threading.Lock()
        self._reports: dict[str, FileReport] = {}

    def diagnose(self, paths: Sequence[str], token: CancelToken, language: str | None = None) -> list[FileReport]:
        """The diagnostics of each file, in the order given. A report without an answer says why."""
        found: dict[str, FileReport] = {}
        groups: dict[str, list[str]] = {}
        for path in dict.fromkeys(paths):
            try:
                groups.setdefault(self._pool.server(path, language).program, []).append(path)
            except ToolError as error:
                found[path] = FileReport(path, "", None, error.message, code=error.code)
        for group in groups.values():
            server = self._pool.server(group[0], language)
            for at in range(0, len(group), _BATCH_FILES):
                found |= self._check_or_report(server, group[at : at + _BATCH_FILES], token)
        return [found[path] for path in paths]

    def hover(
        self, path: str, line: int, character: int, token: CancelToken, language: str | None = None
    ) -> HoverText | None:
        return self._ask(path, line, character, token, language, lambda query, _: query.hover())

    def definition(
        self, path: str, line: int, character: int, token: CancelToken, language: str | None = None
    ) -> LocationList:
        def ask(query: PositionQuery, _: LspClient) -> LocationList:
            return LocationList(query.definition(self._text))

        return self._ask(path, line, character, token, language, ask)

    def definition_in(self, path: str, text: str, offset: int, token: CancelToken) -> list[Location]:
        """The definition of what stands at an offset of a text that is not written."""
        from toolroll.host.lsp.positions import PositionQuery
        from toolroll.host.rpc.channel import LateError

        deadline = self._pool.deadline(token)

        def asked(client: LspClient) -> list[Location]:
            with client.lock:
                try:
                    return PositionQuery(client, path, text, offset, token, deadline).definition(self._text)
                finally:
                    client.hide(path)

        try:
            return self._pool.use(self._pool.server(path, None), token, asked)
        except LateError:
            return []

    def implementation(self, path: str, line: int, character: int, token: CancelToken) -> LocationList:
        """What implements the symbol at a position, or is implemented by it."""

        def ask(query: PositionQuery, _: LspClient) -> LocationList:
            return LocationList(query.definition(self._text, "implementation"))

        return self._ask(path, line, character, token, None, ask)

    def references(
        self, path: str, line: int, character: int, token: CancelToken, language: str | None = None
    ) -> LocationList:
        """All references to the symbol at a position, its definition included."""

        def ask(query: PositionQuery, client: LspClient) -> LocationList:
            complete = self._open_users(client, query.word, token) and self._settled(client, token)
            return LocationList(query.references(self._text), complete)

        return self._ask(path, line, character, token, language, ask)

    def rename(
        self, path: str, line: int, character: int, new: str, token: CancelToken, language: str | None = None
    ) -> list[FileEdits]:
        """The edits of a rename, by file; nothing is changed."""

        def ask(query: PositionQuery, client: LspClient) -> list[FileEdits]:
            program = client.server.program
            if not self._open_users(client, query.word, token):
                many = f"{query.word!r} stands in more than {_MAX_OPENED_FILES} files, more than {program} can be shown"
                raise ToolError(ErrorCode.TOO_LARGE, f"{many} at once. Nothing was changed: use `multiedit`.")
            if not self._settled(client, token):
                message = f"{program} still reads the project. Nothing was changed: try again."
                raise ToolError(ErrorCode.TIMEOUT, message)
            found = query.rename(new, self._text)
            if client.server.renames_all and found:
                _check_defined_inside(query.word, query.definition(self._text), found)
            return found

        return self._ask(path, line, character, token, language, ask)

    def warm(self, path: str) -> LanguageServer | None:
        """The running server for a file."""
        return self._pool.warm(path)

    def start(self, path: str, token: CancelToken) -> None:
        """Start the server for a file before anybody asks it, unless that takes long or needs a person's consent."""
        server = self._pool.server(path, None)
        if not server.loads:
            self._pool.use(server, token, lambda _: None, asks=False)

    def find_caused(
        self, server: LanguageServer, before: Mapping[str, str], after: Mapping[str, str], token: CancelToken
    ) -> dict[str, list[Problem]]:
        """The problems that a change has caused, by file: see `change_check`. LateError without an answer in time."""
        from toolroll.host.lsp.change_check import find_caused

        deadline = self._pool.deadline(token)
        find = partial(find_caused, before=before, after=after, token=token, deadline=deadline)
        return self._pool.use(server, token, find, asks=False)

    def program(self, path: str, language: str | None = None) -> str:
        """The name of the server that answers for a file; ToolError if there is none."""
        return self._pool.server(path, language).program

    def try_texts(self, texts: Mapping[str, str], token: CancelToken) -> list[FileReport]:
        """The diagnostics that files would have with these texts; nothing is written."""
        reports: list[FileReport] = []
        groups: dict[str, list[str]] = {}
        for path in texts:
            try:
                groups.setdefault(self._pool.server(path, None).program, []).append(path)
            except ToolError as error:
                reports.append(FileReport(path, texts[path], None, error.message, code=error.code))
        for paths in groups.values():
            server = self._pool.server(paths[0], None)
            tried = self._try_texts(server, {path: texts[path] for path in paths}, token)
            for path in paths:
                problems = tried.get(path)
                late = "" if isinstance(problems, list) else problems or f"{server.program} did not answer in time"
                found = problems if isinstance(problems, list) else None
                reports.append(FileReport(path, texts[path], found, late, server.program))
        return reports

    def _try_texts(
        self, server: LanguageServer, texts: Mapping[str, str], token: CancelToken
    ) -> Mapping[str, CheckOutcome]:
        """Show texts that are not on disk to a server, check them, and show the files again."""
        from toolroll.host.lsp.diagnostics import check
        from toolroll.host.rpc.channel import LateError

        deadline = self._pool.deadline(token)

        def tried(client: LspClient) -> Mapping[str, CheckOutcome]:
            with client.lock:
                try:
                    return check(client, texts, token, deadline)
                finally:
                    for path in texts:
                        client.hide(path)

        try:
            return self._pool.use(server, token, tried)
        except LateError:
            return {}

    def previous(self, path: str) -> FileReport | None:
        return self._reports.get(path)

    def remember(self, reports: Sequence[FileReport]) -> None:
        """Store reports, to find new problems later."""
        with self._lock:
            for report in reports:
                if report.problems is not None:
                    self._reports.pop(report.path, None)
                    self._reports[report.path] = report
            for path in list(self._reports)[: max(0, len(self._reports) - _MAX_REPORTS)]:
                del self._reports[path]

    def running(self) -> list[RunningServer]:
        return self._pool.running()

    def close(self) -> None:
        self._pool.close()

    def _check_or_report(
        self, server: LanguageServer, paths: Sequence[str], token: CancelToken
    ) -> dict[str, FileReport]:
        """The reports of some files of one server; a failure of the server goes into the reports."""
        if missing := _missing_checker(server):
            return {path: FileReport(path, "", None, missing, code=ErrorCode.UNSUPPORTED) for path in paths}
        try:
            return self._check(server, paths, token)
        except ToolError as error:
            if error.code not in (ErrorCode.UNSUPPORTED, ErrorCode.EXECUTION, ErrorCode.TOO_LARGE, ErrorCode.TIMEOUT):
                raise
            token.check()  # when the time of the whole call is up, the call fails
            return {path: FileReport(path, "", None, error.message, server.program, error.code) for path in paths}

    def _check(self, server: LanguageServer, paths: Sequence[str], token: CancelToken) -> dict[str, FileReport]:
        """The reports of some files; a file that changes meanwhile is checked again."""
        done: dict[str, FileReport] = {}
        left = list(paths)
        deadline = self._pool.deadline(token)
        while left:
            found = {path: self._text(path) for path in left}
            texts = {path: text for path, text in found.items() if text is not None}
            done |= {
                path: FileReport(path, "", None, _UNREADABLE, code=ErrorCode.UNSUPPORTED)
                for path in found.keys() - texts.keys()
            }
            outcomes = self._run_check(server, texts, token, deadline)
            late = time.monotonic() >= deadline
            left = []
            for path, problems in outcomes.items():
                if not late and (problems is None or self._text(path) != texts[path]):
                    left.append(path)  # it changed during the check
                else:
                    done[path] = self._report(server, path, texts[path], problems)
        return done

    def _run_check(
        self, server: LanguageServer, texts: Mapping[str, str], token: CancelToken, deadline: float
    ) -> Mapping[str, CheckOutcome]:
        from toolroll.host.lsp.diagnostics import check
        from toolroll.host.rpc.channel import LateError

        try:
            return self._pool.use(server, token, lambda client: check(client, texts, token, deadline)) if texts else {}
        except LateError:
            return dict.fromkeys(texts)

    def _report(self, server: LanguageServer, path: str, text: str, problems: CheckOutcome) -> FileReport:
        if isinstance(problems, str):
            return FileReport(path, text, None, problems, server.program, ErrorCode.EXECUTION)
        if problems is not None and self._text(path) == text:
            return FileReport(path, text, problems, server=server.program)
        reason = f"{server.program} did not answer within {self._pool.seconds:g} s"
        reason = reason if problems is None else "it keeps changing"
        return FileReport(path, text, None, reason, server.program, ErrorCode.TIMEOUT)

    def _ask(
        self,
        path: str,
        line: int,
        character: int,
        token: CancelToken,
        language: str | None,
        ask: Callable[[PositionQuery, LspClient], T],
    ) -> T:
        """Run a request about a position; invalid input is refused before a server is started."""
        from toolroll.host.lsp.positions import PositionQuery
        from toolroll.host.rpc.channel import LateError

        document = self._files.peek(path)
        if len(document.data) > _MAX_FILE_BYTES:
            raise ToolError(ErrorCode.TOO_LARGE, f"{path!r} is larger than 4 MB, too much for a language server.")
        offset = Positions(document.text).offset(line, character)
        server = self._pool.server(path, language)
        deadline = self._pool.deadline(token)

        def asked(client: LspClient) -> T:
            if client.server.loads:
                client.settle(token, deadline)
            answer = ask(PositionQuery(client, document.path, document.text, offset, token, deadline), client)
            client.trim([document.path])
            return answer

        try:
            return self._pool.use(server, token, asked)
        except LateError:
            why = f"it did not answer within {self._pool.seconds:g} s."
            text = f"{server.program}{why.removeprefix('it')} Try again: it may have been busy."
            raise CouldNotLookError(server.program, why, message=text, code=ErrorCode.TIMEOUT) from None

    def _open_users(self, client: LspClient, word: str, token: CancelToken) -> bool:
        """Open every file that has the word, if the server knows open files only; False when there are too many."""
        from toolroll.host.lsp.diagnostics import check
        from toolroll.host.search.query import Query, Scope

        if client.server.whole or not word:
            return True
        include = tuple(f"*{ending}" for ending in client.server.files)
        found = self._search.grep(Query(word, literal=True, whole_word=True), Scope(include=include), token=token)
        paths = list(dict.fromkeys(row.path for row in found.rows))
        texts = {path: text for path in paths[:_MAX_OPENED_FILES] if (text := self._text(path)) is not None}
        if client.offers("diagnosticProvider"):
            with client.lock:
                for path, text in texts.items():
                    client.show(path, text)
        else:  # a server without pull diagnostics has read a file when it has checked it
            check(client, texts, token, self._pool.deadline(token))
        return found.complete and len(paths) <= _MAX_OPENED_FILES

    def _settled(self, client: LspClient, token: CancelToken) -> bool:
        return client.settle(token, self._pool.deadline(token))

    def _text(self, path: str) -> str | None:
        """The current text of a file; None when it cannot be read."""
        try:
            document = self._files.peek(path)
        except (ToolError, OSError):
            return None
        return document.text if len(document.data) <= _MAX_FILE_BYTES else None


def _check_defined_inside(word: str, defined: Sequence[Location], found: Sequence[FileEdits]) -> None:
    """Raise ToolError for a name that is defined outside the workspace, unless it is a local alias (`as`)."""
    if not defined or any(one.inside for one in defined):
        return
    if not any(one.text[: edit.start].endswith(" as ") for one in found for edit in one.edits):
        raise ToolError(
            ErrorCode.VALIDATION,
            f"{word!r} is defined outside the workspace, in {defined[0].path.rpartition('/')[2]}, and would keep its "
            "name there. Nothing was changed.",
        )


def _missing_checker(server: LanguageServer) -> str:
    """The program that a server needs for diagnostics, if it is missing."""
    import shutil

    if not server.checker or shutil.which(server.checker):
        return ""
    return f"{server.program} finds problems only with {server.checker}, which is not installed"
