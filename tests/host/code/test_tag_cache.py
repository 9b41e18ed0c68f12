"""Tags by content and by path: what is given back, and what is forgotten."""

import time

import pytest

from toolroll.host.code import tag_cache as module
from toolroll.host.code.tag_cache import TagCache
from toolroll.text.code.syntax.tags import definitions, tags

SOURCE = b"def a(): return b()\n"
KEY = ("python", b"digest")


@pytest.fixture
def tagged(ctx, put):
    put({"a.py": SOURCE, "b.py": SOURCE})
    time.sleep(0.15)  # until then the times of a file cannot tell its next change
    return TagCache(ctx.files.root)


def test_tags_are_those_of_a_file_until_it_changes(tagged, put):
    stamp, made = tagged.stamp("a.py"), tags("python", SOURCE)
    tagged.keep("a.py", "a.py", stamp, KEY, made)
    assert tagged.of_files(["a.py", "b.py"], whole=True) == {"a.py": made}
    assert tagged.of_files(["a.py", "b.py"], {"a.py": stamp, "b.py": stamp}, whole=True) == {"a.py": made}
    assert tagged.of_files(["a.py"], {"a.py": None}, whole=True) == {}
    put({"a.py": SOURCE})
    assert tagged.of_files(["a.py"], whole=True) == {}
    assert tagged.get(KEY, whole=True) is made
    assert tagged.names() == ["a"]


def test_definitions_alone_do_not_answer_for_all(tagged):
    few, whole = definitions("python", SOURCE), tags("python", SOURCE)
    stamp = tagged.stamp("a.py")
    tagged.keep("a.py", "a.py", stamp, KEY, few)
    assert (tagged.get(KEY, whole=False), tagged.get(KEY, whole=True)) == (few, None)
    assert tagged.of_files(["a.py"], whole=False) == {"a.py": few}
    assert tagged.of_files(["a.py"], whole=True) == {}
    assert tagged.of_files(["a.py"], {"a.py": stamp}, whole=True) == {}
    tagged.keep("a.py", "a.py", stamp, KEY, whole)
    tagged.keep("a.py", "a.py", stamp, KEY, few)
    assert tagged.get(KEY, whole=False) is whole


def test_what_was_not_asked_for_in_long_is_forgotten(tagged, monkeypatch):
    made = tags("python", SOURCE)
    monkeypatch.setattr(module, "_MAX_TAG_BYTES", 2 * made.weight)
    for name in (b"1", b"2"):
        tagged.keep("a.py", "a.py", None, ("python", name), made)
    tagged.get(("python", b"1"), whole=True)
    tagged.keep("a.py", "a.py", None, ("python", b"3"), made)
    assert [tagged.get(("python", name), whole=True) for name in (b"1", b"2", b"3")] == [made, None, made]


def test_a_path_that_leads_elsewhere_has_no_state(tagged, ws):
    (ws / "link.py").symlink_to("a.py")
    assert [tagged.stamp(path) for path in ("link.py", "gone.py", "sub/../a.py")] == [None, None, None]
