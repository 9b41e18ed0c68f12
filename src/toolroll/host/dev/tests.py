"""Run the tests of a project: find the framework, choose the tests, read the report."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolroll.host.dev.projects import Projects, driver_source, read_report
from toolroll.host.files.tree import FileTree
from toolroll.host.search.query import Scope
from toolroll.host.shell.interpreter import walk_up
from toolroll.result import CouldNotLookError, ErrorCode, ToolError
from toolroll.text.dev.tests import frameworks, javascript
from toolroll.text.dev.tests.affected import Affected, affected, is_in_testpaths, read_testpaths
from toolroll.text.dev.tests.frameworks import FRAMEWORKS, MARKERS, Framework, RunRequest
from toolroll.text.dev.tests.model import Action, Raw, Run, plain
from toolroll.text.lines import counted, list_some

if TYPE_CHECKING:
    from toolroll.host.runtime.state import State
    from toolroll.host.shell.command_result import CommandRun
    from toolroll.text.git.requests import GitCommand, GitOutput

_MAX_OUTPUT_BYTES = 64 << 20
_GIT_SECONDS = 30
_NO_PYTEST = "No module named 'pytest'"
_REACHED_FILE = "reached.json"
_DRIVERS = {
    "python": ("run_pytest", "run_unittest", "measure_coverage"),
    "javascript": ("reporter",),
}


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with tests, and what runs them."""

    folder: str
    framework: Framework
    manifest: str = ""
    asked: str = "auto"
    note: str = ""
    """On another framework of the same folder."""


def find(projects: Projects, path: str, asked: str) -> Project:
    """The project that a path belongs to; raises ToolError when there is none with tests."""
    item = FileTree(projects.files).item(path)
    where = projects.locate(path)
    start = where if item.kind != "file" else where.rpartition("/")[0] or "."
    wanted = FRAMEWORKS[asked].language if asked != "auto" else None
    if item.kind == "file" and wanted is None:
        wanted = frameworks.SUFFIXES.get(where.rpartition(".")[2])
    for folder in walk_up(start):
        known = _known(projects, folder, wanted, asked)
        if len(known) > 1:
            also = known[1].framework.name
            return replace(known[0], note=f"There is also {also} here: set `framework` to {also!r} for its tests.")
        if known:
            return known[0]
    return _without_marker(projects, start, wanted, asked)


def _known(projects: Projects, folder: str, wanted: str | None, asked: str) -> list[Project]:
    """The projects that the manifest files of a folder declare, Python's first."""
    there = projects.file_names(folder)
    found = []
    for language, markers in MARKERS.items():
        marker = next((one for one in markers if one in there), None)
        if marker is None or wanted not in (None, language):
            continue
        manifest = projects.read_text(f"{projects.root}/{folder}/{marker}")
        name = asked if asked != "auto" else frameworks.named_by(language, manifest)
        if name is not None:
            found.append(Project(folder, FRAMEWORKS[name], manifest, asked))
    return found


def _without_marker(projects: Projects, start: str, wanted: str | None, asked: str) -> Project:
    """A project further down, or Python tests that belong to none."""

    def paths(patterns: Iterable[str]) -> list[str]:
        glob = f"{{{','.join(patterns)}}}"
        return [one.path for one in projects.find_files(glob, Scope(start)).entries]

    markers = [one for language, ones in MARKERS.items() if wanted in (None, language) for one in ones]
    folders: list[str] = []
    for folder in sorted({one.rpartition("/")[0] for one in paths(markers)}):
        if not any(f"{folder}/".startswith(f"{above}/") for above in folders):
            folders.append(folder)
    if wanted in (None, "python"):
        loose = [
            one for one in paths(frameworks.PYTHON_TESTS) if not one.startswith(tuple(f"{above}/" for above in folders))
        ]
        if loose or (wanted and not folders):
            return Project(".", FRAMEWORKS[asked if asked != "auto" else "pytest"], "", asked)
    known = [project for folder in folders for project in _known(projects, folder, wanted, asked)]
    if len({one.folder for one in known}) == 1:
        return known[0]
    hint = f" Give one of these as `path`: {', '.join(one.folder for one in known[:10])}." if known else ""
    looked = frameworks.describe_frameworks()
    raise ToolError(ErrorCode.NOT_FOUND, f"No tests found in {start!r}: looked for {looked}.{hint}")


