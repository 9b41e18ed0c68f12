"""Judge a change of files in one line: the problems it has caused, the callers it affects, the tests that cover it."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from toolroll.host.files.verdict import find_break, find_undefined
from toolroll.host.lsp.servers import language_of
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.search.query import Query, Scope
from toolroll.result import ToolError
from toolroll.text.code.edit_effects import find_changed_functions, find_unused_imports, is_call, is_definition
from toolroll.text.code.syntax import languages
from toolroll.text.lines import counted

if TYPE_CHECKING:
    from toolroll.host.files.reader import ContentChange
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.lsp.answers import Problem
    from toolroll.host.lsp.language_servers import LanguageServers
    from toolroll.host.search.search import Search

BUDGET_S = 0.3
"""What a verdict may add to a call."""
_SEARCH_S = 2.0  # for the search for callers
_CHECK_S = 5.0  # for the server
_START_DELAY_S = 1.0  # a session that ends sooner starts no server
_MAX_UNANSWERED = 2  # checks in a row, until the server is not asked any more
_MAX_MISSED = 3  # verdicts in a row that are waited for in vain; then they come with the next change only
_MAX_FILES = 20
_MAX_FILE_BYTES = 256_000
_MAX_USERS = 8  # files with callers that are checked too
_MAX_FUNCTIONS = 3
_SHOWN_PROBLEMS = 3
_MESSAGE_CHARS = 160
_UNDEFINED, _WORD = re.compile(r"not defined|undefined|unresolved", re.IGNORECASE), re.compile(r"\w+")
_TEST_NAMES = ("test_{}.py", "{}_test.py", "{}_test.go", "{}.test.*", "{}.spec.*", "{}Test.*", "{}_spec.rb")


@dataclass(frozen=True, slots=True)
class TextChange:
    """The texts of a file before and after a change; a new file was empty before."""

    path: str
    before: str
    after: str


@dataclass(slots=True)
class _Check:
    """The judgement of some changes, which goes on in the background."""

    changes: Sequence[TextChange]
    token: CancelToken = field(default_factory=lambda: CancelToken(_SEARCH_S + _CHECK_S))
    done: threading.Event = field(default_factory=threading.Event)
    said: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The file that decides which server is asked."""
        return next((one.path for one in self.changes if language_of(one.path)), "")


