"""Test frameworks: how each is found, run and read. A new one is a new row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from toolroll.text.dev.tests import cargo, events, go, javascript
from toolroll.text.dev.tests.model import Action, Raw, Run

PYTHON_TESTS = ("test_*.py", "*_test.py", "tests.py")  # files that hold tests, by their names


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What is wanted of a framework."""

    action: Action
    targets: tuple[tuple[str, str], ...]
    """Paths from the folder that it runs in, each with the name of a test or of a group, or none."""
    keyword: str
    report: str
    scripts: Mapping[str, str]
    changed: tuple[str, ...] = ()
    """Run what these files affect, where the framework can tell."""
    name: str = "auto"


@dataclass(frozen=True, slots=True)
class Framework:
    """One way to run tests."""

    name: str
    language: str
    program: str
    words: Callable[[RunRequest], list[str]]
    read: Callable[[Raw], Run]
    add: str
    extra: str = ""
    """What is behind the report's name in that of the coverage report."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables; {temp} stands for the temporary folder."""
    related: bool = False
    """Whether it finds the affected tests by itself."""
    covers: bool = True
    files: tuple[str, ...] = ()
    """Globs of its test files, where it cannot tell the tests without running them."""


def _python(ask: RunRequest) -> list[str]:
    options = {
        "action": ask.action,
        "framework": ask.name,
        "keyword": ask.keyword,
        "report": ask.report,
        "cache": f"{ask.report}.cache",
        "parts": dict(ask.scripts),
    }
    targets = [f"./{path}::{name}" if name else f"./{path}" for path, name in ask.targets]
    return [ask.scripts["run_pytest"], msgspec.json.encode(options).decode(), *targets]


def _named(ask: RunRequest) -> str:
    """A regular expression of the tests' names, for the frameworks that take one.

    They hold it against the names of all groups and the test with blanks between, so whole words tell `ok` from `ok2`.
    """
    names = [re.escape(name.replace(" > ", " ")).replace(r"\ ", " ") for _, name in ask.targets if name]
    return f"(?:^| )(?:{'|'.join(names)})(?: |$)" if names else ask.keyword


def _jest(ask: RunRequest) -> list[str]:
    places = [path for path, _ in ask.targets if path != "."]
    exact = bool(places) and all(path.rpartition(".")[2] in _JS_SUFFIXES for path in places)
    # A pattern would fit files of the same name in folders further down too.
    paths = [f"./{path}" if exact else re.escape(path).replace(r"\-", "-") for path in places]
    by_path = ["--runTestsByPath"] if exact else []
    if ask.action == "discover":
        return ["--listTests", "--json", *by_path, "--", *paths]
    words = ["--ci", "--watchAll=false", "--json", f"--outputFile={ask.report}", "--testLocationInResults"]
    if ask.action == "coverage":
        words += ["--coverage", "--coverageReporters=json", f"--coverageDirectory={ask.report}.d"]
    words += [f"--testNamePattern={_named(ask)}"] if _named(ask) else []
    return (
        [*words, "--passWithNoTests", "--findRelatedTests", *ask.changed]
        if ask.changed
        else [*words, *by_path, "--", *paths]
    )


def _vitest(ask: RunRequest) -> list[str]:
    paths = [f"./{path}" for path, _ in ask.targets if path != "."]
    named = [f"--testNamePattern={_named(ask)}"] if _named(ask) else []
    if ask.action == "discover":
        return ["list", f"--json={ask.report}", *named, *paths]
    words = ["--reporter=json", f"--outputFile={ask.report}", *named]
    if ask.action == "coverage":
        words += ["--coverage.enabled", "--coverage.reporter=json", f"--coverage.reportsDirectory={ask.report}.d"]
    return ["related", "--run", "--passWithNoTests", *words, *ask.changed] if ask.changed else ["run", *words, *paths]


def _node(ask: RunRequest) -> list[str]:
    words = ["--test", f"--test-reporter={ask.scripts['reporter']}", f"--test-reporter-destination={ask.report}"]
    words += ["--experimental-test-coverage"] if ask.action == "coverage" else []
    # The pattern is held against each name alone, not against the names above it too.
    last = "|".join(f"^{re.escape(name.rpartition(' > ')[2])}$" for _, name in ask.targets if name) or ask.keyword
    words += [f"--test-name-pattern=/{last}/"] if last else []
    return words + [f"./{path}" for path, _ in ask.targets if path != "."]


