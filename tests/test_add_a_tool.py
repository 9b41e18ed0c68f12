"""One file is enough: the tool of docs/add-a-tool.md, put into a copy of the package, turns up everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs import replay
from toolroll.formats import FORMATS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "add-a-tool.md").read_text()
CODE = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)

LOOK = """
import json
from toolroll import Kit, tools
from toolroll.formats import FORMATS
from toolroll.registry import discover
with Kit(".") as kit:
    metadata = kit.registry.metadata("words")
    print(json.dumps({
        "discovered": [tool.name for tool in discover(tools)].count("words"),
        "metadata": [metadata.name, metadata.category, metadata.description, metadata.safe],
        "native": kit.names().count("words"),
        "formats": [json.dumps(kit.definitions(shape)).count('"words"') for shape in FORMATS],
        "schema": next(entry.schema for entry in kit.entries() if entry.name == "words"),
    }))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more file, and its only change."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", copy / "src")  # with what is compiled, which stays good as times are copied too
    shutil.copytree(ROOT / "docs" / "statements", copy / "docs" / "statements")
    os.symlink(ROOT / "tests", copy / "tests")  # statements name the tests that prove them
    for name in ("docs/generate.py", "docs/architecture.py", "docs/vendors.md", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, copy / name)
    (copy / "src" / "toolroll" / "tools" / "files" / "words.py").write_text(CODE[0])
    return copy


@pytest.fixture
def env(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(copy / "src"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def python(*words: str) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, timeout=110)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_is_in_the_registry_the_dialect_and_the_definitions(env: None) -> None:
    assert json.loads(python("-c", LOOK)) == {
        "discovered": 1,
        "metadata": ["words", "files", "Count the words of a text file.", True],
        "native": 1,
        "formats": [1] * len(FORMATS),
        "schema": {
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Text file, relative to the workspace.",
                },
                "least": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Count only words of at least this many characters.",
                    "default": 1,
                },
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    }


def test_it_is_in_the_listing_of_the_command_line(env: None) -> None:
    rows = {row["name"]: row for row in json.loads(python("-m", "toolroll", "tools", "--json"))}
    assert rows["words"]["summary"] == "Count the words of a text file."


def test_it_is_in_the_manual(env: None, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy)
    python("-m", "docs.generate")
    assert "\n### words\n\nCount the words of a text file.\n" in (copy / "docs" / "tools.md").read_text()
    assert "[`words`](tools.md#words)" in (copy / "docs" / "dialects.md").read_text()
    assert "| [`words`](#words) | Count the words of a text file. |" in (copy / "docs" / "tools.md").read_text()


def test_the_page_shows_what_really_happens(env: None, tmp_path: Path) -> None:
    shown = replay.steps(PAGE)
    assert len(shown) > 3
    assert list(replay.play([step.command for step in shown], tmp_path)) == shown


def test_its_own_test_passes(env: None, tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_words.py").write_text(CODE[1])
    apart = ["-p", "no:cacheprovider", "--rootdir", str(tmp_path), "--basetemp", str(tmp_path / "temp")]
    out = python("-m", "pytest", "-q", *apart, str(tmp_path))
    assert "2 passed" in out


def test_it_keeps_the_style_of_the_house(copy: Path) -> None:
    """Formatted, linted and typed, as `make test` will ask of it."""
    bin_folder = Path(sys.executable).parent
    words = str(copy / "src" / "toolroll" / "tools" / "files" / "words.py")
    settings = str(ROOT / "pyproject.toml")
    for command in (
        ["ruff", "format", "--check", "--config", settings],
        ["ruff", "check", "--config", settings],
    ):
        program = shutil.which(command[0], path=f"{bin_folder}{os.pathsep}{os.environ['PATH']}")
        assert program is not None
        done = subprocess.run([program, *command[1:], "--no-cache", words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
