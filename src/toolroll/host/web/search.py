"""Web search by the engines that the operator has configured, in their order, with retries.

Keys and endpoints come from the environment; `Engine.needs` and `Engine.place` name the variables.
TOOLROLL_SEARCH_ENGINES may list the engines that are used, in order. No key is ever in a result or an error.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolroll.host.http.client import Client, Response
from toolroll.host.http.deadline import Deadline
from toolroll.host.http.request import Request, prepare, read_retry_after
from toolroll.policy import urls
from toolroll.result import ErrorCode, ToolError
from toolroll.text.web.engines import hits
from toolroll.text.web.engines.engine import load_engines
from toolroll.text.web.engines.engines import EngineName, Hit

if TYPE_CHECKING:
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.text.web.engines.engine import WebEngine
    from toolroll.text.web.engines.query import WebQuery

ORDER = "TOOLROLL_SEARCH_ENGINES"

_RETRIED = frozenset({429, 500, 502, 503, 504})
_MAX_TRIES = 3
_FIRST_DELAY_S = 0.5
_MAX_DELAY_S = 10.0
_MAX_BYTES = 1_000_000  # many times what an answer has
_MIN_SECONDS = 0.1
# In place of the client's words, which quote the beginning of the URL, and with it perhaps a part of a key.
_FORBIDDEN = "its endpoint is not at a public address. If that is meant, name it in {}."


@dataclass(frozen=True, slots=True)
class WebResults:
    """Results of the engines, best first."""

    hits: tuple[Hit, ...]
    engines: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """Filters that were not applied, and engines that did not answer."""


@dataclass(frozen=True, slots=True)
class _Ready:
    engine: WebEngine
    url: str
    needs: Mapping[str, str]
    client: Client

    @property
    def name(self) -> str:
        return self.engine.name

    def hide(self, text: str) -> str:
        from urllib.parse import quote, quote_plus

        for secret in self.needs.values():
            for form in (secret, quote(secret, safe=""), quote_plus(secret)):
                text = text.replace(form, "[hidden]")
        return text


class WebSearch:
    """Asks the engines that the environment sets up; those at their usual places through `http`, at its pace."""

    def __init__(self, http: Client, environment: Mapping[str, str]) -> None:
        self._http = http
        self._environment = environment

    def search(self, query: WebQuery, engine: EngineName, token: CancelToken, seconds: float) -> WebResults:
        """Results of one engine; with "auto" of the first that answers, with "all" of all of them, merged."""
        listed = self._listed()
        query = replace(query, today=time.strftime("%Y-%m-%d", time.gmtime()))
        if engine == "all":
            return self._everyone(self._configured(listed), query, token, seconds)
        if engine == "auto":
            return self._first(self._configured(listed), query, token, seconds)
        if engine not in listed:
            raise _unset(f"The operator's {ORDER} does not list {engine!r}. Leave out `engine`.")
        one = self._ready(load_engines()[engine])
        if one is None:
            needed = " and ".join(load_engines()[engine].variables)
            raise _unset(f"{engine!r} needs {needed} in the environment. Set it, or leave out `engine`.")
        return self._first([one], query, token, seconds)

    def _listed(self) -> list[str]:
        given = self._environment.get(ORDER, "")
        names = [name.strip().lower() for name in given.split(",") if name.strip()]
        if unknown := sorted(set(names) - set(load_engines())):
            raise _unset(f"{ORDER} names {', '.join(map(repr, unknown))}. There are: {', '.join(load_engines())}.")
        return names or list(load_engines())

    def _configured(self, names: Sequence[str]) -> list[_Ready]:
        found = [one for name in names if (one := self._ready(load_engines()[name])) is not None]
        if not found:
            needed = "; ".join(f"{' and '.join(load_engines()[name].variables)} for {name}" for name in names)
            raise _unset(f"No search engine is set up. Set in the environment one of: {needed}.")
        return found

    def _ready(self, engine: WebEngine) -> _Ready | None:
        needs = {name: self._value(variables) for name, variables in engine.needs.items()}
        place = self._value((engine.place, *engine.places))
        if not all(needs.values()) or not (place or engine.url):
            return None
        if not place:
            return _Ready(engine, engine.url, needs, self._http)
        return _Ready(engine, place, needs, self._http.for_url(place, engine.place, max_bytes=_MAX_BYTES))

    def _value(self, variables: Iterable[str]) -> str:
        return next((value for name in variables if (value := self._environment.get(name, "").strip())), "")

    def _first(self, ready: Sequence[_Ready], query: WebQuery, token: CancelToken, seconds: float) -> WebResults:
        deadline = time.monotonic() + seconds
        failed: list[tuple[str, ToolError]] = []
        for place, one in enumerate(ready, 1):
            left = deadline - time.monotonic()
            if left < _MIN_SECONDS:
                failed.append((one.name, ToolError(ErrorCode.TIMEOUT, f"{one.name} was not asked: no time was left.")))
                continue
            try:  # half of the time at most, so that one that hangs leaves some for the others
                found = _ask(one, query, token, left if place == len(ready) else left / 2)
            except ToolError as error:
                if error.code is ErrorCode.CANCELLED:
                    raise
                failed.append((one.name, error))
            else:
                return WebResults(tuple(found), (one.name,), (*_messages(failed), *_unfiltered([one], query)))
        raise self._none(failed)

    def _everyone(self, ready: Sequence[_Ready], query: WebQuery, token: CancelToken, seconds: float) -> WebResults:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(ready), "toolroll search") as pool:
            asked = [(one, pool.submit(_ask, one, query, token, seconds)) for one in ready]
        answered: list[tuple[_Ready, list[Hit]]] = []
        failed: list[tuple[str, ToolError]] = []
        for one, future in asked:
            error = future.exception()
            if error is None:
                answered.append((one, future.result()))
            elif isinstance(error, ToolError) and error.code is not ErrorCode.CANCELLED:
                failed.append((one.name, error))
            else:
                raise error
        if not answered:
            raise self._none(failed)
        best = hits.merge_hits([found for _, found in answered])[: query.limit]
        asked_of = [one for one, _ in answered]
        notes = (*_messages(failed), *_unfiltered(asked_of, query))
        return WebResults(tuple(best), tuple(one.name for one in asked_of), notes)

    def _none(self, failed: Sequence[tuple[str, ToolError]]) -> ToolError:
        """One error for all that went wrong, with what would help."""
        codes = {error.code for _, error in failed}
        code = codes.pop() if len(codes) == 1 else ErrorCode.NETWORK
        why = " ".join(error.message for _, error in failed)
        text = f"No search engine answered. {why}" if len(failed) > 1 else f"{why} Another `engine` may answer."
        return ToolError(code, f"{text}{self._more()}")

    def _more(self) -> str:
        """Which engines could be set up besides."""
        names = [name for name in self._listed() if self._ready(load_engines()[name]) is None]
        ways = ", ".join(f"{name} with {' and '.join(load_engines()[name].variables)}" for name in names)
        return f" The operator can set up more engines in the environment: {ways}." if ways else ""


def _ask(one: _Ready, query: WebQuery, token: CancelToken, seconds: float) -> list[Hit]:
    """The results of one engine; an error that names it when there are none to be had."""
    engine = one.engine
    # Of an engine that cannot leave terms out, some results will be dropped here: ask for more.
    wanted = query.limit * (2 if query.exclude and "exclude" in engine.lacks else 1)
    ask = engine.build(one.url, replace(query, limit=min(wanted, engine.most)), one.needs)
    try:
        request = prepare(ask.method, ask.url, ask.headers, ask.body)
        response = _send(one.client, request, token, seconds)
    except ToolError as error:
        if error.code is ErrorCode.CANCELLED:
            raise
        why = _FORBIDDEN.format(engine.place) if error.code is ErrorCode.SECURITY else one.hide(error.message)
        raise ToolError(error.code, f"{one.name} was not reached: {why}") from None
    found = [_clean(hit, one) for hit in _read(one, response) if _is_url(hit.url)]
    return hits.filter_hits(found, query)[: query.limit]


def _send(client: Client, request: Request, token: CancelToken, seconds: float) -> Response:
    """The answer, after a few tries when the engine has no time; each waits as long as the engine asks for."""
    patience = Deadline(token, seconds)
    for attempt in range(_MAX_TRIES):
        # Not redirected: what is sent holds a key. And what an engine offers to programs needs no robots.txt.
        response = client.send(request, token, seconds=patience.left(), follow=False, robots=False)
        delay = _delay(response, attempt)
        last = attempt + 1 == _MAX_TRIES or delay > _MAX_DELAY_S
        if response.status not in _RETRIED or last or delay + _MIN_SECONDS > patience.left():
            break
        patience.sleep(delay)
    return response


def _delay(response: Response, attempt: int) -> float:
    """Seconds until the next try: what the server says, else ever more."""
    wait = read_retry_after(response.headers)
    return float(_FIRST_DELAY_S * 2**attempt) if wait is None else wait


def _read(one: _Ready, response: Response) -> list[Hit]:
    """The results in an answer; ToolError that says what is wrong with any other."""
    if not 200 <= response.status < 300:
        raise _refused(one, response)
    if len(response.body) > _MAX_BYTES:
        raise _failed(f"{one.name} sent {len(response.body)} bytes, which is too much for results.")
    try:
        return one.engine.read(response.body.decode("utf-8", "replace"))
    except hits.BlockedError as error:
        raise _failed(f"{one.name} does not answer. {error}.") from None
    except hits.UnreadableError as error:
        raise _failed(f"The answer of {one.name} cannot be read, because {error}.") from None


def _refused(one: _Ready, response: Response) -> ToolError:
    """The error for a status. The server's own words are left out: anybody may have written them."""
    status, engine = response.status, one.engine
    check = f" Check {' and '.join(engine.variables)}." if engine.variables else ""
    if status in (401, 403):
        why = f": {engine.hints[status]}" if status in engine.hints else ""
        return ToolError(ErrorCode.PERMISSION, f"{one.name} refuses the search ({status}{why}).{check}")
    if status in engine.hints:
        return _failed(f"{one.name} refuses the search ({status}: {engine.hints[status]}).{check}")
    if status == 429:
        until = f" It asks to wait {_delay(response, 0):.0f} s." if "retry-after" in response.headers else ""
        return _failed(f"{one.name} has had too many searches for now (429).{until}")
    if status >= 500:
        return _failed(f"{one.name} has a problem of its own ({status}).")
    if status >= 400:
        return _failed(f"{one.name} rejects the search ({status}).{check}")
    return _failed(f"{one.name} does not answer at its endpoint ({status}). Check {engine.place}.")


