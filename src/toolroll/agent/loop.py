"""The loop: ask the model, carry out its calls, tell it the results, until it is done or a bound is reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from toolroll import formats
from toolroll.agent import react
from toolroll.agent.calls import carry_out
from toolroll.agent.conversation import Conversation
from toolroll.agent.presets import PRESETS, Preset
from toolroll.agent.records import Answered, Calling, Ended, Record, Said, Shortened, Started, Told, Watch
from toolroll.agent.repeats import Repeats
from toolroll.host.models.chat.errors import Kind, ModelError
from toolroll.host.models.chat.messages import Message, ToolCall, Turn, Usage
from toolroll.host.runtime.cancellation import Token
from toolroll.result import ErrorCode, Fault, Result
from toolroll.tools.session.finish import finish

if TYPE_CHECKING:
    from toolroll.agent.model_client import Mind
    from toolroll.host.models.chat.model import Heard
    from toolroll.kit import Kit

Reason = Literal[
    "finish", "answer", "loop", "steps", "tokens", "context", "model", "refused", "unfinished", "cancelled", "raised"
]
_PATIENCE = 3  # turns in a row that lead nowhere
_CUT = "Your answer was cut off because it was too long. Say it in fewer words, or in several calls."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. `finished` is true only when the model said that it is done."""

    finished: bool
    reason: Reason
    text: str
    """The result, or what stopped it."""
    steps: int
    usage: Usage

    def __str__(self) -> str:
        return self.text if self.finished else f"stopped: {self.reason}. {self.text}".rstrip()


class Agent:
    """A model with hands. Each `run` is one task with a conversation of its own."""

    def __init__(
        self,
        kit: Kit,
        model: Mind,
        preset: Preset = PRESETS["native"],
        *,
        steps: int = 50,
        tokens: int | None = None,
        watch: Sequence[Watch] = (),
        hear: Heard | None = None,
    ) -> None:
        """`steps` bounds the turns and `tokens` the sum of what they cost; `watch` is told of all that happens,
        `hear` the model's text as it comes. The kit's dialect and tools are those that the model gets."""
        self.kit = kit
        self.model = model
        self.preset = preset
        self.steps = steps
        self.tokens = tokens
        self._watch = tuple(watch)
        self._hear = hear

    def run(self, task: str, token: Token | None = None) -> Outcome:
        """Work on a task. What goes wrong with the model is an outcome; system errors of tools are raised."""
        run = _Run(self, task, token or Token(), self._tell)
        reason: Reason = "raised"
        text = "The run was broken off."
        try:
            try:
                reason, text = run.go()
            except ModelError as error:
                reason, text = _REASONS.get(error.kind, "model"), error.message
        finally:
            finished = reason in ("finish", "answer")
            self._tell(Ended(finished, reason, text, run.steps, run.usage.input, run.usage.output))
        return Outcome(finished, reason, text, run.steps, run.usage)

    def ask(self, conversation: Conversation, token: Token) -> Turn:
        """The next turn of the model in a conversation."""
        mind = react.Textual(self.model) if self.preset.style == "react" else self.model
        return mind.turn(conversation.messages, token, tools=self.kit.definitions("mcp"), hear=self._hear)

    def _tell(self, record: Record) -> None:
        for watch in self._watch:
            watch(record)


_REASONS: dict[Kind, Reason] = {Kind.CANCELLED: "cancelled", Kind.LONG: "context"}
_End = tuple[Reason, str]


