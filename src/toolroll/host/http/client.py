"""The guarded client: judges every URL, resolves it once, connects to what was judged, for each redirect again."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolroll.host.http.deadline import SILENCE_S, Deadline
from toolroll.host.http.rate_limit import RateLimit
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.http.connections import Connections, Incoming
    from toolroll.host.http.network import Dial, Route
    from toolroll.host.http.request import Request
    from toolroll.host.http.robots import RobotsRules
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.policy import urls

AGENT = "toolroll"
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
PROXY = "TOOLROLL_PROXY"
"""Environment variable with the URL of the operator's proxy. HTTPS_PROXY and its kin are not read."""
MAX_BYTES = 10_000_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD = frozenset({307, 308})
_ROBOTS_S = 3600.0
_BAD_ROBOTS_S = 60.0
_MAX_SITES = 500


@dataclass(frozen=True, slots=True)
class Response:
    """The last answer of a request."""

    status: int
    url: str
    """Where the answer came from, after all redirects."""
    headers: dict[str, str]
    """Their names in lower case."""
    body: bytes
    method: str
    hops: tuple[str, ...] = ()
    """The URLs that led here."""
    note: str = ""
    """Why a redirect was not followed, or what was left out on the way."""

    @property
    def reason(self) -> str:
        """What the status means, in the standard's words, not the server's."""
        from http import HTTPStatus

        return next((one.phrase for one in HTTPStatus if one == self.status), "")