class Verdicts:
    """Judges the changes of one workspace. A call waits for at most `BUDGET_S`; a late verdict comes with the next."""

    def __init__(
        self,
        files: Workspace,
        search: Search,
        servers: Callable[[], LanguageServers | None],
        start_servers: Callable[[], LanguageServers],
        covering: Callable[[str], Sequence[str]],
    ) -> None:
        """`servers`: if they are open; `start_servers` opens them. `covering` names tests that have run a file."""
        self._files = files.at(".")
        self._search = search
        self._servers, self._start_servers, self._covering = servers, start_servers, covering
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._threads: list[threading.Thread] = []
        self._closing = CancelToken()
        self._check: _Check | None = None  # the last one, until its verdict is shown
        self._skipped: dict[str, TextChange] = {}  # while it was under way
        self._unchecked: dict[str, TextChange] = {}  # by a server, which was not started, or because they do not parse
        self._unanswered: Counter[str] = Counter()  # by program, in a row
        self._missed = 0
        self._words: list[str] = []
        self._started: set[str] = set()
        self._tested: set[str] = set()

    def judge(self, changes: Sequence[ContentChange]) -> str:
        """One line about these changes; empty where there is nothing to say."""
        end = time.monotonic() + BUDGET_S
        texts = [text for one in changes[:_MAX_FILES] if (text := _read_texts(one)) is not None]
        with self._lock:
            last = self._check
            self._skipped |= {one.path: _join(self._skipped.get(one.path), one) for one in texts}
            if not self._skipped or self._closed.is_set() or (last is not None and not last.done.is_set()):
                return ""
            self._check = check = _Check(list(self._skipped.values())[-_MAX_FILES:])
            self._skipped = {}
            self._run(self._judge, check)
        said = list(last.said) if last is not None else []
        check.done.wait(max(0.0, end - time.monotonic()) if self._missed < _MAX_MISSED else 0.0)
        with self._lock:
            if check.done.is_set():
                self._check, self._missed = None, 0
            else:
                self._missed += 1
            said += check.said + self._words
            check.said, self._words = [], []
        return " ".join(said)

    def close(self) -> None:
        """Stop the work in the background."""
        with self._lock:
            self._closed.set()
            self._closing.cancel()
            if self._check is not None:
                self._check.token.cancel()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[[_Check], None], check: _Check) -> None:
        thread = threading.Thread(target=work, args=(check,), name="toolroll verdict", daemon=True)
        self._threads = [*(one for one in self._threads if one.is_alive()), thread]
        thread.start()

    def _judge(self, check: _Check) -> None:
        began = time.monotonic()
        try:
            said, users = self._judge_by_text(check.changes)
            with self._lock:
                check.said += said
            said = self._ask_server(check, users) if check.path else []
            with self._lock:
                check.said[:0] = said
            with suppress(ToolError):  # the time is up
                said = self._find_tests([one.path for one in check.changes], check.token)
                with self._lock:
                    check.said += said
            if time.monotonic() - began < BUDGET_S:
                self._missed = 0
        finally:
            check.done.set()

    def _judge_by_text(self, texts: Sequence[TextChange]) -> tuple[list[str], dict[str, str]]:
        """Sentences that need no server, and the texts of files that call changed functions."""
        said: list[str] = []
        users: dict[str, str] = {}
        token = CancelToken(_SEARCH_S)
        for one in texts:
            unused = find_unused_imports(one.path, one.before, one.after)
            said += (
                [f"Imported but not used: {', '.join(unused)} ({one.path}:{min(unused.values())})."] if unused else []
            )
            with suppress(ToolError):  # the time is up
                said += self._find_callers(one, users, token)
        return said, users

    def _find_callers(self, change: TextChange, users: dict[str, str], token: CancelToken) -> list[str]:
        functions = find_changed_functions(change.path, change.before, change.after)
        said = []
        for name in [*functions.changed, *functions.removed][:_MAX_FUNCTIONS]:
            suffix = change.path.rpartition(".")[2]
            query = Query(f"{name}(", literal=True)
            found = self._search.grep(query, Scope(include=(f"*.{suffix}",)), sort="path", token=token)
            calls = [row for row in found.rows if is_call(row.text, name)]
            if any(is_definition(row.text, name) and row.path != change.path for row in found.rows):
                continue  # others have the same name: who calls which is not known by it
            paths = list(dict.fromkeys(row.path for row in calls))
            for path in paths[: _MAX_USERS - len(users)]:
                if (text := self._read(path)) is not None:
                    users[path] = text
            if calls:
                gone = "" if name in functions.changed else ", which is gone"
                where = f"{counted(len(calls), 'call')} of `{name}`{gone}, in {counted(len(paths), 'file')}"
                said.append(f"{where}: references {json.dumps({'symbol': name})}.")
        return said

    def _find_tests(self, paths: Sequence[str], token: CancelToken) -> list[str]:
        """The tests that cover these files, told once for each file."""
        new = [path for path in paths if path not in self._tested]
        self._tested.update(new)
        ran, named = dict[str, None](), dict[str, None]()
        for path in new:
            ran |= dict.fromkeys(self._covering(path))
            stem = path.rpartition("/")[2].partition(".")[0]
            names = ",".join(one.format(stem) for one in _TEST_NAMES)
            found = self._search.find(f"{{{names}}}", Scope(), kind="file", sort="path", token=token).entries
            named |= {found[0].path: None} if len(found) == 1 else {}  # of several, who knows which are meant
        tests = [path for path in (ran or named) if path not in paths]
        if not tests:
            return []
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        if not ran:
            return [f"Likely tests: {tests[0]}{more}."]
        return [f'Covered by {tests[0]}{more}: tests {{"affected": true}}.']

    def _ask_server(self, check: _Check, users: Mapping[str, str]) -> list[str]:
        """What a running server says; without one, it is started for later changes."""
        from toolroll.host.rpc.channel import LateError
        from toolroll.host.rpc.codecs import PeerGoneError

        servers, language = self._servers(), language_of(check.path) or ""
        server = None if servers is None else servers.warm(check.path)
        if servers is None or server is None:
            with self._lock:
                if language not in self._started and not self._closed.is_set():
                    self._started.add(language)
                    self._unchecked |= {one.path: one for one in check.changes}
                    self._run(self._start, check)
            return []
        if self._unanswered[server.program] >= _MAX_UNANSWERED:
            return []
        changes = self._collect(check)
        texts = {**users, **{path: one.after for path, one in changes.items()}}
        after = {path: text for path, text in texts.items() if path.endswith(tuple(server.files))}
        before = {path: one.before for path, one in changes.items() if path in after}
        try:
            found = servers.find_caused(server, before, after, check.token)
        except (LateError, PeerGoneError, ToolError):
            self._unanswered[server.program] += 1
            if self._unanswered[server.program] == _MAX_UNANSWERED:
                self._words.append(f"{server.program} does not answer: changes are not checked with it any more.")
            return []
        self._unanswered[server.program] = 0
        for path, problems in found.items():
            if (change := changes.get(path)) is not None:
                names = find_undefined(path, change.before.encode(), change.after.encode())
                found[path] = [one for one in problems if not _is_about(one, names)]
        return _describe(server.program, found)

    def _collect(self, check: _Check) -> dict[str, TextChange]:
        """What the server is asked about: these changes and earlier ones, without files that do not parse any more.

        Their tool has said so; they are checked when they parse again.
        """
        early = {path: one for path, one in self._unchecked.items() if self._read(path) == one.after}
        changes = early | {one.path: _join(self._unchecked.get(one.path), one) for one in check.changes}
        broken = {one.path for one in check.changes if find_break(one.path, one.before.encode(), one.after.encode())}
        self._unchecked = {path: one for path, one in changes.items() if path in broken}
        return {path: one for path, one in changes.items() if path not in broken}

    def _start(self, check: _Check) -> None:
        """Start the server for a file, after a while in which the kit may be closed."""
        if not self._closed.wait(_START_DELAY_S):
            with suppress(ToolError, OSError):  # no call waits for it
                self._start_servers().start(check.path, self._closing)

    def _read(self, path: str) -> str | None:
        try:
            return self._files.peek(path).text
        except (ToolError, OSError):
            return None


