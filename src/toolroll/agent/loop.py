"""The agent loop: ask the model, run its tool calls, send the results, until it finishes or a bound is reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from toolroll import formats
from toolroll.agent import react, transcript
from toolroll.agent.presets import PRESETS, Preset
from toolroll.agent.repeats import RepeatGuard
from toolroll.agent.transcript import Record, Watch
from toolroll.chains import LinkedToken, parallel
from toolroll.dialect import Entry, Relay
from toolroll.host.models.chat.errors import ModelError, ModelErrorKind
from toolroll.host.models.chat.messages import ChatMessage, ChatRequest, ToolCall, Turn, Usage
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, Fault, Result, ToolError
from toolroll.schema.check import parse_arguments
from toolroll.tools.session.finish import finish

if TYPE_CHECKING:
    from toolroll.agent.model_client import ModelClient
    from toolroll.host.models.chat.model import OnText
    from toolroll.kit import Kit

Reason = Literal[
    "finish", "answer", "loop", "steps", "tokens", "context", "model", "refused", "unfinished", "cancelled", "raised"
]
_KEPT_CHARS = 200  # of a result that is shortened
_RECENT_RESULTS = 2  # shortened last
_READ_ONLY = Effect.READ | Effect.NETWORK
_MAX_IDLE_TURNS = 3  # in a row, without a call or an answer
_CUT_OFF = "Your answer was cut off because it was too long. Say it in fewer words, or in several calls."


class Conversation:
    """The messages of one run so far."""

    def __init__(self, system: str, task: str, history: Sequence[ChatMessage] = ()) -> None:
        self.messages = [ChatMessage("system", system), *history, ChatMessage("user", task)]

    def add(self, *messages: ChatMessage) -> None:
        self.messages += messages

    def shorten(self) -> int:
        """Cut the older half of the long tool results; the number of results cut, 0 if none is left to cut."""
        long = [
            place
            for place, one in enumerate(self.messages)
            if one.role == "tool" and (len(one.text) > 2 * _KEPT_CHARS or one.images)
        ]
        chosen = long[: max(1, len(long) // 2)] if len(long) > _RECENT_RESULTS else long
        for place in chosen:
            one = self.messages[place]
            note = f"[Shortened: it had {len(one.text)} characters. Call the tool again if you need them.]"
            self.messages[place] = replace(one, text=f"{one.text[:_KEPT_CHARS]}\n{note}", images=())
        return len(chosen)


def run_calls(kit: Kit, calls: Sequence[ToolCall], token: CancelToken) -> list[Result]:
    """The results of the calls, in their order."""
    entries = {entry.name: entry for entry in kit.entries()}
    results: list[Result] = []
    for read_only, group in groupby(calls, key=lambda call: is_read_only(call, entries.get(call.name))):
        group_calls = [(call.name, call.arguments) for call in group]
        if read_only:
            results += parallel(kit, group_calls, token=token)
        else:  # a model that writes a file and runs its tests in one turn expects this order
            results += [kit.call(name, arguments, token=LinkedToken(token)) for name, arguments in group_calls]
    return results


def is_read_only(call: ToolCall, entry: Entry | None) -> bool:
    """True if the call changes nothing, so that others can run at the same time."""
    if entry is None:
        return True
    if isinstance(entry, Relay):
        return entry.effects in _READ_ONLY
    try:
        effects = entry.pick(parse_arguments(call.arguments)).effects
    except (ToolError, KeyError):  # the call will fail with an explanation
        return True
    return effects in _READ_ONLY


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended. `finished` is True only if the model said that it is done."""

    finished: bool
    reason: Reason
    text: str
    """The result, or the reason for stopping."""
    steps: int
    usage: Usage

    def __str__(self) -> str:
        return self.text if self.finished else f"stopped: {self.reason}. {self.text}".rstrip()


