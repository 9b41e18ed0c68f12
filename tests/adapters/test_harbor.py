"""The environment for harbor, by what harbor's own code does with one: `make adapters`."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("harbor", reason="harbor is missing: run `make adapters`")

from harbor.models.task.config import EnvironmentConfig, NetworkPolicy
from harbor.models.trial.paths import TrialPaths

from tests.adapters.escapes import find_escapes
from tests.adapters.task import FAIL, MANUAL, unknown_statuses
from tests.host.sandbox.test_probes import ground
from toolroll.adapters.harbor import HarborEnvironment
from toolroll.host.runtime.user_folders import make_cache_dir
from toolroll.result import ToolError

pytestmark = pytest.mark.slow

SOLVE = "#!/bin/bash\npwd; printf hello > greeting\n"
TEST = "#!/bin/bash\n[ $(cat /app/greeting) = hello ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n"


def make(folder, *, dockerfile="FROM ubuntu\nWORKDIR /app\n", network="no-network", task=None, **options):
    """An environment as a trial makes one."""
    definition = folder / "environment"
    definition.mkdir(exist_ok=True)
    if dockerfile:
        (definition / "Dockerfile").write_text(dockerfile)
    logs = [{"type": "bind", "source": "x", "target": f"/logs/{name}"} for name in ("agent", "verifier")]
    policy = NetworkPolicy(**network if isinstance(network, dict) else {"network_mode": network})
    given = {"mounts": logs, "network_policy": policy, **options}
    config = EnvironmentConfig(**task or {})
    return HarborEnvironment(definition, "hello", "hello__1__env", TrialPaths(folder), config, **given)


def use(environment, operate):
    """What `operate` returns of the started environment."""

    async def run():
        await environment.start(force_build=False)
        try:
            return await operate(environment)
        finally:
            await environment.stop(delete=True)

    return asyncio.run(run())


def put_task(folder, solve):
    files = {
        "task.toml": '[environment]\nnetwork_mode = "no-network"\n',
        "instruction.md": "Greet.\n",
        "environment/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /app\n",
        "solution/solve.sh": solve,
        "tests/test.sh": TEST,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_job_of_the_command_line_has_the_rewards_that_its_tasks_earn(tmp_path):
    for name, solve in (("good", SOLVE), ("bad", SOLVE.replace("hello", "goodbye"))):
        put_task(tmp_path / "tasks" / name, solve)
    part = MANUAL.read_text().split("\n### harbor\n")[1]
    line = re.search(r"```sh\n(harbor run .*?)```", part, re.DOTALL)[1].replace("\\\n", " ")
    words = [sys.executable, "-m", "harbor.cli.main", *shlex.split(line)[1:], "--jobs-dir", "jobs"]
    quiet = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(words, cwd=tmp_path, env={**os.environ, **quiet}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = [json.loads(path.read_text()) for path in tmp_path.glob("jobs/*/*__*/result.json")]
    earned = {one["task_name"]: one["verifier_result"]["rewards"]["reward"] for one in results}
    assert earned == {"good": 1.0, "bad": 0.0}
    assert {one.read_text() for one in tmp_path.glob("jobs/*/*/agent/oracle.txt")} == {"/app\n"}
    assert not Path("/app/greeting").exists()


def test_commands_have_the_paths_variables_and_limits_of_harbor(tmp_path):
    async def operate(box):
        ran = await box.exec("pwd; echo $TASK$CALL; echo e >&2; exit 3", env={"CALL": "c"}, user="root")
        assert (ran.stdout, ran.stderr, ran.return_code) == ("/app\ntaskc\n", "e\n", 3)
        await box.exec("echo 1 > /data/kept; echo 2 > /tmp/kept; touch made; rm -rf /logs/agent")
        assert (await box.exec("cat kept /app/../tmp/kept; ls /app", cwd="/data")).stdout == "1\n2\nmade\n"
        assert await box.is_dir("/logs/verifier")
        assert not await box.is_dir("/logs/agent")
        with pytest.raises(RuntimeError, match="timed out after 1 seconds"):
            await box.exec("sleep 60", timeout_sec=1)
        with pytest.raises(ValueError, match="not as 'agent'"):
            await box.exec("true", user="agent")
        assert (await box.exec("touch /new /usr/new")).return_code == 1
        return box.box.workspace

    workspace = use(make(tmp_path, folders="/data", persistent_env={"TASK": "task"}), operate)
    assert not os.path.exists(workspace)
    assert os.listdir(make_cache_dir("tmp")) == []


def test_an_unknown_exit_status_is_no_success(tmp_path):
    async def operate(box):
        with unknown_statuses(box.box.workspace):
            return await box.exec(FAIL)

    done = use(make(tmp_path), operate)
    assert done.return_code == 125
    assert "The exit status of the command is unknown" in done.stderr


def test_files_go_in_and_come_out_as_they_are(tmp_path):
    source = tmp_path / "source"
    (source / "empty").mkdir(parents=True)
    (source / "run.sh").write_text("echo ran")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("run.sh")
    (source / "bytes").write_bytes(bytes(range(256)))

    async def operate(box):
        await box.upload_dir(source, "/tests")
        await box.upload_file(source / "run.sh", "/installed-agent/deep/run.sh")
        assert (await box.exec("/installed-agent/deep/run.sh; /tests/link; ls /tests")).stdout.split() == [
            *("ran", "ran", "bytes", "empty", "link", "run.sh")
        ]
        await box.download_dir("/tests", tmp_path / "all")
        await box.download_dir_with_exclusions(source_dir="/tests", target_dir=tmp_path / "some", exclude=["run.sh"])
        await box.download_dir_filtered(source_dir="/tests", target_dir=tmp_path / "few", include=["by*"])
        await box.download_file("/tests/bytes", tmp_path / "one" / "bytes")
        await box.empty_dirs(["/tests"])
        assert (await box.exec("ls -A /tests")).stdout == ""
        with pytest.raises(RuntimeError, match="'/nowhere' was not transferred: tar: /nowhere"):
            await box.download_dir("/nowhere", tmp_path / "none")
        with pytest.raises(FileNotFoundError):
            await box.download_file("/tests/bytes", tmp_path / "none")

    use(make(tmp_path), operate)
    found = {name: sorted(os.listdir(tmp_path / name)) for name in ("all", "some", "few", "one")}
    whole = ["bytes", "empty", "link", "run.sh"]
    assert found == {"all": whole, "some": whole[:3], "few": ["bytes"], "one": ["bytes"]}
    assert os.access(tmp_path / "all" / "run.sh", os.X_OK)
    assert (tmp_path / "one" / "bytes").read_bytes() == bytes(range(256))


def test_a_base_stands_for_what_an_image_has(tmp_path):
    dockerfile = "FROM python:3.12\nWORKDIR /srv/work\n# RUN is said here\nCOPY . .\nRUN pip install \\\n  x\n"
    with pytest.raises(ValueError, match=r"has COPY, RUN. Name a folder .* at /srv/work: --ek base=FOLDER"):
        make(tmp_path, dockerfile=dockerfile)

    async def operate(box):
        return (await box.exec("pwd; ls; echo > Dockerfile; touch new")).stdout

    assert use(make(tmp_path, dockerfile=dockerfile, base="."), operate) == "/srv/work\nDockerfile\n"
    assert (tmp_path / "environment" / "Dockerfile").read_text() == dockerfile
    assert os.listdir(tmp_path / "environment") == ["Dockerfile"]


def test_a_task_without_a_dockerfile_gets_its_files(tmp_path):
    async def operate(box):
        return (await box.exec("pwd; ls")).stdout

    task = {"docker_image": "ubuntu", "workdir": "/workspace"}
    environment = make(tmp_path, dockerfile="", task=task)
    (tmp_path / "environment" / "data.csv").write_text("1,2\n")
    assert use(environment, operate) == "/workspace\ndata.csv\n"


def test_what_it_cannot_do_is_refused_before_the_start(tmp_path):
    with pytest.raises(ValueError, match="IPv4 CIDR ranges is not supported by toolroll"):
        make(tmp_path, network={"network_mode": "allowlist", "allowed_hosts": ["10.0.0.0/8"]})
    with pytest.raises(RuntimeError, match="GPU"):
        make(tmp_path, task={"gpus": 1})
    with pytest.raises(ValueError, match="memory"):
        make(tmp_path, task={"memory_mb": 100}, memory_enforcement_policy="limit")
    with pytest.raises(ValueError, match="nothing at /data"):
        make(tmp_path, mounts=[{"type": "bind", "source": "x", "target": "/data"}])
    for workdir, error in (("/tests/x", ToolError), ("app", ToolError), ("/tmp/x", OSError)):
        with pytest.raises(error, match=workdir):
            use(make(tmp_path, task={"workdir": workdir}), None)
    (tmp_path / "environment" / "docker-compose.yaml").write_text("services: {}\n")
    with pytest.raises(ValueError, match="no docker-compose"):
        make(tmp_path)


def test_the_network_is_that_of_the_task(tmp_path):
    async def operate(box):
        ran = await box.exec("curl -sSf http://other.example") if box.network_policy.network_mode != "public" else None
        return box.box.kit.policy.network, ran and ran.return_code

    hosts = ["named.example", "*.named.example"]
    assert use(make(tmp_path), operate) == (False, 126)
    assert use(make(tmp_path, network="public"), operate) == (True, None)
    allowed, code = use(make(tmp_path, network={"network_mode": "allowlist", "allowed_hosts": hosts}), operate)
    assert list(allowed) == hosts
    assert code not in (0, 126)


def test_no_trial_gets_out(tmp_path):
    with ground(tmp_path / "ground") as here:

        async def operate(box):
            loop = asyncio.get_running_loop()
            wait = lambda one: asyncio.run_coroutine_threadsafe(one, loop).result()  # noqa: E731

            def read(path):
                wait(box.download_file(path, tmp_path / "read"))
                return (tmp_path / "read").read_bytes()

            def write(path, data):
                (tmp_path / "written").write_bytes(data)
                wait(box.upload_file(tmp_path / "written", path))

            run = lambda script: wait(box.exec(script)).stdout  # noqa: E731
            return await asyncio.to_thread(find_escapes, here, run, read, write)

        assert use(make(tmp_path, base=str(here.ws)), operate) == set()
        assert sorted(os.listdir(here.ws)) == ["key", "out"]  # the trial had a fork of it