class Client:
    """Sends requests to public servers. Any thread may use it. It keeps connections for seconds, and no cookies.

    `allow` names hosts that may be asked although they are not public, as `host` or `host:port`; robots.txt and the
    rate limit do not apply to them. `resolve`, `route` and `authorities` replace the system's resolver, routes and
    certificate authorities. `proxy` is a URL, http://host:port; without it none is used. `dial` reaches what commands
    serve on their own loopback: it is what localhost means to whoever asks, and not to a page elsewhere.
    """

    def __init__(
        self,
        allow: Sequence[str] = (),
        *,
        max_bytes: int = MAX_BYTES,
        agent: str = f"{AGENT}/0.1",
        rate_limit: RateLimit | None = None,
        resolve: urls.Resolve | None = None,
        route: Route | None = None,
        proxy: str = "",
        authorities: str | None = None,
        dial: Dial | None = None,
    ) -> None:
        self._dial = dial
        self._allow = tuple(allow)
        self._max_bytes = max_bytes
        self._agent = agent
        self._resolve = resolve
        self._route = route
        self._proxy = proxy
        self._authorities = authorities
        self._lock = threading.Lock()
        self._rate_limit = rate_limit or RateLimit()
        self._robots: dict[str, tuple[float, RobotsRules]] = {}
        self._connections: Connections | None = None
        self._derived: weakref.WeakSet[Client] = weakref.WeakSet()

    def for_host(self, host: str, *, max_bytes: int) -> Client:
        """A client with the same settings that may also ask this host, as `host:port`. Closed with this one."""
        derived = Client(
            (*self._allow, host),
            max_bytes=max_bytes,
            agent=self._agent,
            resolve=self._resolve,
            route=self._route,
            proxy=self._proxy,
            authorities=self._authorities,
        )
        self._derived.add(derived)
        return derived

    def for_url(self, url: str, variable: str, *, max_bytes: int) -> Client:
        """A client for the server that the operator names in a variable, which may be inside their network."""
        from toolroll.policy import urls

        try:
            target = urls.parse(url)
        except ValueError as error:  # without the value, which may hold a password
            why = f"{variable} is not a URL that can be asked, because {error}. Set another."
            raise ToolError(ErrorCode.UNSUPPORTED, why) from None
        return self.for_host(f"{target.host}:{target.port}", max_bytes=max_bytes)

    def close(self) -> None:
        """Close the kept connections, also of the clients that were derived from this one."""
        if self._connections is not None:
            self._connections.close()
        for derived in list(self._derived):
            derived.close()

    def send(
        self,
        request: Request,
        token: CancelToken,
        *,
        seconds: float = 30,
        follow: bool = True,
        robots: bool = True,
        silence: float = SILENCE_S,
        into: Callable[[bytes], None] | None = None,
    ) -> Response:
        """The answer to a request; ToolError when the policy forbids it, or there is none within the time.

        An answer with an error status is an answer. `robots` honours robots.txt, for GET and HEAD. A server may be
        silent for `silence` seconds. `into` gets the body of an answer with status 200 piece by piece, as it comes.
        """
        from toolroll.policy import urls

        most = urls.MAX_REDIRECTS if follow else 0
        return self._follow(request, Deadline(token, seconds, silence), most, polite=True, robots=robots, into=into)

    @contextmanager
    def open(self, request: Request, deadline: Deadline) -> Iterator[Incoming]:
        """The answer to one request, open for reading, without redirects, robots.txt and rate limit."""
        verdict, target = self._judge(request.url, deadline, local=False)
        with self._open(request, verdict, target, deadline) as answer:
            yield answer

    def _follow(
        self,
        request: Request,
        deadline: Deadline,
        most: int,
        *,
        polite: bool,
        robots: bool,
        into: Callable[[bytes], None] | None = None,
    ) -> Response:
        """The answer after at most so many redirects."""
        from toolroll.host.http.network import COMMANDS

        hops: list[str] = []
        asked: set[str] = set()
        note = ""
        local = True
        while True:
            verdict, target = self._judge(request.url, deadline, local=local)
            local = verdict.addresses == (COMMANDS,)
            if polite and not verdict.named:
                if target.host not in asked:
                    self._rate_limit.wait(target.host, deadline)
                asked.add(target.host)
                if robots and request.method in ("GET", "HEAD"):
                    self._check_robots(target, deadline)
            response = self._exchange(request, verdict, target, deadline, into)
            following, said = _next(request, response, target) if most else (None, "")
            if following is None:
                return replace(response, hops=tuple(hops), note=said or note)
            if len(hops) == most:
                why = f"More than {most} redirects, the last to {following.url!r}. Use another URL."
                raise _EndlessError(ErrorCode.NETWORK, why)
            hops.append(target.url)
            request, note = following, said or note

    def _judge(self, url: str, deadline: Deadline, *, local: bool) -> tuple[urls.UrlVerdict, urls.Target]:
        """The verdict of the policy and the parts of the URL; ToolError when it is forbidden.

        `local`: a server of the commands' loopback may be meant.
        """
        from toolroll.host.http.network import COMMANDS, look_up
        from toolroll.policy import urls

        resolve = self._resolve or (lambda name: look_up(name, deadline))
        verdict = urls.judge(url, resolve, self._allow)
        if local and verdict.decision != "allow" and verdict.target is not None and self._is_served(verdict.target):
            return replace(verdict, decision="allow", reason="", addresses=(COMMANDS,), named=True), verdict.target
        if verdict.decision != "allow" or verdict.target is None:
            raise ToolError(
                ErrorCode.SECURITY,
                f"{url[:200]!r} is not fetched, because {verdict.reason}. Use another URL, or ask the user.",
            )
        return verdict, verdict.target

    def _is_served(self, target: urls.Target) -> bool:
        """Whether a command serves at this host and port of the commands' loopback."""
        if self._dial is None or target.host not in LOOPBACK_HOSTS:
            return False
        found = self._dial(target.host, target.port)
        if found is not None:
            found.close()
        return found is not None

    def _exchange(
        self,
        request: Request,
        verdict: urls.UrlVerdict,
        target: urls.Target,
        deadline: Deadline,
        into: Callable[[bytes], None] | None,
    ) -> Response:
        """One request and its whole answer; of a redirect only the head."""
        body = bytearray()
        with self._open(request, verdict, target, deadline) as answer:
            take = into if into is not None and answer.status == 200 else body.extend
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                for piece in answer.pieces:
                    take(piece)
        return Response(answer.status, target.url, dict(answer.headers), bytes(body), request.method)

    @contextmanager
    def _open(
        self, request: Request, verdict: urls.UrlVerdict, target: urls.Target, deadline: Deadline
    ) -> Iterator[Incoming]:
        from toolroll.host.http.connections import Connections, Outgoing
        from toolroll.host.http.proxy import parse

        with self._lock:
            if self._connections is None:
                self._connections = Connections(
                    self._max_bytes, self._route, parse(self._proxy), self._authorities, self._dial
                )
                weakref.finalize(self, self._connections.close)  # for a client that is dropped without `close`
            connections = self._connections
        headers = request.header_lines(target, self._agent)
        outgoing = Outgoing(request.method, target, headers, request.body or b"", verdict.addresses)
        with connections.send(outgoing, deadline) as answer:
            yield answer

    def _check_robots(self, target: urls.Target, deadline: Deadline) -> None:
        now = time.monotonic()
        with self._lock:
            until, rules = self._robots.get(target.origin, (0.0, None))
        if rules is None or until < now:
            rules, seconds = self._read_robots(target, deadline)
            with self._lock:
                if len(self._robots) >= _MAX_SITES:
                    self._robots.clear()
                self._robots[target.origin] = (now + seconds, rules)
        if not rules.allow(target.path):
            raise ToolError(
                ErrorCode.PERMISSION,
                f"{target.origin!r} asks programs in its robots.txt not to fetch {target.path!r}. Use another source.",
            )

    def _read_robots(self, target: urls.Target, deadline: Deadline) -> tuple[RobotsRules, float]:
        """The rules of a site and for how many seconds they hold. A site that fails to answer forbids all for now."""
        from toolroll.host.http import robots
        from toolroll.host.http.request import Request
        from toolroll.policy import urls

        try:
            request = Request("GET", f"{target.origin}/robots.txt", {"accept": "text/plain"})
            found = self._follow(request, deadline, urls.MAX_REDIRECTS, polite=False, robots=False)
        except ToolError as error:
            endless = isinstance(error, _EndlessError)
            if endless or error.code in (ErrorCode.SECURITY, ErrorCode.TOO_LARGE, ErrorCode.UNSUPPORTED):
                return robots.NONE, _BAD_ROBOTS_S
            raise
        if found.status >= 500:
            return robots.ALL, _BAD_ROBOTS_S
        if found.status >= 300:
            return robots.NONE, _ROBOTS_S
        return robots.parse(found.body.decode("utf-8", "replace"), AGENT), _ROBOTS_S


