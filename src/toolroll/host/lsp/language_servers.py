"""What tools ask of language servers: problems, hovers, definitions, references, renames."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from toolroll.host.lsp.pool import Pool, Running, Spawn
from toolroll.result import ErrorCode, ToolError
from toolroll.text.positions import Positions

if TYPE_CHECKING:
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.lsp.answers import FileEdits, Hovered, Location, Places, Report
    from toolroll.host.lsp.client import Client
    from toolroll.host.lsp.diagnostics import Judgement
    from toolroll.host.lsp.positions import Question
    from toolroll.host.lsp.servers import Server
    from toolroll.host.runtime.cancellation import Token
    from toolroll.host.search.search import Search

T = TypeVar("T")
_TOGETHER = 32  # files that a server is asked about at once
_GATHERED = 200  # files that a server is shown so that it knows all uses of a name
_MOST_BYTES = 4_000_000
_REMEMBERED = 1000
_UNREADABLE = "it is gone, is no text, or is larger than 4 MB"


class Servers:
    """Asks language servers. Paths are real ones, from the workspace; several threads may ask at a time."""

    def __init__(
        self,
        files: Workspace,
        search: Search,
        *,
        spawn: Spawn,
        choice: Mapping[str, str] | None = None,
        seconds: float = 30.0,
        start_seconds: float = 30.0,
        memory: int | None = None,
    ) -> None:
        """`choice` names the program for a language; `seconds` is how long an answer may take, `start_seconds` a
        start; `memory` is how many bytes a server may hold before it is ended. Nothing is started yet."""
        self._files = files.at(".")
        self._search = search
        self._pool = Pool(
            files.root,
            self._text,
            spawn=spawn,
            choice=choice or {},
            seconds=seconds,
            start_seconds=start_seconds,
            memory=memory,
        )
        self._lock = threading.Lock()
        self._reports: dict[str, Report] = {}

    def diagnose(self, paths: Sequence[str], token: Token, language: str | None = None) -> list[Report]:
        """What is wrong with each file, in the order given. A file that nobody could judge says why."""
        from toolroll.host.lsp.answers import Report

        found: dict[str, Report] = {}
        groups: dict[str, list[str]] = {}
        for path in dict.fromkeys(paths):
            try:
                groups.setdefault(self._pool.server(path, language).program, []).append(path)
            except ToolError as error:
                found[path] = Report(path, "", None, error.message, code=error.code)
        for group in groups.values():
            server = self._pool.server(group[0], language)
            for at in range(0, len(group), _TOGETHER):
                found |= self._checked(server, group[at : at + _TOGETHER], token)
        return [found[path] for path in paths]

    def hover(self, path: str, line: int, character: int, token: Token, language: str | None = None) -> Hovered | None:
        """What stands at a place; None when the server has nothing to tell."""
        return self._ask(path, line, character, token, language, lambda question, _: question.hover())

    def definition(self, path: str, line: int, character: int, token: Token, language: str | None = None) -> Places:
        """Where what stands at a place is defined."""
        from toolroll.host.lsp.answers import Places

        return self._ask(
            path, line, character, token, language, lambda question, _: Places(question.definition(self._text))
        )

    def references(self, path: str, line: int, character: int, token: Token, language: str | None = None) -> Places:
        """Everywhere that what stands at a place is named, its definition included."""
        from toolroll.host.lsp.answers import Places

        def ask(question: Question, client: Client) -> Places:
            complete = self._gather(client, question.word, token) and self._settled(client, token)
            return Places(question.references(self._text), complete)

        return self._ask(path, line, character, token, language, ask)

    def rename(
        self, path: str, line: int, character: int, new: str, token: Token, language: str | None = None
    ) -> list[FileEdits]:
        """What a rename would change, by file; nothing is changed."""

        def ask(question: Question, client: Client) -> list[FileEdits]:
            if not self._gather(client, question.word, token):
                raise ToolError(
                    ErrorCode.TOO_LARGE,
                    f"{question.word!r} stands in more than {_GATHERED} files, more than {client.server.program} "
                    "can be shown at once. Nothing was changed: use `multiedit`.",
                )
            if not self._settled(client, token):
                raise ToolError(
                    ErrorCode.TIMEOUT,
                    f"{client.server.program} still reads the project. Nothing was changed: try again.",
                )
            found = question.rename(new, self._text)
            if client.server.renames_all and found:
                _check_own(question.word, question.definition(self._text), found)
            return found

        return self._ask(path, line, character, token, language, ask)

    def previous(self, path: str) -> Report | None:
        """What was last remembered of a file."""
        return self._reports.get(path)

    def remember(self, reports: Sequence[Report]) -> None:
        """Keep what is known now, to tell later what is new."""
        with self._lock:
            for report in reports:
                if report.problems is not None:
                    self._reports.pop(report.path, None)
                    self._reports[report.path] = report
            for path in list(self._reports)[: max(0, len(self._reports) - _REMEMBERED)]:
                del self._reports[path]

    def running(self) -> list[Running]:
        """The servers that run now."""
        return self._pool.running()

    def close(self) -> None:
        """End all servers and whatever they started."""
        self._pool.close()

    def _checked(self, server: Server, paths: Sequence[str], token: Token) -> dict[str, Report]:
        """The reports of some files of one server. That one fails is told of its files, and ends no others."""
        from toolroll.host.lsp.answers import Report

        if missing := _no_checker(server):
            return {path: Report(path, "", None, missing, code=ErrorCode.UNSUPPORTED) for path in paths}
        try:
            return self._check(server, paths, token)
        except ToolError as error:
            if error.code not in (ErrorCode.UNSUPPORTED, ErrorCode.EXECUTION, ErrorCode.TOO_LARGE, ErrorCode.TIMEOUT):
                raise
            token.check()  # when the time of the whole call is up, it is the call that failed
            return {path: Report(path, "", None, error.message, server.program, error.code) for path in paths}

    def _check(self, server: Server, paths: Sequence[str], token: Token) -> dict[str, Report]:
        """The same; what changes while it is judged is judged again."""
        from toolroll.host.lsp.answers import Report

        done: dict[str, Report] = {}
        left = list(paths)
        deadline = self._pool.deadline(token)
        while left:
            found = {path: self._text(path) for path in left}
            texts = {path: text for path, text in found.items() if text is not None}
            done |= {
                path: Report(path, "", None, _UNREADABLE, code=ErrorCode.UNSUPPORTED)
                for path in found.keys() - texts.keys()
            }
            judged = self._judged(server, texts, token, deadline)
            late = time.monotonic() >= deadline
            left = []
            for path, problems in judged.items():
                if not late and (problems is None or self._text(path) != texts[path]):
                    left.append(path)  # it was changed while it was judged
                else:
                    done[path] = self._report(server, path, texts[path], problems)
        return done

    def _judged(
        self, server: Server, texts: Mapping[str, str], token: Token, deadline: float
    ) -> Mapping[str, Judgement]:
        from toolroll.host.jsonrpc.connection import LateError
        from toolroll.host.lsp.diagnostics import check

        try:
            return self._pool.use(server, token, lambda client: check(client, texts, token, deadline)) if texts else {}
        except LateError:
            return dict.fromkeys(texts)

    def _report(self, server: Server, path: str, text: str, problems: Judgement) -> Report:
        from toolroll.host.lsp.answers import Report

        if isinstance(problems, str):
            return Report(path, text, None, problems, server.program, ErrorCode.EXECUTION)
        if problems is not None and self._text(path) == text:
            return Report(path, text, problems, server=server.program)
        reason = (
            "it keeps changing"
            if problems is not None
            else f"{server.program} did not answer within {self._pool.seconds:g} s"
        )
        return Report(path, text, None, reason, server.program, ErrorCode.TIMEOUT)

    def _ask(
        self,
        path: str,
        line: int,
        character: int,
        token: Token,
        language: str | None,
        ask: Callable[[Question, Client], T],
    ) -> T:
        """The answer to a question about a place; what cannot be asked is refused before a server is started."""
        from toolroll.host.jsonrpc.connection import LateError
        from toolroll.host.lsp.positions import Question

        document = self._files.peek(path)
        if len(document.data) > _MOST_BYTES:
            raise ToolError(ErrorCode.TOO_LARGE, f"{path!r} is larger than 4 MB, too much for a language server.")
        offset = Positions(document.text).offset(line, character)
        server = self._pool.server(path, language)
        deadline = self._pool.deadline(token)

        def asked(client: Client) -> T:
            if client.server.loads:
                client.settle(token, deadline)
            answer = ask(Question(client, document.path, document.text, offset, token, deadline), client)
            client.trim([document.path])
            return answer

        try:
            return self._pool.use(server, token, asked)
        except LateError:
            raise ToolError(
                ErrorCode.TIMEOUT,
                f"{server.program} did not answer within {self._pool.seconds:g} s. Try again: it may have been busy.",
            ) from None

    def _gather(self, client: Client, word: str, token: Token) -> bool:
        """Show the server every file that has a word, if it knows open files only; False when there are too many."""
        from toolroll.host.lsp.diagnostics import check
        from toolroll.host.search.query import Query, Scope

        if client.server.whole or not word:
            return True
        include = tuple(f"*{ending}" for ending in client.server.files)
        found = self._search.grep(Query(word, literal=True, whole_word=True), Scope(include=include), token=token)
        paths = list(dict.fromkeys(row.path for row in found.rows))
        texts = {path: text for path in paths[:_GATHERED] if (text := self._text(path)) is not None}
        if client.offers("diagnosticProvider"):
            with client.lock:
                for path, text in texts.items():
                    client.show(path, text)
        else:  # it has taken a file in when it has judged it
            check(client, texts, token, self._pool.deadline(token))
        return found.complete and len(paths) <= _GATHERED

    def _settled(self, client: Client, token: Token) -> bool:
        return client.settle(token, self._pool.deadline(token))

    def _text(self, path: str) -> str | None:
        """A file's text as it is now; None when there is none to be had."""
        try:
            document = self._files.peek(path)
        except (ToolError, OSError):
            return None
        return document.text if len(document.data) <= _MOST_BYTES else None


def _check_own(word: str, defined: Sequence[Location], found: Sequence[FileEdits]) -> None:
    """Raise ToolError for what the workspace only uses, unless it has given it that name itself (`as`)."""
    if not defined or any(one.inside for one in defined):
        return
    if not any(one.text[: edit.start].endswith(" as ") for one in found for edit in one.edits):
        raise ToolError(
            ErrorCode.VALIDATION,
            f"{word!r} is defined outside the workspace, in {defined[0].path.rpartition('/')[2]}, and would keep its "
            "name there. Nothing was changed.",
        )


def _no_checker(server: Server) -> str:
    """What a server lacks in order to find any problem, if it lacks something."""
    import shutil

    if not server.checker or shutil.which(server.checker):
        return ""
    return f"{server.program} finds problems only with {server.checker}, which is not installed"
