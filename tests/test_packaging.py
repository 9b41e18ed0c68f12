"""The project installs the same everywhere: exact versions with hashes, no addresses, real commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINS = ["base.txt", "re2.txt", "dev.txt", "uv.txt"]


def pins(name: str) -> list[tuple[Requirement, list[str]]]:
    """Each requirement of a pin file, with its hashes."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "requirements" / name).read_text(), flags=re.MULTILINE)
    entries = [re.split(r"\s+--hash=", entry) for entry in text.replace("\\\n", " ").splitlines() if entry.strip()]
    return [(Requirement(entry[0]), entry[1:]) for entry in entries]


def group(name: str) -> list[str]:
    """The requirements of a dependency group, with those of the groups it includes."""
    wanted: list[str] = []
    members: list[Any] = PROJECT["dependency-groups"][name]
    for member in members:
        wanted += [member] if isinstance(member, str) else group(member["include-group"])
    return wanted


def targets() -> set[str]:
    """The targets of the Makefile that `make help` lists."""
    return set(re.findall(r"^([a-z-]+):.*## \S", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def test_requirements_hold_no_address() -> None:
    files = sorted(path for path in (ROOT / "requirements").iterdir() if path.is_file())
    words = ("://", "--index-url", "--extra-index-url", "--find-links", "@ ")
    assert [(path.name, word) for path in files for word in words if word in path.read_text()] == []


@pytest.mark.parametrize("name", PINS)
def test_every_requirement_is_exact_and_hashed(name: str) -> None:
    found = pins(name)
    assert found
    loose = [str(pin) for pin, _ in found if [spec.operator for spec in pin.specifier] != ["=="]]
    assert loose == []
    bad = [str(pin) for pin, hashes in found if not hashes]
    bad += [each for _, hashes in found for each in hashes if not re.fullmatch(r"sha256:[0-9a-f]{64}", each)]
    assert bad == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("base.txt", PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"]),
        ("dev.txt", PROJECT["project"]["dependencies"] + group("dev")),
        ("re2.txt", PROJECT["project"]["optional-dependencies"]["re2"]),
        ("uv.txt", group("installer")),
    ],
)
def test_pins_satisfy_the_project(name: str, wanted: list[str]) -> None:
    """When this fails, pyproject.toml changed: run `make pins`."""
    pinned = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin, _ in pins(name)}
    unmet = [
        each
        for each in wanted
        if not (need := Requirement(each)).specifier.contains(pinned.get(canonicalize_name(need.name), "0"))
    ]
    assert unmet == []


def test_base_is_part_of_dev() -> None:
    """So that installing one after the other changes nothing."""
    dev = {f"{pin.name}{pin.specifier}": hashes for pin, hashes in pins("dev.txt")}  # which may ask for it more widely
    base = [*pins("base.txt"), *pins("re2.txt")]
    assert [str(pin) for pin, hashes in base if dev.get(f"{pin.name}{pin.specifier}") != hashes] == []


def test_the_base_asks_for_nothing_that_some_machines_have_no_wheel_for() -> None:
    """google-re2 has none for musl, which no marker can name."""
    assert [str(pin) for pin, _ in pins("base.txt") if pin.name == "google-re2"] == []


def test_no_lock_file_is_kept() -> None:
    assert "uv.lock" in (ROOT / ".gitignore").read_text().splitlines()


def test_ci_runs_make_test() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "make test"


def recipe(*words: str, **environment: str) -> str:
    """What make would run, without running it."""
    command = ["make", "--dry-run", "--always-make", *words]
    own = {**os.environ, "MAKEFLAGS": "", "MAKELEVEL": "0", **environment}
    own.pop("PYTHON", None)  # of `make test PYTHON=...`: it would remove the environment of another Python
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=True).stdout


def test_what_serves_this_repository_is_outside_of_it(tmp_path: Path) -> None:
    """A copy of the package, in an environment of its own: commands in the workspace cannot change what runs."""
    said = recipe("run", XDG_CACHE_HOME=str(tmp_path))
    (folder,) = set(re.findall(rf"({tmp_path}/toolroll/run-[0-9a-f]{{12}})/bin/toolroll mcp", said))
    installs = re.findall(r".*pip install .*", said)
    assert installs
    assert [one for one in installs if folder not in one or "--editable" in one] == []
    assert list(tmp_path.iterdir()) == []


def test_it_is_installed_for_the_user_with_exact_versions_and_extras_by_name(tmp_path: Path) -> None:
    for name, words in {"uv": "tool install", "pipx": "install"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("#!/bin/sh\n")
        (tmp_path / name / name).chmod(0o755)
        said = recipe("install", "EXTRAS=code,rag", "VENV=/nowhere", PATH=f"{tmp_path / name}:/usr/bin:/bin")
        assert re.search(
            rf"^{tmp_path}/{name}/{name} {words} .*requirements/dev.txt.* '{ROOT}\[code,rag\]'$", said, re.M
        )
        assert f"{tmp_path}/{name}/{name} " in recipe("uninstall", PATH=f"{tmp_path / name}:/usr/bin:/bin")


def test_every_python_that_is_found_runs_toolroll(tmp_path: Path) -> None:
    """The oldest first; what does not run, is too old or is not released is passed over."""
    for name, body in {
        "python3.4": "echo never",
        "python3.98": "exit 1",
        "python3.99": f'exec {sys.executable} "$@"',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    environment = {"PATH": path, "PYENV_ROOT": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run([ROOT / "requirements/pythons"], env=environment, capture_output=True, text=True, check=True)
    found = [line.split(":") for line in done.stdout.splitlines()]
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    versions = [tuple(map(int, version.split("."))) for version, _ in found]
    assert own in [version for version, _ in found]
    assert versions == sorted(versions)
    assert min(versions) >= (3, 11)
    assert all(os.path.isabs(program) for _, program in found)


def test_makefile_has_the_targets() -> None:
    assert targets() >= {
        "run",
        "install",
        "uninstall",
        "dist",
        "test",
        "test-pythons",
        "setup",
        "bench",
        "docs",
        "fmt",
        "pins",
        "clean",
    }


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_pages_name_only_real_targets(page: str) -> None:
    named = set(re.findall(r"(?:^|`|\$ )make ([a-z-]+)", (ROOT / page).read_text(), flags=re.MULTILINE))
    assert named - targets() == set()
