"""The runtime for verifiers, by what its own runtimes do, and in a whole episode: `make adapters`."""

import asyncio
import os
import socket
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("verifiers", reason="verifiers is missing: run `make adapters`")

import verifiers.v1 as vf
from verifiers.v1.clients import EvalClientConfig, ModelContext
from verifiers.v1.envs.single_agent import SingleAgentEnvConfig
from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import RuntimeInfo, SubprocessConfig, make_runtime

from tests.adapters.escapes import find_escapes
from tests.adapters.task import FAIL, run_example, unknown_statuses
from tests.clients.scripted_model import serve_script
from tests.host.sandbox.test_probes import ground
from toolroll.adapters.verifiers import runtime
from toolroll.host.runtime.user_folders import make_cache_dir

pytestmark = pytest.mark.slow


def with_runtime(use, *given, **options):
    async def run():
        async with runtime(*given, **options) as box:
            return await use(box)

    return asyncio.run(run())


async def contract(box):
    """What a runtime does, in one value."""
    await box.write("a/b.bin", bytes(range(256)))
    await box.write("/tmp/vf-test/c", b"c")
    box.env = {"TASK": "1", "OVER": "task"}
    view = box.with_env({"TASK": "2"})
    ran = [
        await box.run(["sh", "-c", "echo $TASK$OVER; echo e >&2; exit 3"], {"OVER": "call"}),
        await view.run(["sh", "-c", "echo $TASK$OVER"], {}),
        await box.run(["cat", "/tmp/vf-test/c"], {}),
    ]
    errors = []
    for path, most in (("missing", None), ("missing", 5), ("a/b.bin", 255), ("a", None)):
        try:
            await box.read(path, most)
        except (SandboxError, OSError) as error:
            errors.append(isinstance(error, SandboxError) or most is None)
    found = [len(await box.read("a/b.bin")), len(await box.read("a/b.bin", 256)), await box.read("/tmp/vf-test/c")]
    return [(one.exit_code, one.stdout, one.stderr) for one in ran], errors, found, await box.alive()


def test_it_does_what_the_subprocess_runtime_does():
    async def own():
        box = make_runtime(SubprocessConfig())
        await box.start()
        try:
            return await contract(box)
        finally:
            await box.stop()

    assert with_runtime(contract) == asyncio.run(own())


def test_what_a_trace_keeps_of_it():
    from pydantic import TypeAdapter

    async def use(box):
        return TypeAdapter(RuntimeInfo).validate_json(box.info.model_dump_json()), box.box.workspace

    info, workspace = with_runtime(use)
    assert (info.type, info.id) == ("subprocess", workspace)
    assert not os.path.exists(workspace)


def test_an_unknown_exit_status_is_no_success():
    async def use(box):
        with unknown_statuses(box.box.workspace):
            return await box.run(["sh", "-c", FAIL], {})

    done = with_runtime(use)
    assert done.exit_code == 125
    assert "The exit status of the command is unknown" in done.stderr


def test_background_programs_and_cancelled_ones_end():
    async def use(box):
        await box.run_background(["sh", "-c", "echo up; sleep 60"], {}, "server.log")
        await box.run(["sh", "-c", "until grep -q up server.log; do sleep 0.1; done"], {})
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(box.run(["sleep", "60"], {}), 0.5)
        return await box.read("server.log")

    began = time.monotonic()
    assert with_runtime(use) == b"up\n"
    assert time.monotonic() - began < 20


def test_no_trial_gets_out(tmp_path):
    with ground(tmp_path / "ground") as here:

        async def use(box):
            loop = asyncio.get_running_loop()
            wait = lambda one: asyncio.run_coroutine_threadsafe(one, loop).result()  # noqa: E731
            run = lambda script: wait(box.run(["bash", "-c", script], {})).stdout  # noqa: E731
            read = lambda path: wait(box.read(path))  # noqa: E731
            write = lambda path, data: wait(box.write(path, data))  # noqa: E731
            return await asyncio.to_thread(find_escapes, here, run, read, write)

        assert with_runtime(use, here.ws) == set()
        assert sorted(os.listdir(here.ws)) == ["key", "out"]  # the runtime had a fork of it


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"answer")

    def log_message(self, *_):
        pass


