"""The events of a run, and transcripts of them: written as JSON Lines without secrets, read, shown, replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.models.chat.errors import ModelError, ModelErrorKind
from toolroll.host.models.chat.messages import ChatMessage, ChatRequest, StopReason, ToolCall, Turn, Usage

if TYPE_CHECKING:
    from toolroll.host.models.chat.model import OnText
    from toolroll.host.runtime.cancellation import CancelToken


class _Record(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    pass


class StartRecord(_Record, frozen=True, tag="start"):
    """The run starts."""

    task: str
    model: str
    preset: str
    dialect: str
    style: str
    tools: list[str]
    system: str = ""
    version: int = 1


class RecordedCall(msgspec.Struct, frozen=True):
    """A tool call of the model, with the arguments as it wrote them."""

    id: str
    name: str
    arguments: str


class AssistantRecord(_Record, frozen=True, tag="assistant"):
    """One turn of the model."""

    text: str
    calls: list[RecordedCall] = []
    stop: str = "end"
    input_tokens: int = 0
    output_tokens: int = 0
    provider_blocks: list[dict[str, Any]] = msgspec.field(default_factory=list, name="own")


class ToolRecord(_Record, frozen=True, tag="tool"):
    """The result of a tool call, or its refusal."""

    id: str
    name: str
    status: str
    text: str
    code: str | None = None
    control: str | None = None
    seconds: float = 0.0


class UserRecord(_Record, frozen=True, tag="user"):
    """A message of the loop to the model."""

    text: str


class ShortenRecord(_Record, frozen=True, tag="shortened"):
    """The conversation was too long: this many old results were cut."""

    results: int


class EndRecord(_Record, frozen=True, tag="end"):
    """The run has ended."""

    finished: bool
    reason: str
    text: str
    steps: int
    input_tokens: int
    output_tokens: int


Record = StartRecord | AssistantRecord | ToolRecord | UserRecord | ShortenRecord | EndRecord
Watch = Callable[[Record], None]


_MAX_SHOWN_CHARS = 600
_INTERRUPTED = "The user interrupted the run before this call had a result. It may have been carried out."


class Transcript:
    """A watcher that writes each record as one line of JSON."""

    def __init__(self, write: Callable[[str], object], redact: Callable[[str], str]) -> None:
        """`write` receives each line with its end, after `redact` has changed every text in it."""
        self._write = write
        self._redact = redact

    def __call__(self, record: Record) -> None:
        plain = self._redact_value(msgspec.to_builtins(record))
        self._write(msgspec.json.encode(plain).decode() + "\n")

    def _redact_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, dict):
            return {name: self._redact_value(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._redact_value(one) for one in value]
        return value


def read_records(lines: Iterable[str]) -> list[Record]:
    """The records of a transcript; ValueError with the line number of a line that cannot be read.

    A last line without an end comes from a run that was killed, and is ignored.
    """
    read: list[Record] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            read.append(msgspec.json.decode(line, type=Record))
        except (msgspec.DecodeError, UnicodeError) as error:
            if not line.endswith("\n"):
                break
            raise ValueError(f"Line {number} of the transcript cannot be read: {error}.") from None
    if not read or not isinstance(read[0], StartRecord):
        raise ValueError("This is not a transcript: it does not begin with the start of a run.")
    return read


def rebuild_history(records: Iterable[Record]) -> list[ChatMessage]:
    """The messages of a run and of those that continued it, without the system's, to go on from there.

    A call that has no result was interrupted: the model reads that.
    """
    messages: list[ChatMessage] = []
    unanswered: dict[str, None] = {}
    for record in records:
        if unanswered and not isinstance(record, ToolRecord):
            messages += [ChatMessage("tool", _INTERRUPTED, call_id=id, failed=True) for id in unanswered]
            unanswered = {}
        match record:
            case StartRecord():
                messages.append(ChatMessage("user", record.task))
            case AssistantRecord() if record.text or record.calls:
                messages.append(_build_turn(record).message)
                unanswered = dict.fromkeys(one.id for one in record.calls)
            case ToolRecord():
                messages.append(ChatMessage("tool", record.text, call_id=record.id, failed=record.status == "error"))
                unanswered.pop(record.id, None)
            case UserRecord():
                messages.append(ChatMessage("user", record.text))
    return [*messages, *(ChatMessage("tool", _INTERRUPTED, call_id=id, failed=True) for id in unanswered)]


class ReplayModel:
    """A model that replays the turns of a transcript."""

    def __init__(self, recorded: Sequence[Record]) -> None:
        self.name = next((one.model for one in recorded if isinstance(one, StartRecord)), "?")
        self._turns = iter([_build_turn(one) for one in recorded if isinstance(one, AssistantRecord)])

    def turn(self, request: ChatRequest, token: CancelToken, on_text: OnText | None = None) -> Turn:
        """The next recorded turn, whatever the request is; ModelError after the last one."""
        del request
        token.check()
        turn = next(self._turns, None)
        if turn is None:
            raise ModelError(ModelErrorKind.REQUEST, "The transcript ends here. Run the task with a model to go on.")
        if on_text is not None and turn.message.text:
            on_text(turn.message.text)
        return turn


def _build_turn(record: AssistantRecord) -> Turn:
    calls = tuple(ToolCall(one.id, one.name, one.arguments) for one in record.calls)
    known: dict[str, StopReason] = {"end": "end", "calls": "calls", "length": "length", "refused": "refused"}
    usage = Usage(record.input_tokens, record.output_tokens)
    return Turn(
        ChatMessage("assistant", record.text, calls, provider_blocks=tuple(record.provider_blocks)),
        known.get(record.stop, "unclear"),
        usage,
    )


def describe_record(record: Record) -> str:
    """A record as a few lines for people."""
    match record:
        case StartRecord():
            return f"{record.preset} ({record.dialect}) with {record.model}: {record.task}"
        case AssistantRecord():
            calls = [f"-> {one.name} {_cut(one.arguments)}" for one in record.calls]
            return "\n".join([*([record.text.strip()] if record.text.strip() else []), *calls])
        case ToolRecord():
            return f"<- {record.name} {record.code or record.status}: {_cut(record.text)}"
        case UserRecord():
            return f"(to the model: {record.text})"
        case ShortenRecord():
            return f"(too long: {record.results} old results were shortened)"
        case EndRecord():
            done = "finished" if record.finished else f"stopped: {record.reason}"
            tokens = record.input_tokens + record.output_tokens
            return f"{done} after {record.steps} steps and {tokens} tokens: {record.text}"


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]} [...]"
