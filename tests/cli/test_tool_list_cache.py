import json
import subprocess
import sys

from toolroll.cli import tool_list_cache
from toolroll.cli.tool_list_cache import ShippedToolLists, ToolListCache
from toolroll.kit import Kit
from toolroll.mcp.kit_backend import list_tools

TOOLS = {"": [{"name": "read", "inputSchema": {"type": "object"}}], "core": [], "all": []}


def test_a_list_is_kept_for_the_same_options(tmp_path):
    cache = ToolListCache(str(tmp_path), "native", "code")
    assert cache.load() is None
    cache.save(TOOLS)
    assert ToolListCache(str(tmp_path), "native", "code").load() == TOOLS
    assert ToolListCache(str(tmp_path), "native", "thinking").load() is None


def test_a_list_that_cannot_be_read_is_none(tmp_path):
    cache = ToolListCache(str(tmp_path))
    cache.save(TOOLS)
    (kept,) = (tmp_path / "listed").iterdir()
    for text in ("not json", "[]", '{"": 1}'):
        kept.write_text(text)
        assert cache.load() is None


def test_only_the_newest_lists_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(tool_list_cache, "_MAX_FILES", 2)
    for option in "abc":
        ToolListCache(str(tmp_path), option).save(TOOLS)
    assert len(list((tmp_path / "listed").iterdir())) == 2


def test_the_package_has_the_lists_of_its_own_dialects(tmp_path):
    with Kit(tmp_path, "pigo", state_dir=tmp_path / "state", mcp={}) as kit:
        assert ShippedToolLists("pigo", bool).load() == list_tools(kit)
        assert ShippedToolLists("pigo", bool).fits(kit)
        assert not ShippedToolLists("native", bool).fits(kit)
    assert ShippedToolLists("another", bool).load() is None


def test_a_server_imports_no_tools_to_compare_them_with_the_lists_of_the_package(ws, env):
    (ws / "a.txt").write_text("a\n")
    rows = [{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}]
    rows += [
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "read", "arguments": {"path": "a.txt"}}}
    ]
    code = """
import sys
from toolroll.cli import main
main(["mcp"])
print(*(one for one in sys.modules if one.startswith("toolroll.tools.") and one.count(".") > 2), file=sys.stderr)
"""
    argv, given = [sys.executable, "-c", code], "".join(f"{json.dumps(one)}\n" for one in rows)
    done = subprocess.run(argv, cwd=ws, env=env, input=given, capture_output=True, text=True, check=True, timeout=60)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert done.stderr.split() == ["toolroll.tools.files.read"]


def test_a_server_lists_the_tools_of_the_package_before_it_knows_its_folder(toolroll, tmp_path):
    listed = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}\n'
    for words, cached in (((), False), (("--mode", "thinking"), True)):
        assert toolroll("mcp", *words, stdin=listed)[0] == 0
        assert (tmp_path / "state" / "toolroll" / "listed").exists() == cached