class Agent:
    """A model with the tools of a kit. Each `run` is one task with a conversation of its own."""

    def __init__(
        self,
        kit: Kit,
        model: ModelClient,
        preset: Preset = PRESETS["native"],
        *,
        steps: int = 50,
        tokens: int | None = None,
        watch: Sequence[Watch] = (),
        on_text: OnText | None = None,
    ) -> None:
        """`steps` bounds the turns and `tokens` their total cost; `watch` receives every record of the run,
        `on_text` the model's text as it arrives. The model gets the tools of the kit, in its dialect."""
        self.kit = kit
        self.model = model
        self.preset = preset
        self.steps = steps
        self.tokens = tokens
        self._watch = tuple(watch)
        self._on_text = on_text

    def run(self, task: str, token: CancelToken | None = None, history: Sequence[ChatMessage] = ()) -> RunOutcome:
        """Work on a task, or go on after the `history` of an earlier run.

        An error of the model is an outcome; system errors of tools are raised.
        """
        run = _Run(self, task, token or CancelToken(), self._notify, history)
        reason: Reason = "raised"
        text = "The run was interrupted."
        try:
            try:
                reason, text = run.work()
            except ModelError as error:
                reason, text = _REASONS.get(error.kind, "model"), error.message
        finally:
            finished = reason in ("finish", "answer")
            if finished:
                self.kit.add_turn("assistant", text)
            self._notify(transcript.EndRecord(finished, reason, text, run.steps, run.usage.input, run.usage.output))
        return RunOutcome(finished, reason, text, run.steps, run.usage)

    def ask(self, conversation: Conversation, token: CancelToken) -> Turn:
        model = react.ReactModel(self.model) if self.preset.style == "react" else self.model
        request = ChatRequest(tuple(conversation.messages), tuple(self.kit.definitions("mcp")))
        return model.turn(request, token, self._on_text)

    def _notify(self, record: Record) -> None:
        for watch in self._watch:
            watch(record)


_REASONS: dict[ModelErrorKind, Reason] = {ModelErrorKind.CANCELLED: "cancelled", ModelErrorKind.LONG: "context"}
_End = tuple[Reason, str]