def test_only_the_named_port_of_this_machine_is_reached():
    ask = "from urllib.request import urlopen as u; print(u('http://127.0.0.1:%d/v1', b'x', timeout=5).read())"

    async def use(box):
        ports = [one.server_address[1] for one in servers]
        return [(await box.run(["python3", "-c", ask % port], {})).stdout for port in ports]

    servers = [HTTPServer(("127.0.0.1", 0), Model) for _ in range(2)]
    for one in servers:
        threading.Thread(target=one.serve_forever, daemon=True).start()
    try:
        found = with_runtime(use, network=f"127.0.0.1:{servers[0].server_address[1]}")
    finally:
        for one in servers:
            one.shutdown()
            one.server_close()
    assert found == ["b'answer'\n", ""]


def test_a_client_that_has_sent_all_still_gets_the_answer():
    answer = b"x" * 3_000_000  # more than sockets hold

    def serve():
        connection, _ = server.accept()
        with connection:
            while connection.recv(1 << 16):
                pass  # to the end of the request
            connection.sendall(answer)

    def ask(url):
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20) as client:
            client.sendall(b"question")
            client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(1 << 16), b""))

    async def use(box):
        return await asyncio.to_thread(ask, box.host_url(f"http://127.0.0.1:{server.getsockname()[1]}"))

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        assert with_runtime(use) == answer


UV = f"""#!/bin/sh
# Stands for uv where the packages of a script are installed already, in the environment of this test.
[ "$1" = sync ] || echo {sys.executable}
"""


class GreetTask(vf.Task[vf.TaskData]):
    def runtime_env(self):
        return {"PATH": f"{os.getcwd()}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"}

    @vf.reward
    async def is_greeted(self, runtime):
        return float(await runtime.read("greeting") == b"hello\n")


class Greet(vf.Taskset[GreetTask, vf.TasksetConfig]):
    def load(self):
        yield GreetTask(vf.TaskData(prompt="Write hello into the file greeting."), self.config.task)


@pytest.fixture
def base(monkeypatch):
    """A folder that is not in /tmp, as the current one."""
    with tempfile.TemporaryDirectory(dir=make_cache_dir("sandboxes")) as folder:
        (Path(folder) / "bin").mkdir()
        (Path(folder) / "bin" / "uv").write_text(UV)
        (Path(folder) / "bin" / "uv").chmod(0o755)
        monkeypatch.chdir(folder)
        yield Path(folder)


def test_a_whole_episode_of_an_environment(base, ws, monkeypatch):
    plugin = ModuleType("greet_v1")
    plugin.Greet, plugin.__all__ = Greet, ["Greet"]
    monkeypatch.setitem(sys.modules, "greet_v1", plugin)
    monkeypatch.setenv("SCRIPTED_KEY", "key")
    secret = ws / "secret"
    secret.write_text("of this machine")
    commands = ["echo hello > greeting; ls", f"cat {secret} || echo kept"]
    agent = vf.AgentConfig(runtime=SubprocessConfig(), harness={"id": "bash"})
    env = run_example("verifiers")["SandboxedEnv"](SingleAgentEnvConfig(taskset={"id": "greet_v1"}, agent=agent))

    async def run(client):
        async with env.serving():
            [task] = env.taskset
            return await env.run_episode(task, ModelContext(model="m", client=client, sampling=vf.SamplingConfig()))

    with serve_script([[("bash", {"command": one})] for one in commands], bare=True) as model:
        episode = asyncio.run(run(EvalClientConfig(base_url=f"{model.url}/v1", api_key_var="SCRIPTED_KEY")))
    [trace] = episode.traces
    assert (episode.ok, trace.errors, trace.reward) == (True, [], 1.0)
    listed, read = (one.text for one in model.last.results)
    assert listed.split() == ["bin", "greeting"]
    assert "kept" in read
    assert "of this machine" not in read
    assert os.listdir(base) == ["bin"]  # the episode had a fork of it
    assert not os.path.exists(trace.agent.runtime.id)


def test_a_machine_without_uv():
    async def use(box):
        with pytest.raises(RuntimeError, match=r"uv: (command )?not found(.|\n)*It needs uv on this machine"):
            await box.prepare_uv_script("print()", {"PATH": "/usr/bin:/bin"})

    with_runtime(use)


def test_more_servers_than_ports_take_the_oldest():
    async def use(box):
        urls = [f"http://127.0.0.1:{port}/v1" for port in range(9001, 9006)]
        ports = [box.host_url(one).split(":")[2] for one in (*urls[:4], urls[0], urls[4])]
        assert ports[0] == ports[4]
        assert ports[5] == ports[1]
        assert len(set(ports)) == 4
        return box.host_url("https://model.example/v1")

    assert with_runtime(use) == "https://model.example/v1"
    assert with_runtime(use_as_is, network=True) == "http://127.0.0.1:9/v1"


async def use_as_is(box):
    return box.host_url("http://127.0.0.1:9/v1")
