"""The program that measures is run by the Python of the workspace, whatever its version."""

import ast
import json
import os
import subprocess
import sys

import pytest

from toolroll.host.dev.drivers import profile as figures


def test_its_text_is_for_older_pythons_too():
    ast.parse(figures.source(), feature_version=(3, 8))


@pytest.mark.parametrize("action", ["hotspots", "time", "memory"])
def test_the_last_thing_it_prints_are_the_figures(tmp_path, action):
    driver, asked = tmp_path / "driver.py", tmp_path / "asked.json"
    driver.write_text(figures.source())
    given = {"action": action, "path": "", "code": "x = [1] * 1000\nprint('hello')", "setup": "pass", "number": 1}
    asked.write_text(json.dumps({**given, "repeat": 1, "top": 5, "seconds": 20, "workspace": str(tmp_path)}))
    done = subprocess.run(
        [sys.executable, driver, asked],
        cwd=tmp_path,
        env={**os.environ, figures.MARK: "@@"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stderr == ""
    hello, _, line = done.stdout.partition("\n")
    assert hello == "hello"
    told = json.loads(line.strip().removeprefix("@@"))
    wanted = {"hotspots": {"rows", "seconds", "calls"}, "time": {"runs", "number"}, "memory": {"rows", "peak", "held"}}
    assert wanted[action] <= told.keys()
