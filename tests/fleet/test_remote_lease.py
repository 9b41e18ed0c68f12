"""A lease in another process is used as a kit is."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from toolroll import CancelToken, Kit, Lease, ToolError
from toolroll.adapters.approvals import NeedsApprovalError, PausedCalls, asks_before, shows_all
from toolroll.fleet import remote_lease, worker
from toolroll.fleet.engines.local import ProcessPipe
from toolroll.fleet.remote_lease import OrderCallbacks, RemotePools, RemoteWorker
from toolroll.fleet.worker import FrozenPlace, WorkerOrder
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError, ChangedCall, Refusal
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.runtime.launcher import PIPE, start_process
from toolroll.text.files.changes import Change

WRITE = ("write", {"path": "new.txt", "content": "new\n"})

OWN_TOOL = "from toolroll import tool\n\n@tool()\ndef divide(a: int) -> int:\n    'Divide.'\n    return 1 // a\n"


@contextmanager
def one_worker(folder: Path, policy: str) -> Iterator[RemotePools]:
    """A worker, as a process of this machine."""
    (folder / "ws").mkdir()
    (folder / "ws" / "a.txt").write_text("one\n")
    (folder / "config/toolroll/tools").mkdir(parents=True)
    (folder / "config/toolroll/tools/own.py").write_text(OWN_TOOL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        frozen = FrozenCopy(str(folder / "ws"), None, 10**9)
        made = RemotePools("local", frozen, {"seconds": 600}, {"policy": policy}, [])
        yield made
        made.close()
        frozen.close()
    assert [one for one in (folder / "cache").rglob("*") if one.is_file()] == []


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemotePools]:
    with one_worker(tmp_path_factory.mktemp("remote"), "standard") as made:
        yield made


@pytest.fixture(scope="module")
def asking_pools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemotePools]:
    with one_worker(tmp_path_factory.mktemp("asking"), "ask") as made:
        yield made


@pytest.fixture
def asking(asking_pools: RemotePools) -> Iterator[Lease]:
    """A lease that asks about each change."""
    made = asking_pools.lease()
    yield made
    made.close()


@pytest.fixture
def lease(pools: RemotePools) -> Iterator[Lease]:
    made = pools.lease()
    yield made
    made.close()


def test_a_tool_of_ones_own_that_raises_is_a_result(lease: Lease) -> None:
    result = lease.call("divide", {"a": 0})
    assert "failed with ZeroDivisionError: " in result.text
    assert result.error is not None
    assert result.error.details["type"] == "ZeroDivisionError"
    assert lease.call("divide", {"a": 1}).data == 1, "the lease goes on"


def test_calls_and_changes(lease: Lease) -> None:
    assert isinstance(lease, Kit)
    assert lease.call("read", {"path": "a.txt"}).text == "1\tone"
    edited = lease.call("edit", '{"path": "a.txt", "old": "one", "new": "two"}')
    assert edited.ok, edited.text
    assert lease.changes() == [Change("a.txt", "modified", 1, 1)]
    assert "-one\n+two\n" in lease.diff()
    missing = lease.call("read", {"path": "none"})
    assert missing.error is not None
    assert missing.error.code == "NotFound"
    assert lease.undo().ok
    assert lease.describe() == ""


def test_bytes_and_commands(lease: Lease) -> None:
    assert lease.write_bytes("b.bin", b"\x00\xff") == Change("b.bin", "created")
    assert lease.read_bytes("b.bin") == b"\x00\xff"
    done = lease.exec(["sh", "-c", "cat; echo bad >&2; echo > new; exit 3"], stdin=b"\xfe")
    assert (done.stdout, done.stderr, done.code) == (b"\xfe", b"bad\n", 3)
    assert [one.path for one in done.changes] == ["new"]
    with pytest.raises(ToolError, match="empty"):
        lease.exec("")


def test_it_is_shown_to_a_model_as_any_kit(lease: Lease) -> None:
    assert {"read", "bash"} <= {one["function"]["name"] for one in lease.definitions()}
    assert lease.check("read", {"path": "a.txt"}).name == "read"
    answers = lease.execute([{"id": "1", "function": {"name": "ls", "arguments": "{}"}}])
    assert "a.txt" in answers[0]["content"]
    assert lease.limits.seconds == 600  # type: ignore[attr-defined]
    with pytest.raises(ToolError, match="does not have this part"):
        lease.context()


def test_a_call_is_cancelled(lease: Lease) -> None:
    token = CancelToken()
    threading.Timer(0.2, token.cancel).start()
    result = lease.call("bash", {"command": "sleep 30"}, token=token)
    assert result.error is not None
    assert result.error.code == "Cancelled"


def test_leases_are_apart_and_end(pools: RemotePools, lease: Lease) -> None:
    other = pools.lease()
    other.write_bytes("a.txt", b"other\n")
    assert lease.read_bytes("a.txt") == b"one\n"
    other.close()
    with pytest.raises(ToolError, match="was closed"):
        other.call("ls")
    assert not Path(other.workspace).exists()


@pytest.mark.parametrize("options", [{"approve": print}, {"policy": object()}, {"roots": ["/"]}])
def test_an_option_that_cannot_go_elsewhere_is_named(options: dict[str, object], ws: Path) -> None:
    frozen = FrozenCopy(str(ws), None, 10**9)
    with pytest.raises(ValueError, match=f"The option {next(iter(options))!r} cannot go"):
        RemotePools("local", frozen, {}, options, [])
    frozen.close()


def cannot_ask(_: ApprovalRequest) -> Answer:
    raise CannotAskError("nobody is here.")


@pytest.mark.parametrize(
    ("approve", "content", "said"),
    [
        (lambda _: True, "new\n", "new.txt"),
        (lambda _: "once", "new\n", "new.txt"),
        (lambda _: False, None, "The user was asked and declined."),
        (lambda _: Refusal("Use old.txt."), None, "declined ('Use old.txt.')"),
        (lambda _: ChangedCall({**WRITE[1], "content": "other\n"}), "other\n", "The user changed the call"),
        (cannot_ask, None, "The user was not asked, because nobody is here. Go on"),
        (None, None, "no approver is set up here"),
    ],
)
def test_an_approver_here_answers_what_a_call_there_asks(
    asking: Lease, approve: Callable[[ApprovalRequest], Answer], content: str | None, said: str
) -> None:
    assert said in asking.call(*WRITE, approve=approve).text
    written = asking.exec(["cat", "new.txt"]).stdout if content else None
    assert (written, len(asking.changes())) == (content and content.encode(), int(content is not None))


def test_an_approver_is_shown_what_that_of_a_kit_here_is(asking: Lease, ws: Path) -> None:
    seen = list[ApprovalRequest]()
    with Kit(ws, policy="ask", approve=lambda one: bool(seen.append(one))) as here:
        here.call(*WRITE)
        here.call("bash", {"command": "make x"})
    threads = set[int]()

    def approve(request: ApprovalRequest) -> Answer:
        threads.add(threading.get_ident())
        return bool(seen.append(request))

    asking.call(*WRITE, approve=approve)
    asking.call("bash", {"command": "make x"}, approve=approve)
    assert len(seen) == 4
    assert seen[2:] == seen[:2]
    assert [one.text for one in seen[2:]] == [one.text for one in seen[:2]]
    assert {one.guard for one in seen[2:]} == {asking}
    assert threads == {threading.get_ident()}


def test_an_answer_is_remembered_for_its_lease(asking_pools: RemotePools, asking: Lease) -> None:
    asked = list[str]()

    def approve(request: ApprovalRequest) -> Answer:
        asked.append(request.name)
        return "session"

    other = asking_pools.lease()
    for one in (asking, asking, other):
        assert one.call(*WRITE, approve=approve).ok
    other.close()
    assert asked == ["write", "write"]


def test_an_approver_that_fails_ends_its_call_alone(asking: Lease) -> None:
    def approve(_: ApprovalRequest) -> Answer:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        asking.call(*WRITE, approve=approve)
    assert asking.changes() == []
    assert asyncio.run(asking.acall(*WRITE, approve=lambda _: True)).ok


def test_adapters_pause_a_call_for_approval(asking: Lease, lease: Lease) -> None:
    assert asks_before(asking, *WRITE)
    assert not asks_before(lease, *WRITE)
    paused = PausedCalls(asking)
    with pytest.raises(NeedsApprovalError) as raised:
        asking.call(*WRITE, approve=paused.approver(*WRITE, approved=False))
    assert shows_all(asking, *WRITE, raised.value.request)
    assert asking.changes() == []
    assert asking.call(*WRITE, approve=paused.approver(*WRITE, approved=True)).ok


def test_a_progress_callback_that_fails_ends_its_call_alone(lease: Lease) -> None:
    def progress(*_: object) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        lease.call("bash", {"command": "echo 1; sleep 30"}, progress=progress)
    assert lease.call("read", {"path": "a.txt"}, progress=progress).ok


class StandIn:
    """A node whose worker is this Python code."""

    name, cores, place = "box", 1, FrozenPlace("", "")

    def __init__(self, code: str) -> None:
        self.code = code

    def start(self) -> ProcessPipe:
        words = [sys.executable, "-c", self.code]
        return ProcessPipe(start_process(words, "/", os.environ, (PIPE, PIPE, 2)))


ORDER = WorkerOrder("box", 1, FrozenPlace("", ""))
READY = 'import sys; sys.stdin.readline(); print(\'{"id": 1, "result": {"ready": "overlay"}}\', flush=True); sys.stdin.readline(); '


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "print('{\"id\": 2, \"result\": ' + '[' * 100_000, flush=True); sys.stdin.read()",
            "sent a message that is nested too deeply",
        ),
        ("print('x' * 3_000_000, flush=True); sys.stdin.read()", "sent a message of more than 2000000 bytes"),
        ("sys.exit(3)", "status 3"),
    ],
)
def test_nobody_waits_for_a_worker_whose_answers_end(code: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_MAX_MESSAGE_BYTES", 2_000_000)
    remote = RemoteWorker(StandIn(READY + code), ORDER, print)
    with pytest.raises(ToolError, match=rf"box is gone \({said}.*Ask for another lease\."):
        remote.ask(1, "describe", {}, OrderCallbacks())
    assert remote.is_gone
    remote.close()


def test_a_worker_that_freezes_at_its_start_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_lease, "_READY_SECONDS", 0.2)
    with pytest.raises(ToolError, match=r"its worker was not ready within 0\.2 s\."):
        RemoteWorker(StandIn("import time; time.sleep(100)"), ORDER, print)


def test_langchain_uses_a_lease(asking: Lease) -> None:
    pytest.importorskip("langchain", reason="make adapters installs langchain")
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode
    from langgraph.types import Command

    from toolroll.adapters.langchain import tools

    graph: Any = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(tools(asking)))
    graph.add_edge(START, "tools")
    agent = graph.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    calls = [{"name": WRITE[0], "args": WRITE[1], "id": "1"}, {"name": "read", "args": {"path": "a.txt"}, "id": "2"}]
    asked = agent.invoke({"messages": [{"role": "assistant", "content": "", "tool_calls": calls}]}, thread)
    assert [one.value["action_requests"][0]["name"] for one in asked["__interrupt__"]] == ["write"]
    assert asking.changes() == []
    done = agent.invoke(Command(resume="once"), thread)
    assert [one.content for one in done["messages"]][-1] == "1\tone"
    assert [one.path for one in asking.changes()] == ["new.txt"]


def test_pydantic_ai_uses_a_lease(asking: Lease) -> None:
    pytest.importorskip("pydantic_ai", reason="make adapters installs pydantic-ai")
    from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from toolroll.adapters.pydantic_ai import toolset

    script = [ToolCallPart("read", {"path": "a.txt"}), ToolCallPart(*WRITE)]

    def answer(messages: list[Any], _: object) -> ModelResponse:
        done = [part for one in messages for part in one.parts if isinstance(part, ToolReturnPart)]
        return ModelResponse([script[len(done)] if len(done) < len(script) else TextPart(str(done[0].content))])

    agent: Any = Agent(FunctionModel(answer), toolsets=[toolset(asking)], output_type=[str, DeferredToolRequests])
    paused = agent.run_sync("go")
    (call,) = paused.output.approvals
    assert (call.tool_name, asking.changes()) == ("write", [])
    answers = DeferredToolResults(approvals={call.tool_call_id: True})
    done = agent.run_sync(message_history=paused.all_messages(), deferred_tool_results=answers)
    assert "1\tone" in done.output
    assert [one.path for one in asking.changes()] == ["new.txt"]


def test_openai_agents_and_agno_use_a_lease(asking: Lease) -> None:
    pytest.importorskip("agents", reason="make adapters installs openai-agents")
    pytest.importorskip("agno", reason="make adapters installs agno")
    from agents.tool_context import ToolContext

    from toolroll.adapters import agno, openai_agents

    (read,) = (one for one in openai_agents.tools(asking) if one.name == "read")
    given = json.dumps({"path": "a.txt"})
    ctx: Any = ToolContext(None, tool_name="read", tool_call_id="1", tool_arguments=given)
    assert asyncio.run(read.on_invoke_tool(ctx, given)) == "1\tone"
    by_name = {one.name: one for one in agno.tools(asking)}
    assert by_name["read"].entrypoint(path="a.txt").content == "1\tone"  # type: ignore[misc]
    assert by_name["write"].requires_confirmation
    assert by_name["write"].entrypoint(**WRITE[1]).content  # type: ignore[misc]  # a person has confirmed it
