"""`toolroll fleet run tasks.jsonl`: run many tasks, each in an isolated lease of a frozen base."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from toolroll.cli.command import Command, Option, UsageError, one_of
from toolroll.cli.options import DIALECT, NETWORK, SANDBOX, WORKSPACE, read_settings
from toolroll.cli.screen import CLEAR, complain, show, write

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.fleet.engines.engine import FleetEngine
    from toolroll.fleet.lease import Lease
    from toolroll.fleet.scheduler import OnProblem
    from toolroll.fleet.tasks import FleetResult, FleetTask, RunAgent

_ACTIONS = ("run", "work", "node")
_Key = tuple[str, str | None, tuple[str, ...]]  # of a base: its folder, commit and recipe
_SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def run(args: Namespace) -> int:
    """Run the tasks of a file; 0 only if all passed."""
    action = one_of("action", args.action or "", _ACTIONS)
    return _run_file(args) if action == "run" else _work(is_node=action == "node")


def _run_file(args: Namespace) -> int:
    from toolroll.fleet.report import draw, summarize
    from toolroll.fleet.tasks import read_tasks

    if not args.file:
        raise UsageError("Which task file? Example: toolroll fleet run tasks.jsonl --width 100")
    engine = _open_engine(args.engine)
    bounds = _read_bounds(args)
    tasks, problems = read_tasks(_read_lines(args.file))
    for problem in problems:
        complain(f"{args.file}, {problem}. The other tasks run.", "task")
    out = args.results or f"{os.path.splitext(args.file)[0]}.results.jsonl"
    before = _read_done(out) if args.resume else {}
    todo = [task for task in tasks if task.id not in before]
    began = time.monotonic()
    results = list(before.values())

    def take(result: FleetResult) -> None:
        results.append(result)
        log.add(result)

    if not args.resume and (old := keep_earlier(out)):
        complain(f"The earlier results are now in {old!r}. To keep them and run the rest, use --resume.", "results")
    with ResultLog(out, total=len(tasks), done=len(before)) as log:
        _run_all(args, engine, todo, take, log.complain, bounds)
    how = time.monotonic() - began, len(before)
    show(summarize(results, *how))
    if args.picture:
        with open(args.picture, "w", encoding="utf-8") as file:
            file.write(draw(results, *how))
    return 0 if not problems and all(one.status == "passed" for one in results) else 1


def keep_earlier(path: str) -> str:
    """Move a file of results to NAME.old, in place of an earlier one; the new name, or empty if there is no file."""
    from toolroll.host.files.system import real

    place = real(path) or path  # of a link, the file is moved and the link stays
    if not os.path.isfile(place) or not os.path.getsize(place):
        return ""
    os.replace(place, f"{place}.old")
    return f"{place}.old"


class ResultLog:
    """Adds each result to a file as it comes, and shows the progress on a terminal, with problems above it."""

    def __init__(self, path: str, *, total: int, done: int) -> None:
        """A last line that a kill has cut off is removed."""
        self._path = path
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - closed with this
        _end_last_line(path)
        self._total, self._done, self._bad, self._before = total, done, 0, done
        self._began = time.monotonic()
        self._shown = 0.0

    def add(self, result: FleetResult) -> None:
        """OSError if it cannot be written; the results before it stay."""
        import msgspec

        rest = memoryview(msgspec.json.encode(result) + b"\n")
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            said = f"The results cannot be written: {error.strerror}. Those before are kept; --resume runs the rest"
            raise OSError(error.errno, said, self._path) from None
        self._done, self._bad = self._done + 1, self._bad + (result.status != "passed")
        now = time.monotonic()
        if sys.stderr.isatty() and (now - self._shown > 0.1 or self._done == self._total):
            self._shown = now
            rate = (self._done - self._before) / max(now - self._began, 0.001)
            said = f"{self._done}/{self._total} tasks, {self._bad} not passed, {rate:.1f}/s"
            write(CLEAR, said, end="", to=sys.stderr, flush=True)

    def complain(self, problem: str, label: str) -> None:
        """Write a problem to stderr, in place of the progress: the next result shows that again."""
        if self._shown:
            self._shown = 0.0
            write(CLEAR, to=sys.stderr, end="")
        complain(problem, label)

    def __enter__(self) -> ResultLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._shown:
            write(to=sys.stderr)


def _end_last_line(path: str) -> None:
    """Let a file of results end with a whole line: what a kill has cut off is removed, as no program can read it."""
    import msgspec

    if not os.path.isfile(path):
        return
    with open(path, "r+b") as file:
        data = file.read()
        if not (torn := data[data.rfind(b"\n") + 1 :]):
            return
        try:
            msgspec.json.decode(torn)
        except (msgspec.DecodeError, UnicodeError):
            file.truncate(len(data) - len(torn))
        else:
            file.write(b"\n")


class _Bounds(NamedTuple):
    width: int
    retries: int
    limits: dict[str, Any]


def _read_bounds(args: Namespace) -> _Bounds:
    width, retries = _read_count(args.width, "width"), _read_count(args.retries, "retries", least=0)
    return _Bounds(width, retries, _read_limits(args))


def _run_all(
    args: Namespace,
    engine: FleetEngine,
    tasks: list[FleetTask],
    on_result: Callable[[FleetResult], None],
    on_problem: OnProblem,
    bounds: _Bounds,
) -> None:
    from toolroll.fleet.pool import freeze
    from toolroll.fleet.scheduler import BaseTasks, TaskScheduler

    with closing(engine):
        groups = _group(args, _leave_out_agents(args, tasks, on_result, on_problem))
        groups = _leave_out_bases(groups, on_result, on_problem)
        bases = list[BaseTasks]()
        for (base, commit, recipe), own in groups.items():
            settings = read_settings(args, base).settings
            make = partial(freeze, base, commit, recipe, args.engine, settings=settings)
            bases.append(BaseTasks(own, settings, make))
        scheduler = TaskScheduler(
            engine,
            on_result,
            on_problem,
            width=bounds.width,
            retries=bounds.retries,
            limits=bounds.limits,
            model=args.model or "",
        )
        scheduler.run(bases)


def _leave_out_agents(
    args: Namespace, tasks: list[FleetTask], on_result: Callable[[FleetResult], None], on_problem: OnProblem
) -> list[FleetTask]:
    """The tasks that can run: without those of agents if this machine runs them and has no model, which is said."""
    from toolroll.cli.agents.agent import load_model
    from toolroll.fleet.tasks import FleetResult
    from toolroll.text.lines import counted

    of_agents = [task for task in tasks if task.agent]
    if not of_agents or args.engine != "local":  # a node has an environment of its own
        return tasks
    try:
        load_model(args.model)
    except UsageError as error:
        why = str(error)
    else:
        return tasks
    on_problem(f"{why} Without it, {counted(len(of_agents), 'task')} with an agent cannot run.", "model")
    for task in of_agents:
        on_result(FleetResult(task.id, "error", why))
    return [task for task in tasks if not task.agent]


def _group(args: Namespace, tasks: list[FleetTask]) -> dict[_Key, list[FleetTask]]:
    """The tasks of each base: folder, commit and recipe."""
    found: dict[_Key, list[FleetTask]] = {}
    for task in tasks:
        base, recipe = os.path.expanduser(task.base or args.workspace), tuple(task.recipe or args.recipe)
        found.setdefault((base, task.commit or args.commit or None, recipe), []).append(task)
    return found


def _leave_out_bases(
    groups: dict[_Key, list[FleetTask]], on_result: Callable[[FleetResult], None], on_problem: OnProblem
) -> dict[_Key, list[FleetTask]]:
    """The groups without those whose folder or commit does not exist, which is said."""
    from toolroll.fleet.tasks import FleetResult
    from toolroll.host.fleet.frozen import find_problems

    sources: dict[str, list[str | None]] = {}
    for base, commit, _ in groups:
        sources.setdefault(base, []).append(commit)
    problems = {base: find_problems(base, commits) for base, commits in sources.items()}
    for why in dict.fromkeys(why for found in problems.values() for why in found.values()):
        on_problem(why, "base")
    for (base, commit, _), tasks in groups.items():
        if why := problems[base].get(commit, ""):
            for task in tasks:
                on_result(FleetResult(task.id, "error", why))
    return {key: tasks for key, tasks in groups.items() if key[1] not in problems[key[0]]}


def _open_engine(spec: str) -> FleetEngine:
    from toolroll.fleet.engines import open_engine
    from toolroll.result import ToolError

    try:
        return open_engine(spec)
    except (ValueError, ImportError, ToolError) as error:
        raise UsageError(str(error)) from None


def _work(*, is_node: bool) -> int:
    """The worker's side of a channel over stdin and stdout. To a node its base is sent first."""
    import resource

    from toolroll import allow_overlays
    from toolroll.host.forks.overlay import separate_mounts

    separate_mounts()
    why = allow_overlays()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a lease has a dozen descriptors
    from toolroll.fleet.engines.arrivals import receive_base
    from toolroll.fleet.worker import Worker
    from toolroll.host.rpc.channel import FileStream

    out = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no result
    stream = FileStream(cast(io.BufferedReader, sys.stdin.buffer).read1, out)
    with ExitStack() as stack:
        if is_node:
            receive_base(sys.stdin.buffer, stream.write, stack)
        Worker(why, _make_agent).serve(stream)
    return 0


