"""Select the test files that a change affects: by imports and by past coverage; all of them when unsure."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch

from toolroll.text.dev.tests.frameworks import PYTHON_TESTS
from toolroll.text.file_mentions import find_imports

_QUOTED = re.compile(r"""["']([\w./-]+)["']""")
_SETTINGS = frozenset({"pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", "tox.ini", ".coveragerc"})
_SECTIONS = {"pytest.ini": "pytest", "pyproject.toml": "", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
_PROSE = (".md", ".rst", ".txt", ".adoc")


@dataclass(frozen=True, slots=True)
class Affected:
    """The test files to run, in order; `everything` is the reason to run all of them instead."""

    tests: list[str]
    everything: str = ""


def is_test(path: str) -> bool:
    """Whether a file holds tests, by its name."""
    name = path.rpartition("/")[2]
    return any(fnmatch(name, pattern) for pattern in PYTHON_TESTS)


def read_testpaths(settings: Mapping[str, str]) -> list[str]:
    """Where pytest looks for tests by the texts of its settings files, by their names; empty for everywhere."""
    for name, section in _SECTIONS.items():
        text = settings.get(name, "")
        if not text:
            continue
        try:
            found = _toml_testpaths(text) if name.endswith(".toml") else _ini_testpaths(text, section)
        except (ValueError, configparser.Error):  # pytest itself will say what is wrong
            continue
        if found is not None or name == "pytest.ini":
            return found or []
    return []


def _toml_testpaths(text: str) -> list[str] | None:
    options = tomllib.loads(text).get("tool", {}).get("pytest", {})
    options = options.get("ini_options", options) if isinstance(options, dict) else {}
    found = options.get("testpaths") if isinstance(options, dict) else None
    return found.split() if isinstance(found, str) else [str(one) for one in found] if found else None


def _ini_testpaths(text: str, section: str) -> list[str] | None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser.get(section, "testpaths", fallback="").split() or None


def is_in_testpaths(path: str, testpaths: Iterable[str]) -> bool:
    """Whether a path is at or beneath one of these, which may be globs."""
    parts = path.split("/")
    heads = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    wanted = [one.removeprefix("./").rstrip("/") for one in testpaths]
    return any(one in ("", ".") or any(fnmatch(head, one) for head in heads) for one in wanted)


def affected(
    sources: Mapping[str, str], changed: Iterable[str], touched: Mapping[str, Iterable[str]] | None = None
) -> Affected:
    """The test files among `sources` (path to text) that changes of these files affect.

    `touched` tells which files each test file reached when that was last measured.
    """
    changed = sorted(changed)
    graph = _Graph(sources, changed)
    reached: set[str] = set()
    for path in changed:
        name = path.rpartition("/")[2]
        if name in _SETTINGS:
            return Affected(_tests(sources), f"{path} is changed")
        users = {path} if path.endswith((".py", ".pyi")) else graph.mentions(name)
        if not users and not name.endswith(_PROSE):
            return Affected(_tests(sources), f"it is not known what uses {path}")
        reached |= users
    reached = graph.dependents(reached)
    for test, files in (touched or {}).items():
        if not reached.isdisjoint(files):
            reached.add(test)
    return Affected([path for path in _tests(sources) if path in reached])


def _tests(sources: Mapping[str, str]) -> list[str]:
    return sorted(path for path in sources if is_test(path))


class _Graph:
    """The files of a project, and which of them use which."""

    def __init__(self, sources: Mapping[str, str], changed: Iterable[str]) -> None:
        self._paths = {*sources, *(path for path in changed if path.endswith(".py"))}  # one may be deleted
        self._folders = {path.rpartition("/")[0] for path in self._paths if path.endswith("__init__.py")}
        self._modules: dict[str, set[str]] = defaultdict(set)
        self._names: dict[str, set[str]] = defaultdict(set)
        for path in self._paths:
            self._names[path.rpartition("/")[2]].add(path)
            for module in self._modules_of(path):
                self._modules[module].add(path)
        self._users: dict[str, set[str]] = defaultdict(set)
        self._data = {path.rpartition("/")[2] for path in changed if not path.endswith((".py", ".pyi"))}
        self._mentioned: dict[str, set[str]] = defaultdict(set)
        for path, text in sources.items():
            self._read(path, text)

    def mentions(self, name: str) -> set[str]:
        """The files whose text holds this name of a file in quotes."""
        return set(self._mentioned[name])

    def dependents(self, paths: set[str]) -> set[str]:
        """These files and all that use them, directly or not."""
        reached, rest = set(paths), list(paths)
        while rest:
            fresh = self._users[rest.pop()] - reached
            reached |= fresh
            rest += fresh
        return reached

    def _modules_of(self, path: str) -> Iterable[str]:
        """The names that a file can be imported by: from each folder above it that is no package itself."""
        parts = path.removesuffix(".py").split("/")
        if parts[-1] == "__init__":
            parts.pop()
        for start in range(len(parts)):
            if start == 0 or "/".join(parts[:start]) not in self._folders:
                yield ".".join(parts[start:])

    def _read(self, path: str, text: str) -> None:
        for _, name in find_imports(path, text.replace("\\\n", " ")):
            self._use(path, name)
        for quoted in set(_QUOTED.findall(text)):
            base = quoted.rpartition("/")[2]
            if base in self._data:
                self._mentioned[base].add(path)
            for file in self._names.get(base, ()):
                self._users[file].add(path)
            if "." in quoted and "/" not in quoted:
                self._use(path, quoted)  # such as in a patch, or for import_module
        # Fixtures come from every conftest above, and packages are imported with what is in them.
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            for name in ("conftest.py", "__init__.py"):
                above = f"{folder}/{name}".lstrip("/")
                if above in self._paths and above != path:
                    self._users[above].add(path)

    def _use(self, path: str, name: str) -> None:
        """Importing a.b.c also runs a and a.b."""
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            for file in self._modules.get(".".join(parts[:end]), ()):
                self._users[file].add(path)