def _clean(hit: Hit, one: _Ready) -> Hit:
    title, url, snippet = (one.hide(text) for text in (hit.title, hit.url, hit.snippet))
    return replace(hit, title=title, url=url, snippet=snippet, engine=one.name)


def _is_url(text: str) -> bool:
    """Whether it is an address that could be fetched; where it leads is judged when it is."""
    try:
        urls.parse(text)
    except ValueError:
        return False
    return True


def _messages(failed: Iterable[tuple[str, ToolError]]) -> tuple[str, ...]:
    return tuple(error.message for _, error in failed)


def _unfiltered(asked: Iterable[_Ready], query: WebQuery) -> tuple[str, ...]:
    """What the engines could not do of what was asked; excluded terms and sites are seen to here."""
    notes: list[str] = []
    for one in asked:
        unmet = {"safe": query.safe == "strict", "language": bool(query.language)}
        ignored = [name for name, on in unmet.items() if on and name in one.engine.lacks]
        notes += [f"{one.name} cannot filter by `{name}`." for name in ignored]
        if query.limit > one.engine.most:
            notes.append(f"{one.name} gives at most {one.engine.most} results.")
    return tuple(notes)


def _failed(message: str) -> ToolError:
    return ToolError(ErrorCode.NETWORK, message)


def _unset(message: str) -> ToolError:
    return ToolError(ErrorCode.UNSUPPORTED, message)
