"""Programs that work beside a `.env`, or read it, with nobody to ask: none fails, in any tier, with hosts named or without."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.host.network.test_command_network import skip_without_sockets
from toolroll import Kit, Policy, Result

Open = Callable[..., Kit]
TEST = """
import os
def test_settings():
    lines = open(".env").read().split() if os.path.isfile(".env") else []
    assert lines in ([], ["API_KEY=hunter2-swordfish"])
"""
MANAGE = """
import os, sys
from django.conf import settings
from django.core.management import execute_from_command_line
values = dict(line.split("=") for line in open(".env").read().split()) if os.path.isfile(".env") else {}
settings.configure(SECRET_KEY=values.get("API_KEY", "x"), INSTALLED_APPS=["django.contrib.contenttypes"],
                   DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}})
execute_from_command_line(sys.argv)
"""


@pytest.fixture
def project(ws: Path) -> Path:
    """A project with a `.env` that git ignores."""
    (ws / ".env").write_text("API_KEY=hunter2-swordfish\n")
    (ws / ".gitignore").write_text(".env\n")
    (ws / "test_it.py").write_text(TEST)
    (ws / "manage.py").write_text(MANAGE)
    (ws / "package.json").write_text('{"name": "x", "version": "1.0.0", "scripts": {"test": "node test.js"}}')
    (ws / "test.js").write_text('const fs = require("fs"); if (!fs.existsSync(".env")) process.exit(3)')
    git(ws, "init -q -b main .", "add .", "commit -q -m One", "checkout -q -b other")
    (ws / "a.txt").write_text("other\n")
    git(ws, "add .", "commit -q -m Two", "checkout -q main")
    return ws


def git(folder: Path, *commands: str) -> None:
    for one in commands:
        who = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *one.split()], cwd=folder, check=True, capture_output=True)


def bash(kit: Kit, command: str) -> Result:
    result = kit.call("bash", {"command": command, "timeout": 100})
    assert result.ok, result.text
    return result


@pytest.mark.parametrize("network", ["off", "example.org"])
def test_pytest_and_git_run_beside_a_secret(open_kit: Open, project: Path, confined: str, network: str) -> None:
    kit = open_kit(policy=Policy(network=network))
    assert "1 passed" in bash(kit, f"{sys.executable} -m pytest -q -p no:cacheprovider test_it.py").text
    bash(kit, "git checkout -q other && git stash list && git checkout -q main && git status --short")
    assert kit.call("git", {"action": "status"}).ok
    assert (project / ".env").read_text() == "API_KEY=hunter2-swordfish\n"


@pytest.mark.parametrize("network", ["off", "example.org"])
def test_git_changes_a_secret_that_it_has(open_kit: Open, project: Path, confined: str, network: str) -> None:
    git(project, "add -f .env", "commit -q -m Three", "checkout -q other")
    (project / ".env").write_text("API_KEY=other\n")
    git(project, "add -f .env", "commit -q -m Four")
    kit = open_kit(policy=Policy(network=network))
    found = bash(
        kit, "git status --short; git checkout -q main && cat .env && mv .env x && git checkout .env && cat .env"
    )
    assert found.text.count("hunter2-swordfish") == 2


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
@pytest.mark.parametrize("network", ["off", "example.org"])
def test_npm_runs_beside_a_secret(open_kit: Open, project: Path, confined: str, network: str) -> None:
    bash(open_kit(policy=Policy(network=network)), "npm test --silent")


@pytest.mark.skipif(importlib.util.find_spec("django") is None, reason="Django is not installed")
@pytest.mark.parametrize("network", ["off", "example.org"])
def test_a_django_project_reads_its_settings(open_kit: Open, project: Path, confined: str, network: str) -> None:
    bash(
        open_kit(policy=Policy(network=network)),
        f"{sys.executable} manage.py migrate -v 0 && {sys.executable} manage.py check",
    )


def test_a_command_reads_a_secret_or_has_a_network(open_kit: Open, project: Path, confined: str) -> None:
    skip_without_sockets(confined)
    link = project / "plain.txt"
    link.symlink_to(".env")
    kit = open_kit(policy=Policy(network="example.org"))
    fetch = "import urllib.request; urllib.request.urlopen('http://example.org/', timeout=20)"
    connect = f'{sys.executable} -c "{fetch}" 2>&1; true'
    found = bash(kit, f"cat .env plain.txt 2>&1; echo; mv .env x 2>&1; {connect}").text
    if confined == "bubblewrap":
        assert "swordfish" not in found
        bash(kit, "set -e; test -f .env; . ./.env")
        assert "note: commands cannot read '.env', because they have a network" in found
    else:
        assert "the workspace has secrets that the command can read, and the user did not agree" in found


def test_hidden_secrets_are_read_by_no_command(open_kit: Open, project: Path, confined: str) -> None:
    kit = open_kit(policy=Policy(secrets="hide"))
    found = kit.call("bash", {"command": "cat .env; cp .env x; mv .env y; cat x; git checkout -q other; ls"})
    assert "swordfish" not in found.text
    if confined == "bubblewrap":
        assert "note: commands cannot read '.env' (secrets = 'hide')" in found.text
        assert "a.txt" in found.text
    else:
        assert found.error is not None
        assert "The command was not started: secrets = 'hide'" in found.text
