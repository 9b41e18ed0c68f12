"""Parse `go test -json` and Go's coverage profiles."""

from __future__ import annotations

import re

import msgspec

from toolroll.text.dev.tests.model import Case, Covered, Failure, Frame, Outcome, Raw, Run, identity

_AT = re.compile(r"^\s*(?P<file>[\w./-]+\.go):(?P<line>\d+)(?::\d+)?: (?P<said>.*)$", re.M)
_NOISE = re.compile(r"^\s*(=== |--- |PASS\b|FAIL\b|ok\s|exit status|coverage:|\?\s)")
_STACK = re.compile(r"^\t(?P<file>/\S+\.go):(?P<line>\d+)", re.M)
_UNBUILT = re.compile(r"^FAIL\s+(?P<package>\S+) \[(?:build|setup) failed\]$", re.M)
_BLOCK = re.compile(r"^(?P<file>.+):(?P<first>\d+)\.\d+,(?P<last>\d+)\.\d+ \d+ (?P<count>\d+)$", re.M)
_ENDS: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


class _Event(msgspec.Struct, rename="pascal"):
    action: str
    package: str = ""
    test: str = ""
    elapsed: float = 0.0
    output: str = ""


def read(raw: Raw) -> Run:
    """Parse the events; other lines are compiler output."""
    if raw.action == "discover":
        return _listed(raw)
    run = Run()
    over = False
    printed: dict[tuple[str, str], list[str]] = {}
    decoder = msgspec.json.Decoder(_Event)
    for line in filter(None, raw.output.split("\n")):
        try:
            event = decoder.decode(line)
        except msgspec.MsgspecError:
            printed.setdefault(("", ""), []).append(line)
            continue
        if event.output:
            printed.setdefault((event.package, event.test), []).append(event.output.rstrip("\n"))
        elif event.action == "run":
            run.running = identity(_folder(event.package, raw), event.test)
        elif event.action in _ENDS:
            _end(run, event, printed, raw)
            over = over or not event.test
    _unbuilt(run, printed.get(("", ""), []), raw)
    run.ended = run.running is None and bool(over or run.tests or run.failures)
    run.coverage = _profile(raw) if raw.extra else None
    run.engine = "go test -cover"
    return run


def _end(run: Run, event: _Event, printed: dict[tuple[str, str], list[str]], raw: Raw) -> None:
    folder = _folder(event.package, raw)
    said = [line for line in printed.get((event.package, event.test), []) if not _NOISE.match(line)]
    if event.test:
        run.running = None
        known = identity(folder, event.test)
        path = next((f"{folder}/{at['file']}" for at in _AT.finditer("\n".join(said))), folder)
        run.tests.append(Case(known, path, None, _ENDS[event.action], event.elapsed))
        has_parts = any(one.id.startswith(f"{known}/") for one in run.failures)
        if event.action == "fail" and (said or not has_parts):
            run.failures.append(_failure(known, folder, said, raw))
    elif event.action == "fail" and not any(one.id.startswith(f"{folder}::") for one in run.failures):
        built = printed.get(("", ""), []) + printed.get((f"{event.package}.test", ""), [])
        run.failures.append(_error(event.package, said, built, raw))


def _unbuilt(run: Run, lines: list[str], raw: Raw) -> None:
    """Add packages that failed to build, if no event reports them."""
    for match in _UNBUILT.finditer("\n".join(lines)):
        if not any(one.id == _folder(match["package"], raw) for one in run.failures):
            run.failures.append(_error(match["package"], [], lines, raw))


def _error(package: str, said: list[str], built: list[str], raw: Raw) -> Failure:
    """Why a package has no tests to tell of; of what the compiler said that which is about it, if anything is."""
    parts = re.split(r"^# ", "\n".join(built), flags=re.M)
    own = [part.partition("\n")[2] for part in parts if re.match(re.escape(package) + r"(\s|$)", part)]
    text = "\n".join([*said, *(own or built)])
    message = "\n".join(line for line in text.split("\n") if not _NOISE.match(line)).strip()
    at = _AT.search(message)  # from where it ran, other than what a test says
    folder = _folder(package, raw)
    if at is None:
        return Failure(folder, folder, None, "error", message)
    frame = Frame(raw.relative(at["file"]), int(at["line"]))
    return Failure(folder, frame.path, frame.line, "error", message, [frame])


def _failure(known: str, folder: str, said: list[str], raw: Raw) -> Failure:
    text, _, stack = "\n".join(said).partition("\ngoroutine ")
    frames = [Frame(_beneath(folder, at["file"]), int(at["line"])) for at in _AT.finditer(text)][:1]
    inner = (at for at in _STACK.finditer(stack) if raw.inside(at["file"]))
    called = [Frame(raw.relative(at["file"]), int(at["line"])) for at in inner]
    frames = called[::-1] or frames
    message = "\n".join(line.strip() if _AT.match(line) else line for line in text.split("\n")).strip()
    path, line = (frames[-1].path, frames[-1].line) if frames else (folder, None)
    return Failure(known, path, line, "failed", message or "It failed without a message.", frames)


def _beneath(folder: str, file: str) -> str:
    return "/".join(part for part in (*folder.split("/"), *file.split("/")) if part != ".")


def _folder(package: str, raw: Raw) -> str:
    """Where a package lies, by the module's name in go.mod."""
    module = re.search(r"^module\s+(\S+)", raw.manifest, re.M)
    inner = package.removeprefix(module[1]).strip("/") if module else package
    return raw.relative(inner) or "."


def _listed(raw: Raw) -> Run:
    """`go test -list` prints the names of each package, then its line."""
    run = Run(ended=True)
    names: list[str] = []
    other: list[str] = []
    for line in raw.output.splitlines():
        if match := re.match(r"(?:ok|\?)\s+(\S+)", line):
            folder = _folder(match[1], raw)
            run.tests += [Case(identity(folder, name), folder) for name in names]
            names = []
        elif re.fullmatch(r"(Test|Benchmark|Example|Fuzz)\w*", line):
            names.append(line)
        else:
            other.append(line)
    _unbuilt(run, other, raw)
    run.found = len(run.tests)
    return run


def _profile(raw: Raw) -> list[Covered]:
    """Lines, from a profile that counts blocks: a line counts as reached when one of its blocks is."""
    lines: dict[str, dict[int, bool]] = {}
    for block in _BLOCK.finditer(raw.extra):
        name = block["file"]
        path = f"{_folder(name.rpartition('/')[0], raw)}/{name.rpartition('/')[2]}".removeprefix("./")
        reached = lines.setdefault(path, {})
        for line in range(int(block["first"]), int(block["last"]) + 1):
            reached[line] = reached.get(line, False) or block["count"] != "0"
    return [Covered(path, len(hits), sorted(n for n in hits if not hits[n])) for path, hits in sorted(lines.items())]
