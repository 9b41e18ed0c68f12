"""The sandbox for inspect_ai, held to its own self check: `make adapters`."""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("inspect_ai", reason="inspect-ai is missing: run `make adapters`")

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash
from inspect_ai.util import OutputLimitExceededError, SandboxUserUnsupportedError, sandbox
from inspect_ai.util._sandbox import self_check

from tests.adapters.escapes import find_escapes
from tests.adapters.task import FAIL, unknown_statuses
from tests.host.sandbox.test_probes import ground
from toolroll.adapters.inspect_ai import InspectSandbox
from toolroll.adapters.kit_sandbox import KitSandbox
from toolroll.host.runtime.user_folders import cache_dir
from toolroll.policy.rules import Policy

pytestmark = pytest.mark.slow
CHECKS = {name: one for name, one in vars(self_check).items() if name.startswith("test_")}
ANOTHER_USER = "test_exec_as_user"  # commands run as the user of this process, as those of inspect's local sandbox do


@pytest.fixture(scope="module")
def env():
    with KitSandbox() as box:
        yield InspectSandbox(box)


@pytest.mark.parametrize("name", CHECKS.keys() - {ANOTHER_USER})
def test_self_check(env, name):
    asyncio.run(CHECKS[name](env))


def test_another_user_is_refused(env):
    with pytest.raises(SandboxUserUnsupportedError):
        asyncio.run(env.exec(["true"], user="no-such-user"))
    with pytest.raises(PermissionError, match="change the system"):
        asyncio.run(CHECKS[ANOTHER_USER](env))
    assert asyncio.run(env.exec(["true"], user=str(os.geteuid()))).success


@pytest.mark.parametrize("fork", [True, False], ids=["fork", "its own folder"])
def test_no_trial_gets_out(tmp_path, fork):
    with ground(tmp_path / "ground") as here, KitSandbox(here.ws if fork else None, fork=fork, policy=Policy()) as box:
        env = InspectSandbox(box)
        run = lambda script: asyncio.run(env.exec(["bash", "-c", script])).stdout  # noqa: E731
        read = lambda path: asyncio.run(env.read_file(path, text=False))  # noqa: E731
        write = lambda path, data: asyncio.run(env.write_file(path, data))  # noqa: E731
        assert find_escapes(here, run, read, write) == set()


def test_output_over_the_limit_is_said(env):
    with pytest.raises(OutputLimitExceededError) as error:
        asyncio.run(env.exec(["head", "-c", "11000000", "/dev/zero"]))
    assert len(error.value.truncated_output) == 10 << 20


def test_a_missing_program_is_a_failed_result(env):
    done = asyncio.run(env.exec(["no-such-program"]))
    assert (done.success, done.returncode) == (False, 127)
    assert "no-such-program" in done.stderr


def test_an_unknown_exit_status_is_no_success():
    with KitSandbox() as box, unknown_statuses(box.workspace):
        done = asyncio.run(InspectSandbox(box).exec(["sh", "-c", FAIL]))
    assert (done.success, done.returncode) == (False, 125)
    assert "The exit status of the command is unknown" in done.stderr


def test_many_at_once(env):
    async def run():
        return await asyncio.gather(*(env.exec(["sh", "-c", f"echo {n}"]) for n in range(12)))

    assert [one.stdout for one in asyncio.run(run())] == [f"{n}\n" for n in range(12)]


@scorer(metrics=[accuracy()])
def kept_file():
    async def score(state, target):
        return Score(value="C" if await sandbox().read_file("out.txt") == target.text else "I")

    return score


@pytest.fixture
def base():
    """A folder outside /tmp, so that commands can share that."""
    os.makedirs(cache_dir(), exist_ok=True)
    with TemporaryDirectory(dir=cache_dir()) as made:
        yield Path(made)


def test_an_evaluation_with_files_a_setup_and_forks_of_a_folder(base, tmp_path):
    (base / "kept.txt").write_text("base ")
    call = ModelOutput.for_tool_call("mockllm", "bash", {"command": "cat kept.txt given.txt made.txt > out.txt"})
    outputs = [call, ModelOutput.from_content("mockllm", "done")]
    for one in outputs:
        one.usage = ModelUsage(input_tokens=1, output_tokens=1)  # else the tokens are counted, with a download
    model = get_model("mockllm/model", custom_outputs=outputs * 2)
    samples = [
        Sample(
            input="go", target="base given made", files={"given.txt": "given "}, setup=f"printf made > made.txt; #{n}"
        )
        for n in range(2)
    ]
    task = Task(samples, solver=[use_tools(bash()), generate()], scorer=kept_file(), sandbox=("toolroll", str(base)))
    (log,) = eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", max_samples=1)
    assert log.status == "success", log.error.traceback
    assert log.results.scores[0].metrics["accuracy"].value == 1
    assert os.listdir(base) == ["kept.txt"]
