"""Tasks and workers: every task has one result, whatever becomes of the workers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from toolroll.fleet.engines.engine import PipeStream
from toolroll.fleet.engines.local import ProcessPipe
from toolroll.fleet.runner import ResultSink, StartWorker, TaskQueue, run_tasks
from toolroll.fleet.tasks import FleetResult, FleetTask
from toolroll.fleet.worker import FrozenPlace, WorkerOrder, make_codec
from toolroll.host.rpc.channel import Channel
from toolroll.host.rpc.codecs import PeerGoneError
from toolroll.host.runtime.launcher import PIPE, start_process

TASKS = [FleetTask(str(number), check="true") for number in range(6)]

# A worker that ends in the middle of a task when it is told to, once; the file says whether it has done that.
WORKER = """
import json, os, sys
how, mark = sys.argv[1:]

def answer(to, result):
    print(json.dumps({"jsonrpc": "2.0", "id": to["id"], "result": result}), flush=True)

begin = json.loads(sys.stdin.readline())
if how == "never":
    sys.exit(7)
print("a greeting", flush=True)
answer(begin, {"ready": "overlay", **({"problem": "no sandbox", "runs_commands": False} if how == "cannot" else {})})
for line in sys.stdin:
    order = json.loads(line)
    if how == "dies" and not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), 9)
    if how == "nests" and not os.path.exists(mark):
        open(mark, "w").close()
        print('{"a":' * 100_000, flush=True)
        continue
    status = "error" if how in ("errs", "cannot") else "passed"
    task = order["params"]
    if how == "waits" and task["task"]["id"] != "0":
        continue
    answer(order, {"id": task["task"]["id"], "status": status, "attempt": task.get("attempt", 1)})
    if how == "repeats":
        answer(order, {"id": task["task"]["id"], "status": "failed", "attempt": 1})
"""


def make_worker(how: str, mark: Path) -> tuple[WorkerOrder, StartWorker]:
    words = [sys.executable, "-S", "-E", "-c", WORKER, how, str(mark)]

    def start() -> ProcessPipe:
        return ProcessPipe(start_process(words, "/", os.environ, (PIPE, PIPE, 2)))

    return WorkerOrder(f"worker that {how}", 2, FrozenPlace("", "")), start


@pytest.mark.parametrize(
    ("workers", "statuses", "problems"),
    [
        (["works", "works"], {"passed"}, []),
        (["repeats"], {"passed"}, []),
        (["dies"], {"passed"}, ["worker that dies ended with status -9."]),
        (["dies", "works"], {"passed"}, None),
        (
            ["nests"],
            {"passed"},
            ["worker that nests ended with sent a message that is nested too deeply, and was ended."],
        ),
        (
            ["never", "works"],
            {"passed"},
            ["worker that never ended with status 7 before it was ready, and is left out."],
        ),
        (
            ["never"],
            {"error"},
            [
                "worker that never ended with status 7 before it was ready, and is left out.",
            ],
        ),
        (["cannot", "works"], {"passed"}, ["worker that cannot is left out: no sandbox"]),
        (
            ["cannot"],
            {"error"},
            ["worker that cannot is left out: no sandbox"],
        ),
        (["errs"], {"error"}, []),
    ],
)
def test_every_task_has_one_result(
    tmp_path: Path, workers: list[str], statuses: set[str], problems: list[str] | None
) -> None:
    results: list[FleetResult] = []
    said: list[str] = []
    links = [make_worker(how, tmp_path / "mark") for how in workers]
    queue = TaskQueue(TASKS, 1, ResultSink(results.append, 4))
    left = run_tasks(queue, links, said.append, said.append)
    assert (queue.left, queue.sink.free) == (0, 4)
    assert left == (6 if workers in (["never"], ["cannot"]) else 0)
    assert sorted(one.id for one in results) == [str(number) for number in range(6)]
    assert {one.status for one in results} == statuses
    assert problems is None or said == problems
    if workers == ["errs"]:
        assert {one.attempt for one in results} == {2}


@pytest.mark.parametrize("workers", [["works"], ["works", "waits"], ["waits"], ["cannot"]])
def test_a_result_that_cannot_be_written_ends_the_run(tmp_path: Path, workers: list[str]) -> None:
    written: list[str] = []

    def write(result: FleetResult) -> None:
        with open("/dev/full", "wb", buffering=0) as file:
            written.append(result.id)
            file.write(b"x")

    links = [make_worker(how, tmp_path / "mark") for how in workers]
    with pytest.raises(OSError, match="No space left on device"):
        run_tasks(TaskQueue(TASKS, 0, ResultSink(write, 9)), links, [].append, [].append)
    assert len(written) == 1


def test_a_problem_that_cannot_be_shown_ends_the_run(tmp_path: Path) -> None:
    def tell(said: str) -> None:
        raise BrokenPipeError(said)

    with pytest.raises(BrokenPipeError, match="no sandbox"):
        run_tasks(TaskQueue(TASKS, 0, ResultSink([].append, 9)), [make_worker("cannot", tmp_path)], [].append, tell)


def test_a_task_for_a_worker_that_has_just_ended_is_not_sent() -> None:
    """Its reader closes the pipe while another thread is about to write to it."""
    pipe = ProcessPipe(start_process(["true"], "/", os.environ, (PIPE, PIPE, 2)))
    channel = Channel(PipeStream(pipe), make_codec())
    pipe.finish()
    with pytest.raises(PeerGoneError):
        channel.call("task", {})
    with pytest.raises(BrokenPipeError, match="The worker has ended"):
        pipe.send(b"more")
    channel.close()