def _make_agent(model: str) -> RunAgent:
    def run_agent(kit: Lease, task: str) -> tuple[bool, str]:
        from toolroll.agent import PRESETS, Agent
        from toolroll.cli.agents.agent import load_model
        from toolroll.result import ErrorCode, ToolError

        try:
            client = load_model(model or None)
        except UsageError as error:
            raise ToolError(ErrorCode.UNSUPPORTED, str(error)) from None
        outcome = Agent(kit, client, PRESETS["native"]).run(task)
        return outcome.finished, outcome.text

    return run_agent


def _read_lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readlines()
    except OSError as error:
        raise UsageError(f"Cannot read {path!r}: {error.strerror}.") from None


def _read_done(path: str) -> dict[str, FleetResult]:
    """Results of an earlier run, without tasks that ended with an error."""
    from toolroll.fleet.tasks import read_results

    found = read_results(_read_lines(path)) if os.path.exists(path) else {}
    return {name: one for name, one in found.items() if one.status != "error"}


def _read_limits(args: Namespace) -> dict[str, Any]:
    given = {"cpu_seconds": args.cpu, "memory_bytes": args.memory, "disk_bytes": args.disk, "seconds": args.seconds}
    limits: dict[str, Any] = {name: _read_size(value, name) for name, value in given.items() if value}
    return limits | ({"cpus": _read_cpus(args.cpus)} if args.cpus else {})


