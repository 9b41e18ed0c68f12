"""The manual tells the truth: generated pages are not stale, and what it shows is what happens."""

import html
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import msgspec
import pytest

from docs import generate, replay
from toolroll import Kit, Tool, cli, dialects, tools
from toolroll.dialect import View
from toolroll.registry import discover
from toolroll.text.tokens import estimate

ROOT = Path(__file__).parents[1]
TOOLS = list(discover(tools))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def test_generated_pages_are_not_stale() -> None:
    """When this fails, the code has changed: run `make docs`."""
    assert [str(path.relative_to(ROOT)) for path in generate.stale()] == []


def test_every_statement_about_a_document_names_tests_that_exist() -> None:
    assert generate.unproved() == []


def test_a_statement_without_a_test_fails_the_manual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["Proved. @ test_defaults", "Not. -- Really.", "Gone. => Why. @ test_x, test_tool.py::test_y, no.py::test_z"]
    (tmp_path / "statements").mkdir()
    (tmp_path / "statements/schemas.txt").write_text("\n".join(["# read", *rows]))
    (tmp_path / "statements/vendor.txt").write_text("Source: a package\n# All\nNot.")
    monkeypatch.setattr(generate, "HERE", tmp_path / "docs")
    monkeypatch.setattr(generate, "STATEMENTS", tmp_path / "statements")
    monkeypatch.setattr(generate, "stale", dict)
    assert generate.main([]) == 1
    assert capsys.readouterr().err == (
        "schemas.txt: read: Not: it names no test.\n"
        "schemas.txt: read: Gone: there is no test dialects/test_schemas.py::test_x, "
        "test_tool.py::test_y, no.py::test_z.\n"
    )


def test_a_stale_page_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("<!-- dialects --><!-- /dialects -->\n")
    (tmp_path / "docs/vendors.md").write_text("<!-- vendors -->\n<!-- /vendors -->\n")
    monkeypatch.setattr(generate, "HERE", tmp_path / "docs")
    made = generate.pages()
    monkeypatch.setattr(generate, "pages", lambda: made)
    assert generate.main(["--check"]) == 1
    stale = ["docs/tools.md", "docs/dialects.md", "docs/vendors.md", "docs/architecture.svg", "README.md"]
    assert capsys.readouterr().err == "".join(f"{page} is stale: run `make docs`.\n" for page in stale)
    assert generate.main([]) == 0
    assert capsys.readouterr().out == "".join(f"wrote {page}\n" for page in stale)
    assert generate.main(["--check"]) == 0


def test_the_page_of_tools_lists_every_tool_and_no_other() -> None:
    text = (ROOT / "docs" / "tools.md").read_text()
    assert re.findall(r"^\| \[`(\w+)`\]", text, re.MULTILINE) == [tool.name for tool in TOOLS]
    assert re.findall(r"^### (\w+)$", text, re.MULTILINE) == [tool.name for tool in TOOLS]


def test_the_page_of_the_command_line_lists_every_command_and_no_other() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    assert set(re.findall(r"`toolroll (\w+)[^`]*`", text)) == set(cli.COMMANDS)


def test_the_readme_lists_every_dialect_and_is_short() -> None:
    text = (ROOT / "README.md").read_text()
    listed = generate.DIALECTS.search(text)
    assert listed is not None
    assert set(re.findall(r"`([\w-]+)`", listed[0])) == set(dialects.names())
    assert 80 <= text.count("\n") <= 120


def test_the_readme_counts_what_a_model_sees_at_first(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    told = re.search(r"A model sees\s(\d+) tools for at most ([\d,]+) tokens", text)
    assert told is not None
    with Kit(tmp_path) as kit:
        shown = kit.definitions("openai")
    assert len(shown) == int(told[1])
    assert estimate(msgspec.json.encode(shown).decode()) <= int(told[2].replace(",", ""))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_example_is_a_call_that_the_schema_allows(tool: Tool) -> None:
    view = View.native(tool)
    arguments = generate.example(view.schema)
    assert view.checker.check(arguments) == (arguments, [])


def test_the_readme_shows_what_really_happens(tmp_path: Path) -> None:
    """When this fails, the output has changed: run `python docs/replay.py`."""
    shown = replay.steps((ROOT / "README.md").read_text())
    assert len(shown) > 5
    assert list(replay.play([step.command for step in shown], tmp_path)) == shown


def test_the_picture_shows_the_same_run() -> None:
    drawn = html.unescape(re.sub(r"<[^>]+>", "", (ROOT / "docs" / "run.svg").read_text()))
    drawn = re.sub(r"\s+", "", drawn)
    commands = [step.command for step in replay.steps((ROOT / "README.md").read_text())]
    assert [command for command in commands if re.sub(r"\s+", "", command) not in drawn] == []


def test_the_ten_lines_run(
    ws: Path,
    open_kit: Callable[..., Kit],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert code is not None
    monkeypatch.chdir(ws)
    monkeypatch.setenv("XDG_STATE_HOME", str(ws.parent / "state"))
    exec(code[1], {})
    told, line = capsys.readouterr().out.splitlines()
    assert told.startswith("NotFound File not found")
    assert line == "1\t- buy milk"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_a_call_goes_the_way_that_the_architecture_page_shows(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| \d \| `([\w/]+\.py)` \| `([\w.]+)` \|", page, re.MULTILINE)
    assert len(rows) == 9
    source = f"{ROOT / 'src' / 'toolroll'}/"
    passed: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(source):
            name = frame.f_code.co_qualname.split(".<locals>")[0]
            passed.append((frame.f_code.co_filename.removeprefix(source), name))

    (tmp_path / "README.md").write_text("Hello.\n")
    with Kit(tmp_path) as kit:
        sys.setprofile(note)
        result = kit.call("read", '{"path": "README.md"}')
        sys.setprofile(None)
    assert result.ok
    assert [row for row in dict.fromkeys(passed) if row in rows] == rows


def test_every_promise_of_the_security_page_names_its_tests() -> None:
    """A file of tests alone proves one promise; named tests are in a file of the same row."""
    text = (ROOT / "docs/security.md").read_text().partition("## Promises and their tests")[2]
    rows = [line for line in text.splitlines() if line.startswith("| ") and line != "| promise | test |"]
    cited, unnamed = list[str](), list[str]()
    for row in rows:
        files = re.findall(r"\]\(\.\./(tests/[\w/]+\.py)\)", row)
        named = re.findall(r"`(test_\w+)`", row)
        defined = {name for one in files for name in re.findall(r"^def (test_\w+)", (ROOT / one).read_text(), re.M)}
        assert files, row
        assert set(named) <= defined, row
        cited += files
        unnamed += re.findall(r"\]\(\.\./(tests/[\w/]+\.py)\)(?! `test_)", row)
    assert [one for one in unnamed if cited.count(one) > 1] == []