def _join(earlier: TextChange | None, change: TextChange) -> TextChange:
    """Two changes of one file as one, if it was not changed in between."""
    joined = earlier is not None and earlier.after == change.before
    return replace(change, before=earlier.before) if earlier is not None and joined else change


def _read_texts(change: ContentChange) -> TextChange | None:
    """The texts of a changed source; None for what is no code, or too large."""
    known = languages.by_name(change.path)
    if known is None or not known.code or not change.changed or len(change.after) > _MAX_FILE_BYTES:
        return None
    try:
        return TextChange(change.path, (change.before or b"").decode(), change.after.decode())
    except UnicodeDecodeError:
        return None


def _is_about(problem: Problem, names: Mapping[str, int]) -> bool:
    """Whether it says that one of these names is not defined, as the tool of the change has done."""
    return bool(_UNDEFINED.search(problem.message) and names.keys() & set(_WORD.findall(problem.message)))


def _describe(program: str, found: Mapping[str, Sequence[Problem]]) -> list[str]:
    rows = [(path, one) for path, problems in found.items() for one in problems]
    if not rows:
        return []
    shown = [f"{path}:{one.range.line}: {_short(one)}" for path, one in rows[:_SHOWN_PROBLEMS]]
    left = len(rows) - len(shown)
    files = list(dict.fromkeys(path for path, _ in rows))
    more = f"; {left} more: diagnostics {json.dumps({'files': files})}" if left else ""
    return [f"New {'problems' if len(rows) > 1 else 'problem'} ({program}): {'; '.join(shown)}{more}."]


def _short(problem: Problem) -> str:
    said = " ".join(problem.message.split()).rstrip(".")
    said = said if len(said) <= _MESSAGE_CHARS else f"{said[:_MESSAGE_CHARS]}..."
    return f"{said} [{problem.code}]" if problem.code else said