@dataclass(frozen=True, slots=True)
class ChosenTests:
    """Which tests to run."""

    targets: tuple[tuple[str, str], ...]
    """Paths from the project's folder, each with a test's name or none; all tests when there are none."""
    changed: tuple[str, ...] = ()
    """Files whose tests the framework finds by itself."""
    note: str = ""
    nothing: bool = False


@dataclass(frozen=True, slots=True)
class TestRun:
    """What is known of a run, and the command itself."""

    run: Run
    ran: CommandRun
    output: str
    program: str


def run(
    projects: Projects,
    project: Project,
    action: Action,
    chosen: ChosenTests,
    keyword: str,
    seconds: float,
) -> TestRun:
    """Run the tests, or list them, and read the report."""
    how = action, chosen, keyword, seconds
    done = _run(projects, project, _program(projects, project), *how)
    wants_pytest = any(_NO_PYTEST in one.message for one in done.run.failures) or not done.run.tests
    if project.asked == "auto" and done.run.framework.startswith("unittest") and wants_pytest:
        done.run.missing = done.run.missing or "pytest"
    other = projects.shell.python_with(done.run.missing, project.folder) if done.run.missing else None
    return done if other in (None, done.program) else _run(projects, project, other, *how)


def _run(
    projects: Projects,
    project: Project,
    program: str,
    action: Action,
    chosen: ChosenTests,
    keyword: str,
    seconds: float,
) -> TestRun:
    framework = project.framework
    name = project.asked if framework.language == "python" else framework.name
    with projects.scripts(_files(framework)) as made:
        report = made.pop("report")
        temp = os.path.dirname(report)
        ask = RunRequest(action, chosen.targets, keyword, report, made, chosen.changed, name)
        ran = projects.shell.words(
            [program, *framework.words(ask)],
            cwd=project.folder,
            seconds=seconds,
            extra={name: value.format(temp=temp) for name, value in framework.environment.items()},
        )
        output = plain(ran.launched.running.output.read(0, _MAX_OUTPUT_BYTES).decode("utf-8", "replace"))
        reported = read_report(report).decode("utf-8", "replace")
        extra = read_report(report, framework.extra).decode("utf-8", "replace") if framework.extra else ""
        named = bool(keyword or any(one for _, one in chosen.targets))
        raw = Raw(action, projects.root, project.folder, reported, output, extra, project.manifest, named)
    found = framework.read(raw)
    found.framework = found.framework or framework.name
    found.engine = found.engine or framework.name
    return TestRun(found, ran, output, program)


def list_titles(projects: Projects, project: Project, chosen: ChosenTests, keyword: str) -> Run:
    """List the tests of a framework that cannot list them itself, from the text of its files."""
    raw = Raw("discover", projects.root, ".", "", "")
    inner = chosen.targets[0][0] if chosen.targets else ""
    where = f"{project.folder}/{inner}".removeprefix("./").rstrip("/") or "."
    texts = {}
    if FileTree(projects.files).is_file(f"{raw.root}/{where}"):
        texts[where] = projects.read_text(f"{raw.root}/{where}")
    else:
        for glob in project.framework.files:
            for entry in projects.find_files(glob, Scope(where)).entries:
                texts[entry.path] = projects.read_text(f"{raw.root}/{entry.path}")
    run = javascript.titles(raw, dict(sorted(texts.items())))
    if not run.tests:
        raise ToolError(ErrorCode.NOT_FOUND, f"No tests found in {where!r} by {project.framework.name}.")
    run.framework = project.framework.name
    run.tests = [one for one in run.tests if keyword in one.id]
    return run


def _program(projects: Projects, project: Project) -> str:
    framework = project.framework
    if framework.language == "python":
        return projects.python(project.folder)
    found = projects.program(framework.program, project.folder)
    if found is None:
        message = f"{framework.name} is not installed here. Ask the user to add it: {framework.add}"
        raise CouldNotLookError(framework.name, "it is not installed.", message=message, code=ErrorCode.UNSUPPORTED)
    return found


def _files(framework: Framework) -> dict[str, tuple[str, str]]:
    """The report's file, empty, and the parts of our driver."""
    texts = {"report": ("", ".report")}
    for name in _DRIVERS.get(framework.language, ()):
        texts[name] = (javascript.REPORTER, ".mjs") if name == "reporter" else (driver_source(name), ".py")
    return texts


