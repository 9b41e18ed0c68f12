"""The guidance that ships: it speaks of tools and parameters that there are, and is in the wheel."""

import os
import re
import sys
import zipfile
from pathlib import Path

import pytest

import toolroll.text.knowledge.guidance
from toolroll import tools as builtin
from toolroll.registry import discover

FOLDER = Path(toolroll.text.knowledge.guidance.__file__).parent
TEXTS = sorted(FOLDER.glob("*.md"))
TOOLS = list(discover(builtin))
KNOWN = {tool.name for tool in TOOLS} | {one.name for tool in TOOLS for one in tool.parameters}


def test_there_is_enough():
    assert 12 <= len(TEXTS) <= 40


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_text_is_short_and_names_what_there_is(path):
    text = path.read_text()
    assert text.startswith("# ")
    assert 400 < len(text) < 1600
    assert max(map(len, text.split("\n"))) <= 120
    assert set(re.findall(r"`(\w+)`", text)) <= KNOWN
    assert len(re.findall("`", text)) == 2 * len(re.findall(r"`(\w+)`", text))


def test_the_wheel_holds_them(tmp_path, monkeypatch):
    uv_build = pytest.importorskip("uv_build")
    monkeypatch.chdir(FOLDER.parents[4])
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    with zipfile.ZipFile(tmp_path / uv_build.build_wheel(str(tmp_path))) as wheel:
        held = {Path(name).name for name in wheel.namelist() if name.startswith("toolroll/text/knowledge/guidance/")}
    assert held >= {path.name for path in TEXTS}