def _go(ask: RunRequest) -> list[str]:
    folders = [path.rpartition("/")[0] if path.endswith(".go") else f"{path}/..." for path, _ in ask.targets]
    packages = [f"./{folder}".rstrip("/") for folder in folders] or ["./..."]
    if ask.action == "discover":
        return ["test", f"-list={ask.keyword or '.'}", *packages]
    names = ["/".join(f"^{re.escape(part)}$" for part in name.split("/")) for _, name in ask.targets if name]
    run = "|".join(names) or ask.keyword
    words = ["test", "-json", *([f"-run={run}"] if run else [])]
    return [*words, *([f"-coverprofile={ask.report}.cover"] if ask.action == "coverage" else []), *packages]


def _cargo(ask: RunRequest) -> list[str]:
    binaries = [path.removesuffix(".rs").removeprefix("tests/") for path, _ in ask.targets if path.startswith("tests/")]
    names = [name for _, name in ask.targets if name]
    words = ["test", "--no-fail-fast", *(f"--test={one}" for one in binaries if "/" not in one)]
    if ask.action == "discover":
        return [*words, "--", "--list", "--format=terse", *names, *([ask.keyword] if ask.keyword else [])]
    return [*words, "--", "--color=never", *names, *([ask.keyword] if ask.keyword else [])]


_JS_SUFFIXES = ("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts")
_JS = "{js,mjs,cjs,ts,mts,cts}"
_JS_FILES = (f"*[._-]test.{_JS}", f"test-*.{_JS}", f"test.{_JS}", f"**/test/**/*.{_JS}")
_NPM = "npm install --save-dev"
_ISTANBUL = ".d/coverage-final.json"
_CI = {"CI": "1", "NO_COLOR": "1"}
_OFFLINE = {"CARGO_NET_OFFLINE": "true", "CARGO_TERM_COLOR": "never", "RUST_BACKTRACE": "0"}
_GO = {"GOCACHE": "{temp}/go-build"}  # the usual one is out of reach for what runs confined
_QUIET = {"PYTHONDONTWRITEBYTECODE": "1"}  # the workspace holds only what somebody asked for

_ALL = (
    Framework("pytest", "python", "", _python, events.read, "python -m pip install pytest", environment=_QUIET),
    Framework("unittest", "python", "", _python, events.read, "", environment=_QUIET),
    Framework(
        "vitest", "javascript", "vitest", _vitest, javascript.read, f"{_NPM} vitest", _ISTANBUL, _CI, related=True
    ),
    Framework("jest", "javascript", "jest", _jest, javascript.read, f"{_NPM} jest", _ISTANBUL, _CI, related=True),
    Framework("node", "javascript", "node", _node, javascript.read_node, "https://nodejs.org", files=_JS_FILES),
    Framework("go", "go", "go", _go, go.read, "https://go.dev/dl", ".cover", _GO),
    Framework("cargo", "rust", "cargo", _cargo, cargo.read, "https://rustup.rs", "", _OFFLINE, covers=False),
)
FRAMEWORKS: dict[str, Framework] = {one.name: one for one in _ALL}

MARKERS: dict[str, tuple[str, ...]] = {
    "python": ("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", "tox.ini"),
    "javascript": ("package.json",),
    "go": ("go.mod",),
    "rust": ("Cargo.toml",),
}  # the files that make a folder a project of a language

_LANGUAGES = {"python": ("py", "pyi"), "javascript": _JS_SUFFIXES, "go": ("go",), "rust": ("rs",)}
SUFFIXES: dict[str, str] = {suffix: language for language, every in _LANGUAGES.items() for suffix in every}


def describe_frameworks() -> str:
    """What tests are found by: the frameworks of each language and its files."""
    names = {language: [one.name for one in _ALL if one.language == language] for language in MARKERS}
    files = {**MARKERS, "python": (*MARKERS["python"], *PYTHON_TESTS)}
    return "; ".join(f"{', '.join(names[one])} ({', '.join(files[one])})" for one in MARKERS)


class _Package(msgspec.Struct):
    dependencies: dict[str, object] = {}
    devDependencies: dict[str, object] = {}  # noqa: N815
    scripts: dict[str, str] = {}


def named_by(language: str, manifest: str) -> str | None:
    """The framework that a project of this language uses; of JavaScript's the one that package.json names."""
    if language != "javascript":
        return next(one.name for one in FRAMEWORKS.values() if one.language == language)
    try:
        package = msgspec.json.decode(manifest, type=_Package)
    except msgspec.MsgspecError:
        return None
    known = {**package.dependencies, **package.devDependencies}
    test = package.scripts.get("test", "")
    named = next((name for name in ("vitest", "jest") if re.search(rf"\b{name}\b", test)), None)
    if named is None and re.search(r"\bnode\b.*--test\b", test):
        return "node"
    return named or next((name for name in ("vitest", "jest") if name in known), None)
