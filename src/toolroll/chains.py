"""Calls one after the other, each with what came before, and calls side by side. All go through a kit."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ErrorCode, Fault, Result, ToolError

if TYPE_CHECKING:
    from toolroll.kit import Kit

Arguments = Mapping[str, Any] | str | None
Call = tuple[str, Arguments]
"""The name of a tool and its arguments, as `Kit.call` takes them."""

_REFERENCE = re.compile(r"\{(\{)?([A-Za-z_]\w*)((?:\.\w+)*)\}(?(1)\})")


@dataclass(frozen=True, slots=True)
class Output:
    """What an earlier step gave, or a part of it: `Output("found", "data", "hits", 0)`.

    In arguments `{found.data.hits.0}` means the same. Without a part it is the text that a model would read; `data`
    is the structured output. A text that is nothing but a reference becomes the value itself, of its own type.
    """

    name: str
    path: tuple[str | int, ...] = ()

    def __init__(self, name: str, *path: str | int) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "path", path)

    def __str__(self) -> str:
        return "".join(("{", ".".join(map(str, (self.name, *self.path))), "}"))

    def of(self, known: Mapping[str, Any]) -> Any:
        """The value; ToolError when there is none."""
        value = known[self.name]
        if isinstance(value, Result):
            if not self.path:
                return value.text
            value = {"text": value.text, "data": value.data, "status": value.status, "meta": value.meta}
        for step in self.path:
            value = self._part(value, step)
        return value

    def _part(self, value: Any, step: str | int) -> Any:
        if isinstance(value, Mapping) and step in value:
            return value[step]
        if isinstance(value, Sequence) and not isinstance(value, str) and str(step).isdecimal():
            if int(step) < len(value):
                return value[int(step)]
            raise ToolError(ErrorCode.NOT_FOUND, f"{self}: there is no item {step}; there are {len(value)}.")
        names = ", ".join(map(str, value)) if isinstance(value, Mapping) else f"it is {type(value).__name__}"
        raise ToolError(ErrorCode.NOT_FOUND, f"{self}: there is no {step!r}. There is: {names}.")


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a chain, and the name that its result gets."""

    tool: str
    arguments: Mapping[str, Any]
    output: str | None = None


@dataclass(frozen=True, slots=True)
class Chained:
    """What a chain came to: the results of the steps that ran, the last of them an error when it stopped early."""

    results: tuple[Result, ...]
    outputs: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    @property
    def ok(self) -> bool:
        return len(self.results) == len(self.steps) and all(one.ok for one in self.results)

    @property
    def failed(self) -> int | None:
        """Which step stopped the chain, counted from 1."""
        return None if self.ok else len(self.results)

    @property
    def text(self) -> str:
        """The text of the last step; when it failed, also where."""
        last = self.results[-1].text if self.results else ""
        if self.failed is None:
            return last
        return f"Step {self.failed} of {len(self.steps)} ({self.steps[self.failed - 1].tool}) failed: {last}"