def _read_cpus(text: str) -> float:
    with suppress(ValueError):
        if 0 < (found := float(text)) < 10**6:
            return found
    raise UsageError(f"--cpus is {text!r}. Give a number of processors, such as 0.5.")


def _read_size(text: str, name: str) -> int:
    digits, unit = (text[:-1], text[-1].upper()) if text[-1:].upper() in _SIZES else (text, "")
    if not digits.isdecimal() or not 0 < len(digits) < 15:
        raise UsageError(f"The limit {name} is {text!r}. Give a number, with K, M or G for bytes.")
    return int(digits) * _SIZES.get(unit, 1)


def _read_count(text: str, name: str, least: int = 1) -> int:
    if not text.isdecimal() or not least <= int(text[:9]) < 10**6:
        raise UsageError(f"--{name} is {text!r}. Give a number from {least}.")
    return int(text)


COMMAND = Command(
    "fleet",
    "Run many tasks, each in an isolated copy.",
    run,
    (
        Option(("action",), "run (work and node are for its own processes).", "ACTION"),
        Option(("file",), "Task file: one JSON object a line.", "FILE"),
        Option(("--width",), "Leases that are open at once (16).", "N", "16"),
        Option(("--results",), "File for the results (FILE.results.jsonl); an earlier one moves to NAME.old.", "FILE"),
        Option(("--resume",), "Keep the results that are there, and run the other tasks."),
        Option(("--retries",), "How often a task that ended with an error is tried again (1).", "N", "1"),
        Option(("--commit",), "Commit of the base (its folder as it is).", "COMMIT"),
        Option(("--recipe",), "Command that prepares the base; may be repeated.", "COMMAND", many=True),
        Option(("--cpu",), "CPU seconds of each process.", "S"),
        Option(("--cpus",), "Processors of one lease, such as 0.5 (needs a delegated control group).", "N"),
        Option(("--memory",), "Memory of each command, such as 512M.", "SIZE"),
        Option(("--disk",), "What one lease may write, such as 100M.", "SIZE"),
        Option(("--seconds",), "Time of one lease.", "S"),
        Option(("--picture",), "File for a picture of the results (SVG).", "FILE"),
        Option(
            ("--engine",),
            "Where tasks run: ssh:HOST,..., docker:NAME, kubectl:[NS/]POD, ray://HOST:PORT (local).",
            "ENGINE",
            "local",
        ),
        Option(("--model",), "Model for the tasks of agents.", "NAME"),
        DIALECT,
        SANDBOX,
        NETWORK,
        WORKSPACE,
    ),
    more="""\
A task: {"id": "1", "setup": ["command"], "calls": [["read", {"path": "a.py"}]], "check": "command"}, or with
"agent": "what to do" in place of calls. All parts are optional. The workspace (-C) is the base: it is copied once,
and each task gets a fork of the copy, which is removed at the end.""",
)
