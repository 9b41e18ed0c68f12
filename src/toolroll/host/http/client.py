"""The client: judges, looks up once, connects to what was judged, and does so again for each redirect."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolroll.host.http.deadline import SILENCE
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import ssl

    from toolroll.host.http.connection import Route
    from toolroll.host.http.deadline import Patience
    from toolroll.host.http.rate_limit import Pace
    from toolroll.host.http.request import Request
    from toolroll.host.http.robots import Rules
    from toolroll.host.runtime.cancellation import Token
    from toolroll.policy import urls

AGENT = "toolroll"
MOST_BYTES = 10_000_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEPING = frozenset({307, 308})
_ROBOTS_SECONDS = 3600.0
_BAD_ROBOTS_SECONDS = 60.0
_MOST_SITES = 500


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
    """Sends requests to public servers. Any thread may use it; it keeps no cookies and no connections.

    `allow` names hosts that may be asked although they are not public, as `host` or `host:port`; these are asked
    without regard to robots.txt and pace. `resolve`, `route` and `authorities` stand in for the system's own names,
    ways and certificates.
    """

    def __init__(
        self,
        allow: Sequence[str] = (),
        *,
        most_bytes: int = MOST_BYTES,
        agent: str = f"{AGENT}/0.1",
        pace: Pace | None = None,
        resolve: urls.Resolve | None = None,
        route: Route | None = None,
        authorities: str | None = None,
    ) -> None:
        self._allow = tuple(allow)
        self._most = most_bytes
        self._agent = agent
        self._resolve = resolve
        self._route = route
        self._authorities = authorities
        self._lock = threading.Lock()
        self._pace = pace
        self._robots: dict[str, tuple[float, Rules]] = {}
        self._context: ssl.SSLContext | None = None

    def towards(self, host: str, *, most_bytes: int) -> Client:
        """A client with the same ways that may also ask this host, as `host:port`."""
        return Client(
            (*self._allow, host),
            most_bytes=most_bytes,
            agent=self._agent,
            resolve=self._resolve,
            route=self._route,
            authorities=self._authorities,
        )

    def send(
        self,
        request: Request,
        token: Token,
        *,
        seconds: float = 30,
        follow: bool = True,
        robots: bool = True,
        silence: float = SILENCE,
        into: Callable[[bytes], None] | None = None,
    ) -> Response:
        """The answer to a request; ToolError when the policy forbids it, or there is none within the time.

        An answer with an error status is an answer. `robots` honours robots.txt, for GET and HEAD. A server may be
        silent for `silence` seconds. `into` gets the body of an answer with status 200 piece by piece, as it comes.
        """
        from toolroll.host.http.deadline import Patience
        from toolroll.policy import urls

        most = urls.MAX_REDIRECTS if follow else 0
        return self._travel(request, Patience(token, seconds, silence), most, polite=True, robots=robots, into=into)

    def _travel(
        self,
        request: Request,
        patience: Patience,
        most: int,
        *,
        polite: bool,
        robots: bool,
        into: Callable[[bytes], None] | None = None,
    ) -> Response:
        hops: list[str] = []
        asked: set[str] = set()
        note = ""
        while True:
            verdict, target = self._judged(request.url, patience)
            if polite and not verdict.named:
                if target.host not in asked:
                    self._paced().wait(target.host, patience)
                asked.add(target.host)
                if robots and request.method in ("GET", "HEAD"):
                    self._check_robots(target, patience)
            response = self._exchange(request, verdict, target, patience, into)
            step = _next(request, response, target) if most else None
            if step is None or step.request is None:
                return replace(response, hops=tuple(hops), note=step.note if step else note)
            if len(hops) == most:
                raise _EndlessError(
                    ErrorCode.NETWORK, f"More than {most} redirects, the last to {step.request.url!r}. Use another URL."
                )
            hops.append(target.url)
            request, note = step.request, step.note or note

    def _judged(self, url: str, patience: Patience) -> tuple[urls.Verdict, urls.Target]:
        from toolroll.host.http.dns import addresses
        from toolroll.policy import urls

        resolve = self._resolve or (lambda name: addresses(name, patience))
        verdict = urls.judge(url, resolve, self._allow)
        if verdict.decision != "allow" or verdict.target is None:
            raise ToolError(
                ErrorCode.SECURITY,
                f"{url[:200]!r} is not fetched, because {verdict.reason}. Use another URL, or ask the user.",
            )
        return verdict, verdict.target

    def _exchange(
        self,
        request: Request,
        verdict: urls.Verdict,
        target: urls.Target,
        patience: Patience,
        into: Callable[[bytes], None] | None,
    ) -> Response:
        """One request and its answer, over a connection of its own to an address that was judged."""
        from toolroll.host.http.connection import connected
        from toolroll.host.http.response import Reply

        with connected(target, verdict.addresses, patience, self._route, self._trust) as wire:
            wire.send(request.wire(target, self._agent))
            reply = Reply(wire, target.host, self._most)
            head = reply.head()
            leads_on = head.status in _REDIRECTS and "location" in head.headers
            body = b"" if leads_on else reply.body(head, request.method, into if head.status == 200 else None)
        return Response(head.status, target.url, head.headers, body, request.method)

    def _check_robots(self, target: urls.Target, patience: Patience) -> None:
        now = time.monotonic()
        with self._lock:
            until, rules = self._robots.get(target.origin, (0.0, None))
        if rules is None or until < now:
            rules, seconds = self._read_robots(target, patience)
            with self._lock:
                if len(self._robots) >= _MOST_SITES:
                    self._robots.clear()
                self._robots[target.origin] = (now + seconds, rules)
        if not rules.allow(target.path):
            raise ToolError(
                ErrorCode.PERMISSION,
                f"{target.origin!r} asks programs in its robots.txt not to fetch {target.path!r}. Use another source.",
            )

    def _read_robots(self, target: urls.Target, patience: Patience) -> tuple[Rules, float]:
        """The rules of a site and for how long they hold. A site that fails to answer wants nobody for now."""
        from toolroll.host.http import robots
        from toolroll.host.http.request import Request
        from toolroll.policy import urls

        try:
            request = Request("GET", f"{target.origin}/robots.txt", {"accept": "text/plain"})
            found = self._travel(request, patience, urls.MAX_REDIRECTS, polite=False, robots=False)
        except ToolError as error:
            nowhere = isinstance(error, _EndlessError)
            if nowhere or error.code in (ErrorCode.SECURITY, ErrorCode.TOO_LARGE, ErrorCode.UNSUPPORTED):
                return robots.NONE, _BAD_ROBOTS_SECONDS
            raise
        if found.status >= 500:
            return robots.ALL, _BAD_ROBOTS_SECONDS
        if found.status >= 300:
            return robots.NONE, _ROBOTS_SECONDS
        return robots.parse(found.body.decode("utf-8", "replace"), AGENT), _ROBOTS_SECONDS

    def _paced(self) -> Pace:
        from toolroll.host.http.rate_limit import Pace

        with self._lock:
            if self._pace is None:
                self._pace = Pace()
            return self._pace

    def _trust(self) -> ssl.SSLContext:
        """Certificates are always checked; the system's authorities are read once."""
        import ssl

        with self._lock:
            if self._context is None:
                self._context = ssl.create_default_context(cafile=self._authorities)
            return self._context


class _EndlessError(ToolError):
    """Redirects that come to no end."""


@dataclass(frozen=True, slots=True)
class _Step:
    """Where a redirect leads: the next request, or why there is none; or what it leaves behind."""

    request: Request | None
    note: str = ""


def _next(request: Request, response: Response, here: urls.Target) -> _Step | None:
    """What follows from an answer; None when it is no redirect."""
    from toolroll.policy import urls

    location = response.headers.get("location", "")
    if response.status not in _REDIRECTS or not location:
        return None
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
    if response.status not in _KEEPING and request.method not in ("GET", "HEAD"):
        request = request.looking()
    if urls.parse(url).origin == here.origin:
        return _Step(replace(request, url=url))
    if request.body is not None:
        return _Step(None, f"Not followed: it would send the body to another host. To do so, use {url!r} as `url`.")
    there = request.elsewhere(url)
    dropped = sorted(set(request.headers) - set(there.headers))
    return _Step(there, f"Not sent to the other host: {', '.join(dropped)}." if dropped else "")
