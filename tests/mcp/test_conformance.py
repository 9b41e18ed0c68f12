"""The official conformance suite against our HTTP server, for the protocols with the handshake and without it."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mcp.fixtures.served import Served
from tests.npm import node

FIXTURES = Path(__file__).with_name("fixtures")
SECONDS = 100
# How many checks each run makes, so that a suite that silently stops checking is seen.
RUNS = {
    "0.1.16": ("conformance-handshake", ["--suite", "all"], (41, 2)),
    "2025-11-25": ("conformance-stateless", ["--requirements", "2025-11-25"], (78, 2)),
    "2026-07-28": ("conformance-stateless", ["--requirements", "2026-07-28"], (162, 31)),
}


def run(server: Served, package: str, options: list[str]) -> tuple[int, str]:
    script = node.packages() / package / "dist" / "index.js"
    command = [node.program(), "--require", FIXTURES / "authorize.cjs", script, "server", "--url", server.url, *options]
    environment = {**os.environ, "TOOLROLL_TEST_TOKEN": server.token, "NO_COLOR": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", RUNS)
def test_the_official_suite_passes_but_for_what_is_named(suite, name):
    package, options, score = RUNS[name]
    expected = FIXTURES / "expected" / f"{name}.yml"
    status, told = run(suite, package, [*options, "--expected-failures", str(expected)])
    total = re.search(r"^Total: (\d+) passed, (\d+) failed$", told, re.MULTILINE)
    assert status == 0, told[told.find("=== SUMMARY") :]
    assert total, told
    assert tuple(map(int, total.groups())) == score


@pytest.mark.parametrize("name", RUNS)
def test_every_expected_failure_has_its_reason(name):
    lines = (FIXTURES / "expected" / f"{name}.yml").read_text().splitlines()
    above = dict(zip(lines[1:], lines, strict=False))
    entries = [line for line in lines if line.startswith("  - ")]
    assert entries
    # A reason may stand above several entries, and have several lines.
    assert [line for line in entries if not above[line].startswith(("  # ", "  - "))] == []


def test_the_suite_fails_when_an_expected_failure_passes(suite, tmp_path):
    (tmp_path / "stale.yml").write_text("server:\n  - tools-list\n")
    options = ["--scenario", "tools-list", "--expected-failures", str(tmp_path / "stale.yml")]
    status, told = run(suite, "conformance-handshake", options)
    assert (status, "tools-list" in told) == (1, True)


def test_without_the_token_the_suite_gets_nowhere(suite):
    nobody = replace(suite, token="wrong-token-of-a-stranger")
    status, told = run(nobody, "conformance-handshake", ["--scenario", "tools-list"])
    assert (status, "401" in told or "token" in told) == (1, True)