class _Run:
    """One task on its way."""

    def __init__(self, agent: Agent, task: str, token: Token, tell: Callable[[Record], None]) -> None:
        self._agent = agent
        self._token = token
        self._tell = tell
        self._conversation = Conversation(_system(agent), task)
        self._repeats = Repeats()
        self._nowhere = 0
        self._ending = _ending(agent.kit)
        self.steps = 0
        self.usage = Usage()
        preset, kit = agent.preset, agent.kit
        system = self._conversation.messages[0].text
        tell(Started(task, agent.model.name, preset.name, kit.dialect.name, preset.style, kit.names(), system))

    def go(self) -> _End:
        agent = self._agent
        while self.steps < agent.steps:
            if agent.tokens is not None and self.usage.total >= agent.tokens:
                return "tokens", f"{self.usage.total} tokens were used of {agent.tokens}. Allow more, or ask for less."
            turn = self._next()
            end = self._act(turn) if turn.message.calls else self._listen(turn)
            if end is not None:
                return end
            if self._token.cancelled:
                return "cancelled", "The run was cancelled."
        return "steps", f"{self.steps} steps were made, the limit. Allow more, or ask for less."

    def _next(self) -> Turn:
        """The next turn; a conversation that is too long for the model is made shorter first."""
        while True:
            try:
                turn = self._agent.ask(self._conversation, self._token)
                break
            except ModelError as error:
                if error.kind is not Kind.LONG or not (count := self._conversation.shorten()):
                    raise
                self._tell(Shortened(count))
        self.steps += 1
        self.usage += turn.usage
        message, used = _with_own_ids(turn.message, self.steps), turn.usage
        calls = [Calling(one.id, one.name, one.arguments) for one in message.calls]
        own = [dict(one) for one in message.own]
        self._tell(Said(message.text, calls, turn.stop, used.input, used.output, own))
        if message.text or message.calls:
            self._conversation.add(message)
        return replace(turn, message=message)

    def _listen(self, turn: Turn) -> _End | None:
        """What follows from words alone: the answer, or a word of ours."""
        text = turn.message.text.strip()
        if turn.stop == "refused":
            return "refused", text or "The model declines the task."
        by_text = self._agent.preset.style == "react" or not self._ending
        if turn.stop == "end" and text and by_text:
            return "answer", text
        self._nowhere += 1
        if self._nowhere == _PATIENCE:
            return "unfinished", text or "The model said nothing."
        if turn.stop == "length":
            self._say(_CUT)
        elif turn.stop == "unclear":
            self._say(react.UNCLEAR)
        elif self._ending:
            self._say(f"If the task is done, call `{self._ending}` with the result. If not, go on with the next call.")
        else:
            self._say("Your answer was empty. Go on with the next call, or say the result.")
        return None

    def _say(self, text: str) -> None:
        self._conversation.add(Message("user", text))
        self._tell(Told(text))

    def _act(self, turn: Turn) -> _End | None:
        """Carry out the calls of a turn and tell the results."""
        self._nowhere = 0
        calls = turn.message.calls
        refused = {call.id: why for call in calls if (why := self._repeats.refusal(call)) is not None}
        self._repeats.warned(bool(refused))
        ran = [call for call in calls if call.id not in refused]
        by_id = dict(zip((call.id for call in ran), carry_out(self._agent.kit, ran, self._token), strict=True))
        results = [by_id[call.id] if call.id in by_id else _failure(refused[call.id]) for call in calls]
        end = next((one for one in results if one.control == "finish"), None)
        if end is not None and not all(one.ok for one in results):
            # It said that it was done before it knew that something had failed.
            failed = _failure("Another call of the same turn failed. See to it before you end.")
            results = [failed if one is end else one for one in results]
            end = None
        for call, result in zip(calls, results, strict=True):
            self._tell_result(call, result, cut=turn.stop == "length")
            if call.id in by_id:
                self._repeats.saw(call, result.text)
        if self._repeats.hopeless:
            return "loop", f"The model made the same call again and again: {calls[-1].name} {calls[-1].arguments[:200]}"
        return ("finish", _result_of(end)) if end is not None else None

    def _tell_result(self, call: ToolCall, result: Result, *, cut: bool) -> None:
        text = str(formats.tool_message(call.id, result)["content"])
        if cut and not result.ok:
            text += f"\n{_CUT}"
        self._conversation.add(Message("tool", text, call=call.id, failed=not result.ok, images=result.images))
        code = str(result.error.code) if result.error else None
        seconds = round(float(result.meta.get("seconds", 0.0)), 6)
        self._tell(Answered(call.id, call.name, result.status, text, code, result.control, seconds))


def _system(agent: Agent) -> str:
    ending = _ending(agent.kit)
    last = f" When the task is done, call `{ending}` with the result." if ending else ""
    return f"{agent.preset.instructions}{last}"


def _ending(kit: Kit) -> str:
    """The name of the tool that ends a task, if the kit has it."""
    return next((entry.name for entry in kit.entries() for view in entry.views() if view.tool is finish), "")


def _with_own_ids(message: Message, step: int) -> Message:
    """The message with a different identifier for each call, as some servers forget to give."""
    seen: set[str] = set()
    calls = []
    for place, one in enumerate(message.calls):
        calls.append(replace(one, id=f"{one.id}_{step}_{place}") if one.id in seen else one)
        seen.add(one.id)
    return replace(message, calls=tuple(calls)) if message.calls else message


def _failure(message: str) -> Result:
    return Result("error", message, error=Fault(ErrorCode.CONFLICT, message), wire=message)


def _result_of(end: Result) -> str:
    """What the task came to, without the mark that a dialect may put before it."""
    data = end.data
    return str(data["result"]) if isinstance(data, dict) and "result" in data else end.text
