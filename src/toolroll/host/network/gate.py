"""Which hosts commands reach: judged by name, asked about, looked up and connected to outside the sandbox."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.host.approval.request import ApprovalRequest, Consent
from toolroll.host.http.deadline import Deadline
from toolroll.host.http.network import Exchange, GuardedBackend, Route, look_up
from toolroll.host.http.proxy import parse as parse_proxy
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.policy import urls
from toolroll.policy.effects import Effect
from toolroll.policy.network import format_network, name_host, opened, parse_scope, ports_of
from toolroll.result import ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.network.credentials import Credential

_CONNECT_SECONDS = 30.0
_MOST_REFUSALS = 100  # that are remembered
Command = Callable[[], int]
"""Gives the first process of a command; OSError if it is gone."""
_SOME_PUBLIC_ADDRESS = ("1.1.1.1",)  # to judge what can be judged before a name is looked up


class UnreachedError(Exception):
    """A host is not reached; the message says why."""

    def __init__(self, why: str, *, allowed: bool = False) -> None:
        super().__init__(why)
        self.allowed = allowed  # it may be reached, but did not answer


@dataclass(frozen=True, slots=True)
class _Refusal:
    at: float
    place: str
    why: str  # a sentence; empty where the setting would allow it
    command: int = 0  # its first process; 0 where it is not known


class HostGate:
    """Connects to hosts on behalf of commands. Any thread may use it.

    A host that is not among `names` is asked about, if there is somebody to ask. An answer holds for the command that
    has asked, or as long as the approver said. `shown` is the setting that gave the names. `credentials` are by scope,
    the first that covers a request before others. `ask_before` says what is to be asked before a command connects to a
    host that is named. `resolve` and `route` replace the system's resolver and routes.
    """

    def __init__(
        self,
        names: Iterable[str],
        guard: Guard,
        *,
        shown: tuple[str, ...] = (),
        proxy: str = "",
        credentials: Mapping[str, Credential] | None = None,
        ask_before: Callable[[str], ApprovalRequest | None] = lambda _place: None,
        resolve: urls.Resolve | None = None,
        route: Route | None = None,
    ) -> None:
        self.token = CancelToken()
        self._names = tuple(names)
        self._shown = shown or self._names
        self._guard = guard
        self._allow = (*opened(self._names), *guard.policy.hosts)
        self._backend = GuardedBackend(route, parse_proxy(proxy))
        self._resolve = resolve
        self._credentials = [(parse_scope(scope), one) for scope, one in (credentials or {}).items()]
        self._credentials.sort(key=lambda one: -len(one[0].path))
        self._trust: ssl.SSLContext | None = None
        self._ask_before = ask_before
        self._free: set[int] = set()  # commands for which `ask_before` is answered
        self._asking = threading.Lock()
        self._answers: dict[int, dict[tuple[str, ...], Consent]] = {}  # by command
        self._heirs: dict[int, dict[tuple[str, ...], Consent]] = {}  # by thread: for the command that it starts
        self._agreed_at = 0.0
        self._refusals: deque[_Refusal] = deque(maxlen=_MOST_REFUSALS)

    def connect(self, url: str, command: Command = int) -> socket.socket:
        """A connection to the host of a URL, at an address that was judged; UnreachedError if there is none.

        `command` gives the first process of the command that asks, looked up only when that matters.
        """
        try:
            target = urls.parse(url)
        except ValueError as error:
            raise self._refuse(url[:200], f"{error}", command) from None
        place = name_host(target.host, target.port)
        # Before anything is asked or looked up: a name can carry data out.
        self._check(urls.judge(url, lambda _: _SOME_PUBLIC_ADDRESS, self._allow), place, command)
        is_named, request = target.port in self.ports(target.host), self._ask_before(place)
        if not is_named and not self._agreed(_host_request(place, request), command):
            self._refusals.append(_Refusal(time.time(), place, "", command()))
            raise UnreachedError(f"{place} is not among the hosts that commands may reach. {self._how([place])}")
        if request is not None and is_named and command() not in self._free and not self._agreed(request, command):
            why = "the workspace has secrets that the command can read, and the user did not agree"
            raise self._refuse(place, why, command)
        deadline = Deadline(self.token, _CONNECT_SECONDS)
        try:
            verdict = urls.judge(url, self._resolve or (lambda name: look_up(name, deadline)), self._allow)
            self._check(verdict, place, command)
            exchange = Exchange(deadline, verdict.addresses, target.host, 0)
            return self._backend.connect_tcp(target.host, target.port, exchange).socket
        except (OSError, ToolError) as error:
            why = error.message if isinstance(error, ToolError) else f"{place} does not answer: {error.strerror}."
            self._refusals.append(_Refusal(time.time(), place, why, command()))
            raise UnreachedError(why, allowed=True) from error

    def begin(self, command: int, *, is_agreed: bool = False) -> None:
        """A command was started: no earlier answer holds for it, unless it starts within `agreed_since`.

        `is_agreed`: the user has agreed already that it can read secrets and connect.
        """
        self._answers.pop(command, None)
        (self._free.add if is_agreed else self._free.discard)(command)
        if answers := self._heirs.pop(threading.get_ident(), None):
            self._answers[command] = answers

    @contextmanager
    def agreed_since(self, since: float, command: int) -> Iterator[bool]:
        """Whether a host was agreed to since then, after the answer to a question that is still open.

        What was answered for this command, which has ended, then holds for one that this thread starts in the block.
        """
        thread = threading.get_ident()
        with self._asking:
            if agreed := self._agreed_at >= since:
                self._heirs[thread] = self._answers.pop(command, {})
        try:
            yield agreed
        finally:
            self._heirs.pop(thread, None)

    def connect_tls(self, place: urls.Target, credential: Credential | None, command: Command = int) -> ssl.SSLSocket:
        """A connection over TLS to a host with credentials; UnreachedError also if its certificate is not good."""
        name = name_host(place.host, place.port)
        if credential is not None and credential.problem:
            raise self._refuse(name, credential.problem, command)
        connected = self.connect(place.url, command)
        try:
            connected.settimeout(_CONNECT_SECONDS)
            if self._trust is None:
                self._trust = ssl.create_default_context()
            return self._trust.wrap_socket(connected, server_hostname=place.host.strip("[]"))
        except (OSError, ValueError) as error:
            connected.close()
            raise self._refuse(name, f"TLS with it failed: {error}", command) from None

    def credential(self, method: str, place: urls.Target) -> Credential | None:
        """The credential for a request; None if it gets none."""
        host = name_host(place.host, place.port)
        return next((one for at, one in self._credentials if at.host == host and at.covers(method, place.path)), None)

    def has_route(self, url: str) -> bool:
        """Whether plain requests to the host of a URL are sent on over TLS, because it has credentials."""
        try:
            place = urls.parse(url)
        except ValueError:
            return False
        return any(at.host == name_host(place.host, place.port) for at, _ in self._credentials)

    def note(self, place: urls.Target, sentence: str, command: Command) -> None:
        """Remember what else is to be said to a command about what it asked of a host."""
        self._refusals.append(_Refusal(time.time(), name_host(place.host, place.port), sentence, command()))

    def ports(self, host: str) -> tuple[int, ...]:
        """The ports at which commands may reach a host without a question."""
        return ports_of(self._names, host)

    def refuse_name(self, host: str) -> None:
        """Remember that a command has looked for a host that it may not reach."""
        self._refusals.append(_Refusal(time.time(), host, ""))

    def lines(self, since: float, command: int = 0) -> list[str]:
        """What was refused since then, in words; given a command, without what another one was refused."""
        ours = (0, command)
        found = [one for one in tuple(self._refusals) if one.at >= since and (not command or one.command in ours)]
        places = list(dict.fromkeys(one.place for one in found if not one.why))
        told = [f"Commands may not reach {', '.join(places)}. {self._how(places)}"] if places else []
        return [*told, *dict.fromkeys(one.why for one in found if one.why)]

    def _how(self, places: Iterable[str]) -> str:
        wanted = format_network((*self._shown, *places))
        return f'To allow it, the user sets network = "{wanted}" in toolroll.toml, or gives it as --network.'

    def _check(self, verdict: urls.UrlVerdict, place: str, command: Command) -> None:
        if verdict.decision != "allow":
            raise self._refuse(place, verdict.reason, command)

    def _refuse(self, place: str, why: str, command: Command) -> UnreachedError:
        self._refusals.append(_Refusal(time.time(), place, f"{place!r} was not reached, because {why}.", command()))
        return UnreachedError(f"{place!r} is not reached, because {why}.")

    def _agreed(self, request: ApprovalRequest, command: Command) -> bool:
        answers = self._answers.setdefault(command(), {})
        with self._asking:  # a program tries again and again: one question for all of them
            if request.key not in answers:
                try:
                    answers[request.key] = self._guard.ask(request)
                except ToolError:  # the call that asks was cancelled
                    return False
                self._agreed_at = time.time() if answers[request.key] is Consent.GIVEN else self._agreed_at
            return answers[request.key] is Consent.GIVEN


def _host_request(place: str, also: ApprovalRequest | None) -> ApprovalRequest:
    """The question about a host that is not named; `also` is what would be asked about one that is."""
    why = also.reason if also is not None else f"a command wants to reach {place}"
    covers = f"connections of commands to {place}"
    return ApprovalRequest("network", Effect.NETWORK, {"host": place}, why, key=("network", place), covers=covers)