def changed_files(projects: Projects) -> list[str] | None:
    """The files of the workspace that differ from the last commit, new ones included; None without git."""
    from toolroll.host.git.repository import Repository

    try:
        repository = Repository.containing(".", projects.files, projects.shell, projects.call, _GIT_SECONDS)
        records = repository.run_plan(_status())
    except ToolError as error:
        if error.code in (ErrorCode.CANCELLED, ErrorCode.TIMEOUT):
            raise
        return None
    prefix = repository.prefix
    return sorted(path.removeprefix(prefix) for path in records if path.startswith(prefix))


def _status() -> Generator[GitCommand, GitOutput, list[str]]:
    from toolroll.text.git.requests import GitCommand

    words = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
    printed = yield GitCommand(words)
    return [record[3:] for record in printed.out.split("\0") if record]


def choose(projects: Projects, project: Project, targets: tuple[tuple[str, str], ...]) -> ChosenTests:
    """The tests that uncommitted changes affect, or all when that is unknown."""
    files = changed_files(projects)
    kind = project.framework
    if files is None:
        return ChosenTests(targets, note="All tests: what has changed is not known without a git repository.")
    if not files:
        return ChosenTests((), note="No test is affected: nothing has changed since the last commit.", nothing=True)
    named = list_some(files, 5)
    if kind.related:
        return ChosenTests(targets, tuple(f"{projects.root}/{one}" for one in files), f"Affected by {named}.")
    if kind.language != "python":
        return ChosenTests(targets, note=f"All tests: which ones a change affects is not known of {kind.name}.")
    found = _reached(projects, project, files)
    if found.everything:
        return ChosenTests(targets, note=f"All tests, for {found.everything}.")
    prefix = "" if project.folder == "." else f"{project.folder}/"
    inner = [one.removeprefix(prefix) for one in found.tests]
    if targets:
        inner = [one for one in inner if f"{one}/".startswith(f"{targets[0][0]}/")]
    elif project.asked != "unittest" and (testpaths := _find_testpaths(projects, project)):
        inner = [one for one in inner if is_in_testpaths(one, testpaths)]
    if not inner:
        return ChosenTests((), note=f"No test is affected: {named} changed since the last commit.", nothing=True)
    note = f"{counted(len(inner), 'test file')} affected by {named}."
    return ChosenTests(tuple((one, targets[0][1] if targets else "") for one in inner), note=note)


def _find_testpaths(projects: Projects, project: Project) -> list[str]:
    """Where pytest looks for the tests of a project."""
    paths = {name: f"{projects.root}/{project.folder}/{name}" for name in MARKERS["python"]}
    return read_testpaths({name: projects.read_text(path) for name, path in paths.items()})


def empty_run(project: Project) -> Run:
    """A run without tests."""
    return Run(project.framework.name, ended=True)


def _reached(projects: Projects, project: Project, files: list[str]) -> Affected:
    """The Python test files that changes of these files affect."""
    found = projects.find_files("*.py", Scope(project.folder))
    sources: dict[str, str] = {}
    for entry in found.entries:
        projects.call.token.check()
        sources[entry.path] = projects.read_text(f"{projects.root}/{entry.path}")
    result = affected(sources, files, _load_reached(projects.files.state))
    return result if found.complete else replace(result, everything="there are too many files to look through")


def explain_failures(done: TestRun) -> str:
    """One line on what the sandbox denied to tests that failed; empty if it denied nothing."""
    if not done.run.failures:
        return ""
    from toolroll.host.shell.explain import explain

    frames = [(one, [f"{frame.path}: {frame.code}" for frame in one.trace]) for one in done.run.failures]
    return explain("\n".join(line for one, code in frames for line in (*code, one.message)), done.ran.launched)


def store_reached(projects: Projects, touched: Mapping[str, list[str]]) -> None:
    """Store which files each test file has reached, for the next choice of affected tests."""
    projects.files.state.put(
        "tests", _REACHED_FILE, json.dumps({**_load_reached(projects.files.state), **touched}).encode()
    )


def find_covering(state: State, path: str) -> list[str]:
    """The test files that reached a file when they were last run with coverage."""
    return sorted(test for test, files in _load_reached(state).items() if path in files)


def _load_reached(state: State) -> dict[str, list[str]]:
    with suppress(OSError, ValueError):
        fd = os.open(_REACHED_FILE, os.O_RDONLY | os.O_CLOEXEC, dir_fd=state.folder("tests"))
        with os.fdopen(fd, "rb") as file:
            known = json.load(file)
        return {str(test): list(map(str, files)) for test, files in known.items()}
    return {}