class _EndlessError(ToolError):
    """More redirects than are followed."""


def _next(request: Request, response: Response, here: urls.Target) -> tuple[Request | None, str]:
    """The request that a redirect leads to, or None; and what was left out, or why it is not followed."""
    from toolroll.policy import urls

    location = response.headers.get("location", "")
    if response.status not in _REDIRECTS or not location:
        return None, ""
    try:
        url = urls.redirect(response.url, location)
    except ValueError as error:
        raise ToolError(
            ErrorCode.SECURITY, f"{response.url!r} redirects to {location[:200]!r}, which is not followed: {error}."
        ) from None
    if here.scheme == "https" and urls.parse(url).scheme != "https":
        raise ToolError(
            ErrorCode.SECURITY,
            f"{response.url!r} redirects to {url[:200]!r}, which is not followed: it would go on without TLS. "
            "Use an https URL, or ask the user.",
        )
    if response.status not in _KEEP_METHOD and request.method not in ("GET", "HEAD"):
        request = request.as_get()
    if urls.parse(url).origin == here.origin:
        return replace(request, url=url), ""
    if request.body is not None:
        return None, f"Not followed: it would send the body to another host. To do so, use {url!r} as `url`."
    there = request.for_other_host(url)
    dropped = sorted(set(request.headers) - set(there.headers))
    return there, f"Not sent to the other host: {', '.join(dropped)}." if dropped else ""
