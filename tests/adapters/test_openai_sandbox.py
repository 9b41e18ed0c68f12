"""The sandbox client for OpenAI Agents, with the SDK's own runner: `make adapters`."""

import asyncio
import io
import json
import os
from pathlib import Path

import pytest

pytest.importorskip("agents", reason="openai-agents is missing: run `make adapters`")

from agents import RunConfig, Runner
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.sandbox import SandboxAgent, SandboxRunConfig
from agents.sandbox.entries import Dir, File
from agents.sandbox.errors import (
    ExecTimeoutError,
    InvalidManifestPathError,
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
)
from agents.sandbox.manifest import Manifest
from agents.sandbox.snapshot import LocalSnapshotSpec
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tests.adapters.escapes import find_escapes
from tests.adapters.task import FAIL, run_example, unknown_statuses
from tests.host.sandbox.test_probes import ground
from toolroll.adapters.openai_sandbox import OpenAISandboxOptions, client
from toolroll.policy.rules import Policy

pytestmark = pytest.mark.slow


def with_session(use, *, manifest=None, made=None, **create):
    """What a function gives of a started session."""

    async def run():
        one = made or client()
        session = await one.create(manifest=manifest, **create)
        try:
            async with session:
                return await use(session)
        finally:
            await one.delete(session)

    return asyncio.run(run())


def test_a_manifest_is_there_and_commands_run():
    entries = {"a.txt": File(content=b"one\n"), "sub": Dir(children={"b.bin": File(content=bytes(range(256)))})}

    async def use(session):
        done = await session.exec("cat a.txt; echo e >&2; echo $WORD; exit 3")
        return done.stdout, done.stderr, done.exit_code, (await session.read(Path("sub/b.bin"))).read()

    manifest = Manifest(entries=entries, environment={"value": {"WORD": "hello"}})
    assert with_session(use, manifest=manifest) == (b"one\nhello\n", b"e\n", 3, bytes(range(256)))


def test_files():
    async def use(session):
        await session.write(Path("d/x"), io.BytesIO(b"x"))
        await session.mkdir("e/f", parents=True)
        await session.mv("d/x", "e/y")
        names = sorted(Path(one.path).name for one in await session.ls("e"))
        with pytest.raises(WorkspaceReadNotFoundError):
            await session.read(Path("d/x"))
        with pytest.raises(WorkspaceArchiveReadError):
            await session.read(Path("e"))
        with pytest.raises(WorkspaceArchiveWriteError):
            await session.write(Path("e"), io.BytesIO(b"x"))
        with pytest.raises(InvalidManifestPathError):
            await session.read(Path("/etc/passwd"))
        await session.rm("e", recursive=True)
        patch = {"type": "create_file", "path": "new.py", "diff": "+print(1)\n"}
        await session.apply_patch([patch])
        return names, (await session.exec("python3 new.py; ls")).stdout

    assert with_session(use) == (["f", "y"], b"1\nd\nnew.py\n")


def test_an_unknown_exit_status_is_no_success():
    async def use(session):
        with unknown_statuses(session.state.manifest.root):
            return await session.exec(FAIL)

    done = with_session(use)
    assert done.exit_code == 125
    assert b"The exit status of the command is unknown" in done.stderr


def test_how_a_command_ends():
    async def use(session):
        with pytest.raises(ExecTimeoutError):
            await session.exec("sleep 9", timeout=0.5)
        found = [await session.exec("no-such", shell=False), await session.exec("id", user="root")]
        return [(one.exit_code, one.stderr.decode()) for one in found]

    missing, other = with_session(use)
    assert missing[0] == 127
    assert other[0] == 126
    assert "sudo" in other[1]


def test_no_trial_gets_out(tmp_path):
    with ground(tmp_path / "ground") as here:
        made = client(here.ws, policy=Policy())

        async def use(session):
            loop = asyncio.get_running_loop()
            wait = lambda one: asyncio.run_coroutine_threadsafe(one, loop).result()  # noqa: E731
            run = lambda script: wait(session.exec("bash", "-c", script, shell=False)).stdout.decode()  # noqa: E731
            read = lambda path: wait(session.read(Path(path))).read()  # noqa: E731
            write = lambda path, data: wait(session.write(Path(path), io.BytesIO(data)))  # noqa: E731
            return await asyncio.to_thread(find_escapes, here, run, read, write)

        assert with_session(use, made=made) == set()
        assert sorted(os.listdir(here.ws)) == ["key", "out"]  # the session had a fork of it


def test_a_session_is_resumed_from_its_snapshot(tmp_path):
    async def run():
        one, snapshot = client(), LocalSnapshotSpec(base_path=tmp_path / "snapshots")
        manifest = Manifest(entries={"a": File(content=b"a"), "gone": File(content=b"e", ephemeral=True)})
        session = await one.create(snapshot=snapshot, manifest=manifest)
        async with session:
            await session.exec("echo more >> a; mkdir -p deep; ln -s ../a deep/link; git init -q .")
        kept = json.dumps(one.serialize_session_state(session.state))
        await one.delete(session)
        other = client()
        again = await other.resume(other.deserialize_session_state(json.loads(kept)))
        async with again:
            found = await again.exec("cat deep/link; git status --short")
        await other.delete(again)
        return session.state.manifest.root, again.state.manifest.root, found.stdout, found.stderr

    first, second, said, errors = asyncio.run(run())
    assert first != second
    assert (said, errors) == (b"amore\n?? a\n?? deep/\n?? gone\n", b"")
    assert not os.path.exists(first)
    assert not os.path.exists(second)


def test_what_cannot_be_is_refused_at_the_start(tmp_path):
    async def use(_):
        raise AssertionError

    with pytest.raises(ValueError, match="leave out '/elsewhere'"):
        with_session(use, manifest=Manifest(root="/elsewhere"))
    with pytest.raises(ValueError, match="no users and groups"):
        with_session(use, manifest=Manifest(users=[{"name": "bob"}]))
    with pytest.raises(FileNotFoundError):
        with_session(use, options=OpenAISandboxOptions(base=str(tmp_path / "missing")))


class Scripted(Model):
    """Answers one turn after another; keeps what it was given."""

    def __init__(self, *turns):
        self.turns, self.given = list(turns), []

    async def get_response(self, *_, input, **__):
        self.given.append(input)
        return ModelResponse([self.turns.pop(0)], Usage(), None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


def scripted(command):
    arguments = json.dumps({"cmd": command})
    call = ResponseFunctionToolCall(arguments=arguments, call_id="1", name="exec_command", type="function_call")
    text = ResponseOutputText(annotations=[], text="done", type="output_text")
    end = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
    return Scripted(call, end)


def test_an_agent_runs_a_command():
    model = scripted("cat a.txt | tr a-z A-Z")
    agent = SandboxAgent(name="a", model=model, default_manifest=Manifest(entries={"a.txt": File(content=b"loud\n")}))
    config = RunConfig(sandbox=SandboxRunConfig(client=client()), tracing_disabled=True)
    result = asyncio.run(Runner.run(agent, "go", run_config=config))
    assert result.final_output == "done"
    assert "LOUD" in json.dumps(model.given[-1])


@pytest.mark.filterwarnings("ignore:asynchronous generator:ResourceWarning")  # of an event loop of `run_sync`
def test_the_example_of_the_manual(ws):
    model = scripted("tr a-z A-Z < cart.py | tee new.py")
    assert run_example("OpenAI Agents, sandboxes", model=model)["result"].final_output == "done"
    assert "TOTAL = 1" in json.dumps(model.given[-1])
    assert not (ws / "new.py").exists()
