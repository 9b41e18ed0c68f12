"""One MCP server of the operator's: its tools, resources and prompts, trusted as far as they were seen."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolroll.host.mcp import results as answers
from toolroll.host.mcp.definitions import Definition, definitions, mirrored
from toolroll.host.mcp.lifecycle import Life, World
from toolroll.host.mcp.offered import Follow, Offered, effects_of, outside, shown_name
from toolroll.host.mcp.pins import changes
from toolroll.host.runtime.cancellation import Token
from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Checker

if TYPE_CHECKING:
    from toolroll.host.mcp.config import Entry
    from toolroll.host.mcp.results import Answer
    from toolroll.host.mcp.session import Session
    from toolroll.host.runtime.call import Call

_OLD = 60.0  # seconds after which a server that cannot tell of changes is asked for its tools again
_BETWEEN = 0.2  # seconds between two looks at the tools of a server that says on and on that they are others


@dataclass(frozen=True)
class Known:
    """A tool of a server: as it is now, and as it was when it was first seen."""

    now: Definition
    shown: Definition
    """What the model may read: the first one, until somebody has agreed to the other."""
    change: str = ""
    checker: Checker = field(default_factory=lambda: Checker({}))


class Remote:
    """One server. Nothing is started before it is needed."""

    def __init__(self, entry: Entry, world: World) -> None:
        self.entry = entry
        self._world = world
        self._life = Life(entry, world, self._changed)
        self._tools: dict[str, Known] = {}
        self._of: Session | None = None
        self._at = 0.0
        self._stale = False
        self._given: dict[str, Offered] = {}
        self._follow: Follow | None = None
        self._renewing = threading.Lock()
        self._closed = threading.Event()

    @property
    def name(self) -> str:
        return self.entry.name

    def offered(self) -> list[Offered]:
        """Its tools for a kit, which can be called as they are.

        What was seen before is taken from the pins, without starting the server.
        """
        if self._of is None and (pinned := self._world.pins.of(self.entry)):
            known = [one for one in pinned.values() if self._is_wanted(one)]
        else:
            token = Token(self.entry.start_timeout + self.entry.timeout)
            known = [one.shown for one in self.tools(token).values() if not one.now.problem]
        offered = [self._offered(one) for one in known]
        self._given = {one.name: one for one in offered}
        return offered

    def tool(self, name: str) -> Offered:
        """One of its tools for a kit."""
        return self._offered(self._find(name, Token(self.entry.start_timeout + self.entry.timeout)).shown)

    def follow(self, follow: Follow) -> None:
        """Call this whenever the tools are others than those that were `offered`."""
        self._follow = follow

    def tools(self, token: Token) -> dict[str, Known]:
        """Its tools as they are now, by the names that it gives them."""
        session = self._life.session
        alive = session is not None and session is self._of and session.line.gone is None
        old = bool(self.entry.url) and time.monotonic() - self._at > _OLD
        if not alive or old or self._stale:
            self._stale = False
            self._list(token)
        return self._tools

    def call(self, name: str, arguments: Mapping[str, Any], call: Call, *, authorised: bool = False) -> Answer:
        """What a tool answers. `authorised`: the guard has let this very call pass already."""
        known = self._find(name, call.token)
        if known.now.problem:
            raise ToolError(ErrorCode.UNSUPPORTED, f"The tool {name!r} cannot be used: {known.now.problem}.")
        checked, _ = known.checker.check(arguments)
        if not authorised:
            self._world.guard.authorise(shown_name(self.entry, name), self._effects(known.now), checked)
        if known.change:
            self._confirm(known, call.token)
        self._world.taint.check_call(call, self._effects(known.now))
        params, headers = {"name": name, "arguments": checked}, mirrored(known.now.schema, checked)

        def ask(session: Session, deadline: float) -> dict[str, Any]:
            return session.ask("tools/call", params, call.token, deadline, progress=call.progress, headers=headers)

        result = self._life.use(call.token, ask, again=False)
        answer = answers.called(result, self.name, name, call.limits.output_chars, self._life.hide)
        self._world.taint.notice_result(self._effects(known.now), (), checked, str(answer))
        return answer

    def read(self, uri: str, call: Call) -> Answer:
        """What is in a resource."""
        self._require("resources", call.token)
        self._world.taint.check_call(call, self._outside)
        result = self._ask("resources/read", {"uri": uri}, call.token)
        answer = answers.contents(result, self.name, uri, call.limits.output_chars, self._life.hide)
        self._world.taint.notice_result(Effect.READ | self._outside, (uri,), {}, str(answer))
        return answer

    def prompt(self, name: str, arguments: Mapping[str, Any], call: Call) -> Answer:
        """A prompt with its blanks filled in."""
        self._require("prompts", call.token)
        self._world.taint.check_call(call, self._outside)
        texts = {key: value if isinstance(value, str) else str(value) for key, value in arguments.items()}
        result = self._ask("prompts/get", {"name": name, "arguments": texts}, call.token)
        return answers.prompt(result, self.name, name, call.limits.output_chars, self._life.hide)

    def resources(self, token: Token) -> list[Mapping[str, Any]]:
        """Its resources, and the templates of further ones."""
        return [*self._every("resources", "resources/list", "resources", token), *self._templates(token)]

    def prompts(self, token: Token) -> list[Mapping[str, Any]]:
        """Its prompts."""
        return self._every("prompts", "prompts/list", "prompts", token)

    def close(self) -> None:
        """End it."""
        self._follow = None
        self._closed.set()
        self._life.close()

    def _find(self, name: str, token: Token) -> Known:
        known = self.tools(token)
        if name in known:
            return known[name]
        import difflib

        near = difflib.get_close_matches(name, known, n=3)
        names = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(known) or 'none'}."
        raise ToolError(ErrorCode.NOT_FOUND, f"The MCP server {self.name!r} has no tool {name!r}. {names}")

    def _list(self, token: Token) -> None:
        def ask(session: Session, deadline: float) -> tuple[Session, list[Any]]:
            return session, session.every("tools/list", "tools", token, deadline) if session.can("tools") else []

        self._of, raw = self._life.use(token, ask, again=True)
        self._at = time.monotonic()
        found = [one for one in definitions(raw) if self._is_wanted(one)]
        pinned = self._world.pins.of(self.entry)
        if fresh := [one for one in found if one.name not in pinned and not one.problem]:
            self._world.pins.add(self.entry, fresh, token)
        self._take({one.name: _known(one, pinned.get(one.name, one)) for one in found})

    def _take(self, tools: dict[str, Known]) -> None:
        self._tools = tools
        if self._follow is None:
            return
        offered = [self._offered(one.shown) for one in tools.values() if not one.now.problem]
        before, self._given = self._given, {one.name: one for one in offered}
        gone = [name for name, one in before.items() if self._given.get(name) != one]
        come = [one for one in offered if before.get(one.name) != one]
        if gone or come:
            self._follow(gone, come)

    def _confirm(self, known: Known, token: Token) -> None:
        """Ask whether a tool that is not what it was may be used all the same."""
        from toolroll.host.approval.guard import ApprovalRequest

        name = shown_name(self.entry, known.now.name)
        shown = {"before": _told(known.shown), "now": _told(known.now)}
        why = (
            f"the tool {known.now.name!r} of the MCP server {self.name!r} is not what it was when it was first seen: "
            f"the server has changed {known.change}. The user can approve it or remove {self._world.pins.path!r}"
        )
        request = ApprovalRequest(
            name, self._effects(known.now), {"server": self.name, "tool": known.now.name, **shown}, why
        )
        self._world.guard.require(request)
        self._world.pins.add(self.entry, [known.now], token)
        self._take({**self._tools, known.now.name: _known(known.now, known.now)})

    def _changed(self) -> None:
        """The server says that its tools are others now; whoever follows them is told, in a thread of its own."""
        self._stale = True
        if self._follow is not None and self._renewing.acquire(blocking=False):
            threading.Thread(target=self._renew, name="toolroll mcp tools", daemon=True).start()

    def _renew(self) -> None:
        try:
            with suppress(ToolError):  # whoever uses the server next is told what is wrong with it
                while self._stale and not self._closed.wait(max(0.0, self._at + _BETWEEN - time.monotonic())):
                    self.tools(Token(self.entry.timeout))
        finally:
            self._renewing.release()

    def _ask(self, method: str, params: dict[str, Any], token: Token) -> dict[str, Any]:
        return self._life.use(token, lambda one, until: one.ask(method, params, token, until), again=True)

    def _every(self, what: str, method: str, key: str, token: Token) -> list[Mapping[str, Any]]:
        def ask(session: Session, deadline: float) -> list[Any]:
            return session.every(method, key, token, deadline) if session.can(what) else []

        return [one for one in self._life.use(token, ask, again=True) if isinstance(one, Mapping)]

    def _templates(self, token: Token) -> list[Mapping[str, Any]]:
        try:
            return self._every("resources", "resources/templates/list", "resourceTemplates", token)
        except ToolError as error:
            if error.code is not ErrorCode.UNSUPPORTED:
                raise
            return []  # a server may have resources and know nothing of templates

    def _require(self, what: str, token: Token) -> None:
        if not self._life.use(token, lambda session, _: session.can(what), again=True):
            raise ToolError(ErrorCode.UNSUPPORTED, f"The MCP server {self.name!r} offers no {what}.")

    def _is_wanted(self, one: Definition) -> bool:
        return self.entry.tools is None or one.name in self.entry.tools

    def _effects(self, one: Definition) -> Effect:
        return effects_of(self.entry, one, self._world.spawner.writes(self.entry), self._world.guard.policy.network)

    @property
    def _outside(self) -> Effect:
        """Whether what the server is asked may reach another machine."""
        return outside(self.entry, self._world.guard.policy.network)

    def _offered(self, one: Definition) -> Offered:
        name = shown_name(self.entry, one.name)
        about = f"From the MCP server {self.name!r}: {one.description}"
        return Offered(name, about, self._effects(one), dict(one.schema), self, one.name)


def _known(now: Definition, first: Definition) -> Known:
    change = changes(first, now)
    return Known(now, first if change else now, change, Checker(dict(now.schema)))


def _told(one: Definition) -> dict[str, Any]:
    return {"description": one.description, "parameters": one.schema, "annotations": one.annotations}
