from toolroll.cli import tool_list_cache
from toolroll.cli.tool_list_cache import ToolListCache

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