class Chain:
    """Steps that run one after the other and stop at the first error. Nothing runs before `run`.

    `Chain("path").step("read", {"path": "{path}"}, output="text").step("write", {"path": "b", "content": "{text}"})`
    The names given to `Chain` are inputs. `{{text}}` stands for `{text}` itself, and other braces for themselves.
    """

    def __init__(self, *inputs: str) -> None:
        self.inputs = inputs
        self.steps: tuple[Step, ...] = ()

    def step(self, tool: str, arguments: Mapping[str, Any] | None = None, *, output: str | None = None) -> Chain:
        """The chain with one more step; ValueError when it refers to what no step before it gives."""
        number = len(self.steps) + 1
        known = [*self.inputs, *(one.output for one in self.steps if one.output)]
        for reference in _references(arguments or {}):
            if reference.name not in known:
                there = ", ".join(known) or "none"
                raise ValueError(
                    f"Step {number} ({tool}) refers to {str(reference)!r}, but no step before it gives "
                    f"{reference.name!r}. There are: {there}. For the text itself write {{{reference}}}."
                )
        if output is not None and (output in known or not output.isidentifier()):
            raise ValueError(f"Step {number} ({tool}) cannot call its output {output!r}: use a new, plain name.")
        longer = Chain(*self.inputs)
        longer.steps = (*self.steps, Step(tool, dict(arguments or {}), output))
        return longer

    def run(self, kit: Kit, inputs: Mapping[str, Any] | None = None, *, token: CancelToken | None = None) -> Chained:
        """Carry it out."""
        work = self._work(inputs or {})
        found = next(work)
        while not isinstance(found, Chained):
            found = work.send(kit.call(*found, token=Under(token)))
        return found

    async def arun(
        self, kit: Kit, inputs: Mapping[str, Any] | None = None, *, token: CancelToken | None = None
    ) -> Chained:
        """`run` for coroutines; cancelling the task cancels the step that runs."""
        work = self._work(inputs or {})
        found = next(work)
        while not isinstance(found, Chained):
            found = work.send(await kit.acall(*found, token=Under(token)))
        return found

    def _work(self, inputs: Mapping[str, Any]) -> Generator[Call | Chained, Result, None]:
        """Gives each call and is sent its result; gives what it came to in the end."""
        if missing := [name for name in self.inputs if name not in inputs]:
            raise ValueError(f"The chain needs {', '.join(map(repr, missing))} among its inputs.")
        known: dict[str, Any] = dict(inputs)
        results: list[Result] = []
        for one in self.steps:
            try:
                arguments = _filled(one.arguments, known)
            except ToolError as error:
                results.append(_failure(error))
                break
            result = yield one.tool, arguments
            results.append(result)
            if not result.ok:
                break
            if one.output is not None:
                known[one.output] = result
        yield Chained(tuple(results), known, self.steps)


def parallel(
    kit: Kit, calls: Iterable[Call], *, most: int | None = None, token: CancelToken | None = None
) -> list[Result]:
    """Carry out calls side by side, at most so many at once; their results in the order of the calls.

    When one raises a system error, or the caller is interrupted, the others are cancelled.
    """
    given = list(calls)
    group = Under(token)
    if len(given) <= 1:
        return [kit.call(name, arguments, token=Under(group)) for name, arguments in given]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(given), most or kit.limits.concurrency), "toolroll call") as pool:
        futures = [pool.submit(kit.call, name, arguments, token=Under(group)) for name, arguments in given]
        try:
            return [one.result() for one in futures]
        except BaseException:
            group.cancel()
            for one in futures:
                one.cancel()
            raise


async def aparallel(
    kit: Kit, calls: Iterable[Call], *, most: int | None = None, token: CancelToken | None = None
) -> list[Result]:
    """`parallel` for coroutines."""
    import asyncio

    places = asyncio.Semaphore(most or kit.limits.concurrency)
    group = Under(token)

    async def one(name: str, arguments: Arguments) -> Result:
        async with places:
            return await kit.acall(name, arguments, token=Under(group))

    try:
        return list(await asyncio.gather(*(one(*call) for call in calls)))
    except BaseException:
        group.cancel()
        raise


class Under(CancelToken):
    """A token of its own deadline that is also cancelled with the one above it."""

    __slots__ = ("_above",)

    def __init__(self, above: CancelToken | None) -> None:
        super().__init__()
        self._above = above
        self.deadline = above.deadline if above is not None else None

    @property
    def cancelled(self) -> bool:
        return super().cancelled or (self._above is not None and self._above.cancelled)


def _references(value: Any) -> Iterator[Output]:
    if isinstance(value, Output):
        yield value
    elif isinstance(value, str):
        yield from (_output(match) for match in _REFERENCE.finditer(value) if not match[1])
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _references(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _references(one)


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    """Arguments with what the references mean in their place."""
    if isinstance(value, Output):
        return value.of(known)
    if isinstance(value, str):
        whole = _REFERENCE.fullmatch(value)
        if whole is not None and not whole[1]:
            return _output(whole).of(known)
        return _REFERENCE.sub(lambda match: match[0][1:-1] if match[1] else _text(_output(match).of(known)), value)
    if isinstance(value, Mapping):
        return {name: _filled(one, known) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(one, known) for one in value]
    return value


def _output(match: re.Match[str]) -> Output:
    return Output(match[2], *(part for part in match[3].split(".") if part))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    import msgspec

    return msgspec.json.encode(value).decode()


def _failure(error: ToolError) -> Result:
    return Result("error", error.message, error=Fault(error.code, error.message, error.details, error.suggest))