class _Run:
    def __init__(
        self,
        agent: Agent,
        task: str,
        token: CancelToken,
        notify: Callable[[Record], None],
        history: Sequence[ChatMessage],
    ) -> None:
        self._agent = agent
        self._token = token
        self._notify = notify
        self._conversation = Conversation(_build_system(agent), task, history)
        self._repeats = RepeatGuard()
        self._idle_turns = 0
        self._finish_name = _find_finish(agent.kit)
        self.steps = 0
        self.usage = Usage()
        preset, kit = agent.preset, agent.kit
        system = self._conversation.messages[0].text
        kit.add_turn("user", task)
        names = agent.model.name, preset.name, kit.dialect.name, preset.style
        notify(transcript.UserRecord(task) if history else transcript.StartRecord(task, *names, kit.names(), system))

    def work(self) -> _End:
        agent = self._agent
        while self.steps < agent.steps:
            if agent.tokens is not None and self.usage.total >= agent.tokens:
                return "tokens", f"{self.usage.total} of {agent.tokens} tokens were used. Allow more, or ask for less."
            turn = self._take_turn()
            end = self._act(turn) if turn.message.calls else self._answer_text(turn)
            if end is not None:
                return end
            if self._token.cancelled:
                return "cancelled", "The run was cancelled."
        return "steps", f"{self.steps} steps were made, the limit. Allow more, or ask for less."

    def _take_turn(self) -> Turn:
        """The next turn; a conversation that is too long for the model is shortened first."""
        while True:
            try:
                turn = self._agent.ask(self._conversation, self._token)
                break
            except ModelError as error:
                if error.kind is not ModelErrorKind.LONG or not (count := self._conversation.shorten()):
                    raise
                self._notify(transcript.ShortenRecord(count))
        self.steps += 1
        self.usage += turn.usage
        message, used = _with_unique_ids(turn.message, self.steps), turn.usage
        calls = [transcript.RecordedCall(one.id, one.name, one.arguments) for one in message.calls]
        blocks = [dict(one) for one in message.provider_blocks]
        self._notify(transcript.AssistantRecord(message.text, calls, turn.stop, used.input, used.output, blocks))
        if message.text:
            self._agent.kit.add_turn("assistant", message.text)
        if message.text or message.calls:
            self._conversation.add(message)
        return replace(turn, message=message)

    def _answer_text(self, turn: Turn) -> _End | None:
        """Handle a turn without calls: it ends the run, or the loop replies to it."""
        text = turn.message.text.strip()
        if turn.stop == "refused":
            return "refused", text or "The model declines the task."
        by_text = self._agent.preset.style == "react" or not self._finish_name
        if turn.stop == "end" and text and by_text:
            return "answer", text
        self._idle_turns += 1
        if self._idle_turns == _MAX_IDLE_TURNS:
            return "unfinished", text or "The model gave no answer."
        if turn.stop == "length":
            self._say(_CUT_OFF)
        elif turn.stop == "unclear":
            self._say(react.UNCLEAR)
        elif self._finish_name:
            self._say(
                f"If the task is done, call `{self._finish_name}` with the result. If not, go on with the next call."
            )
        else:
            self._say("Your answer was empty. Go on with the next call, or say the result.")
        return None

    def _say(self, text: str) -> None:
        self._conversation.add(ChatMessage("user", text))
        self._notify(transcript.UserRecord(text))

    def _act(self, turn: Turn) -> _End | None:
        self._idle_turns = 0
        calls = turn.message.calls
        refused = {call.id: why for call in calls if (why := self._repeats.refusal(call)) is not None}
        self._repeats.end_turn(refused=bool(refused))
        ran = [call for call in calls if call.id not in refused]
        by_id = dict(zip((call.id for call in ran), run_calls(self._agent.kit, ran, self._token), strict=True))
        results = [by_id[call.id] if call.id in by_id else _failure(refused[call.id]) for call in calls]
        end = next((one for one in results if one.control == "finish"), None)
        if end is not None and not all(one.ok for one in results):
            # The model finished before it knew that another call had failed.
            failed = _failure("Another call of the same turn failed. See to it before you end.")
            results = [failed if one is end else one for one in results]
            end = None
        for call, result in zip(calls, results, strict=True):
            self._add_result(call, result, cut=turn.stop == "length")
            if call.id in by_id:
                self._repeats.remember(call, result.text)
        if self._repeats.exhausted:
            return "loop", f"The model made the same call again and again: {calls[-1].name} {calls[-1].arguments[:200]}"
        return ("finish", _finish_text(end)) if end is not None else None

    def _add_result(self, call: ToolCall, result: Result, *, cut: bool) -> None:
        text = formats.wire_text(result)
        if cut and not result.ok:
            text += f"\n{_CUT_OFF}"
        self._conversation.add(ChatMessage("tool", text, call_id=call.id, failed=not result.ok, images=result.images))
        code = str(result.error.code) if result.error else None
        seconds = round(float(result.meta.get("seconds", 0.0)), 6)
        self._notify(transcript.ToolRecord(call.id, call.name, result.status, text, code, result.control, seconds))


def _build_system(agent: Agent) -> str:
    finish_name = _find_finish(agent.kit)
    last = f" When the task is done, call `{finish_name}` with the result." if finish_name else ""
    return f"{agent.preset.instructions}{last}"


def _find_finish(kit: Kit) -> str:
    """The name of the `finish` tool in the kit's dialect; empty if the kit does not have it."""
    return next((entry.name for entry in kit.entries() for view in entry.views() if view.tool is finish), "")


def _with_unique_ids(message: ChatMessage, step: int) -> ChatMessage:
    """The message with a different identifier for each call: some servers repeat them."""
    seen: set[str] = set()
    calls = []
    for place, one in enumerate(message.calls):
        calls.append(replace(one, id=f"{one.id}_{step}_{place}") if one.id in seen else one)
        seen.add(one.id)
    return replace(message, calls=tuple(calls)) if message.calls else message


def _failure(message: str) -> Result:
    return Result("error", message, error=Fault(ErrorCode.CONFLICT, message), wire=message)


def _finish_text(end: Result) -> str:
    """The result of the task, without the prefix that a dialect may add."""
    data = end.data
    return str(data["result"]) if isinstance(data, dict) and "result" in data else end.text
