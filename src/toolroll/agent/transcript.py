"""A run as JSON Lines: written as it happens, without secrets; read again to be shown or to be replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.agent.records import Answered, Ended, Record, Said, Shortened, Started, Told
from toolroll.host.models.chat.errors import Kind, ModelError
from toolroll.host.models.chat.messages import Message, Stop, ToolCall, Turn, Usage

if TYPE_CHECKING:
    from toolroll.host.models.chat.model import Heard
    from toolroll.host.runtime.cancellation import Token

_LONGEST_SHOWN = 600


class Transcript:
    """A watcher that writes every record as one line."""

    def __init__(self, write: Callable[[str], object], redact: Callable[[str], str]) -> None:
        """`write` gets each line with its end; `redact` every text before."""
        self._write = write
        self._redact = redact

    def __call__(self, record: Record) -> None:
        plain = self._hidden(msgspec.to_builtins(record))
        self._write(msgspec.json.encode(plain).decode() + "\n")

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, dict):
            return {name: self._hidden(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._hidden(one) for one in value]
        return value


def read(lines: Iterable[str]) -> list[Record]:
    """The records of a transcript; ValueError that names the line when one cannot be read.

    A last line without an end is what a run left that was killed, and is passed over.
    """
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            records.append(msgspec.json.decode(line, type=Record))
        except (msgspec.DecodeError, UnicodeError) as error:
            if not line.endswith("\n"):
                break
            raise ValueError(f"Line {number} of the transcript cannot be read: {error}.") from None
    if not records or not isinstance(records[0], Started):
        raise ValueError("This is not a transcript: it does not begin with the start of a run.")
    return records


class Recorded:
    """A model that says again what it said then."""

    def __init__(self, records: Iterable[Record]) -> None:
        every = list(records)
        self.name = next((one.model for one in every if isinstance(one, Started)), "?")
        self._turns = iter([_turn(one) for one in every if isinstance(one, Said)])

    def turn(
        self,
        messages: Iterable[Message],
        token: Token,
        *,
        tools: Iterable[Mapping[str, Any]] = (),
        stop: Iterable[str] = (),
        hear: Heard | None = None,
    ) -> Turn:
        """The next recorded turn, whatever it is asked; ModelError after the last one."""
        del messages, tools, stop
        token.check()
        turn = next(self._turns, None)
        if turn is None:
            raise ModelError(Kind.REQUEST, "The transcript ends here. Run the task with a model to go on.")
        if hear is not None and turn.message.text:
            hear(turn.message.text)
        return turn


def _turn(said: Said) -> Turn:
    calls = tuple(ToolCall(one.id, one.name, one.arguments) for one in said.calls)
    known: dict[str, Stop] = {"end": "end", "calls": "calls", "length": "length", "refused": "refused"}
    usage = Usage(said.input_tokens, said.output_tokens)
    return Turn(Message("assistant", said.text, calls, own=tuple(said.own)), known.get(said.stop, "unclear"), usage)


def shown(record: Record) -> str:
    """A record for people, on a few lines."""
    match record:
        case Started():
            return f"{record.preset} ({record.dialect}) with {record.model}: {record.task}"
        case Said():
            calls = [f"-> {one.name} {_cut(one.arguments)}" for one in record.calls]
            return "\n".join([*([record.text.strip()] if record.text.strip() else []), *calls])
        case Answered():
            return f"<- {record.name} {record.code or record.status}: {_cut(record.text)}"
        case Told():
            return f"(told: {record.text})"
        case Shortened():
            return f"(too long: {record.results} old results were shortened)"
        case Ended():
            done = "finished" if record.finished else f"stopped: {record.reason}"
            tokens = record.input_tokens + record.output_tokens
            return f"{done} after {record.steps} steps and {tokens} tokens: {record.text}"


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]} [...]"
