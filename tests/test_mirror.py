"""The test of `src/toolroll/a/b.py` is `tests/a/test_b.py`. A module without one is tested through its front."""

import ast
import gc
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "toolroll"

# By folder, or by module where a folder has several: the modules whose tests are the tests of what has none.
FRONTS = {
    "agent": "agent/loop",
    "cli": "cli/call cli/mcp",
    "control": "control/server",
    "control/preview": "control/prompt",
    "control/views": "control/views/journal",
    "fleet": "fleet/pool cli/fleet/run",
    "daemon": "daemon/server cli/live/up",
    "host": "kit services",
    "host/daemon": "daemon/server",
    "host/code": "host/code/repo_map tools/code/references tools/code/rename tools/code/edit_symbol",
    "host/convert": "host/convert/converter host/convert/child",
    "console": "cli/live/console",
    "host/dev": "tools/dev/lint tools/dev/tests",
    "host/fleet": "fleet/pool",
    "host/forks": "host/forks/forks tools/shell/attempt",
    "host/git": "tools/dev/git",
    "host/http": "host/http/client",
    "host/knowledge": "host/knowledge/ingest tools/knowledge/history",
    "host/lsp": "host/lsp/language_servers tools/code/diagnostics",
    "host/mcp": "host/mcp/server host/mcp/http tools/session/mcp services",
    "host/models/chat": "host/models/chat/config",
    "host/models/embedding": "host/models/embedding/embedder",
    "host/recordings": "recording/replay",
    "host/runtime": "kit host/sandbox/git/guard host/runtime/process_marks",
    "host/sandbox": "host/sandbox/choose host/sandbox/toolchains",
    "host/sandbox/git": "host/sandbox/git/guard services",
    "host/search": "host/search/search services",
    "host/shell": "host/shell/command_launcher tools/shell/bash kit",
    "mcp": "mcp/stdio cli/mcp",
    "mcp/http": "mcp/http/transport",
    "policy": "policy/secrets kit",
    "policy/git": "policy/git/verdict",
    "policy/shell": "policy/commands host/settings",
    "policy/shell/parse": "policy/shell/parse/analysis",
    "recording": "recording/replay",
    "schema": "schema/check dialect",
    "schema/stubs": "catalogue",
    "text": "text/edit/refusals",
    "text/tool_tasks": "catalogue",
    "text/shown_lines": "tools/files/read",
    "text/code": "tools/code/edit_symbol",
    "text/code/syntax": "text/code/syntax/tags text/code/syntax/patterns tools/code/rename",
    "text/dev": "tools/dev/lint tools/dev/tests",
    "text/edit": "text/edit/match tools/files/replace_lines tools/files/write",
    "text/git": "text/git/plans tools/dev/git",
    "text/patch": "text/patch/apply text/patch/plan",
    "text/ranking": "text/ranking/terms",
    "text/search": "tools/search/grep",
    "text/shell": "tools/shell/bash",
    "vendor_shapes": "dialects/gemini_cli dialects/openhands dialects/opencode",
    "wording": "executor",
}
# Modules that are found by listing their folder, or run as programs of their own: the test that goes through them all.
LISTED = {
    "cli/recording/replay": "cli/recording/test_record.py",
    "dialects": "test_dialect.py",
    "host/code/parser_child": "host/code/test_parser_pool.py",
    "host/models/embedding/child": "host/models/embedding/test_child_embedder.py",
    "host/web/page_child": "host/web/test_page.py",
    "host/convert/readers": "host/convert/test_converter.py",
    "host/dev/drivers": "tools/dev/test_tests.py",
    "host/recordings/recording_file": "recording/test_replay.py",
    "recording/recorded_kit": "recording/test_replay.py",
    "text/code/syntax/languages": "text/code/syntax/test_languages.py",
    "text/web/engines": "text/web/engines/test_engines.py",
}
MODULES = {str(path.relative_to(SOURCE).with_suffix("")): path for path in SOURCE.rglob("*.py")}


def mirror_of(module: str) -> Path:
    folder, _, name = module.rpartition("/")
    return TESTS / folder / f"test_{name}.py"


UNTESTED = sorted(one for one in MODULES if not one.endswith(("__init__", "__main__")) and not mirror_of(one).is_file())


def row_of(module: str, rows: dict[str, str]) -> str | None:
    """The row of a module, or of the nearest folder above it."""
    while module and module not in rows:
        module = module.rpartition("/")[0]
    return module or None


def imports(path: Path) -> set[str]:
    """The modules of ours that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolroll"):
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
            found |= {name.replace(".", "/").removeprefix("toolroll/") for name in names if name}
    return {one if one in MODULES else f"{one}/__init__" for one in found} & MODULES.keys()


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    gc.disable()  # none of it is garbage, and to look for some takes longer than to parse
    try:
        return {name: imports(path) for name, path in MODULES.items()}
    finally:
        gc.enable()


def reached(graph: dict[str, set[str]], fronts: list[str]) -> set[str]:
    found, waiting = set(fronts), list(fronts)
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_every_module_has_a_test_or_a_front():
    assert [one for one in UNTESTED if row_of(one, {**FRONTS, **LISTED}) is None] == []


def test_a_front_has_a_test_of_its_own():
    fronts = {front for row in FRONTS.values() for front in row.split()}
    assert [one for one in fronts if not mirror_of(one).is_file()] == []
    assert [one for one in LISTED.values() if not (TESTS / one).is_file()] == []


def test_a_front_leads_to_the_modules_that_are_tested_through_it(graph):
    rows = {one: row_of(one, {**FRONTS, **LISTED}) for one in UNTESTED}
    ways = {key: reached(graph, row.split()) for key, row in FRONTS.items()}
    assert [one for one, key in rows.items() if key in ways and one not in ways[key]] == []
