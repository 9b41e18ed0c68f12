"""mcp-filesystem: the facts that the reference server's own tests state, and its answers over MCP."""

import base64
import json
from urllib.parse import unquote, urlsplit

import pytest

from toolroll import formats

# By tool, as the server lists them: what is required, then the rest.
PARAMETERS = {
    "read_file": ("path", "head tail"),
    "read_text_file": ("path", "head tail"),
    "read_media_file": ("path", ""),
    "read_multiple_files": ("paths", ""),
    "write_file": ("path content", ""),
    "edit_file": ("path edits", "dryRun"),
    "create_directory": ("path", ""),
    "list_directory": ("path", ""),
    "list_directory_with_sizes": ("path", "sortBy"),
    "directory_tree": ("path", "excludePatterns"),
    "move_file": ("source destination", ""),
    "search_files": ("path pattern", "excludePatterns"),
    "get_file_info": ("path", ""),
    "list_allowed_directories": ("", ""),
}


@pytest.fixture
def kit(open_kit):
    return open_kit("mcp-filesystem")


def names(tree):
    """The paths in a tree."""
    return [
        path
        for node in tree
        for path in (node["name"], *(f"{node['name']}/{one}" for one in names(node.get("children", []))))
    ]


def test_the_parameters_are_the_published_ones(kit):
    shown = {}
    for one in kit.definitions("mcp"):
        needed = set(one["inputSchema"].get("required", ()))
        shown[one["name"]] = needed, set(one["inputSchema"].get("properties", ())) - needed
        assert one["outputSchema"]["required"] == ["content"]
    assert shown == {name: (set(needed.split()), set(rest.split())) for name, (needed, rest) in PARAMETERS.items()}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "one\ntwo\nthree\n"),
        ({"head": 2}, "one\ntwo"),
        ({"tail": 2}, "two\nthree"),
        ({"tail": 9}, "one\ntwo\nthree\n"),
    ],
)
def test_a_file_is_its_text_or_an_end_of_it(kit, put, ws, given, text):
    put({"a.txt": "one\ntwo\nthree\n"})
    for name in ("read_file", "read_text_file"):
        assert kit.call(name, {"path": str(ws / "a.txt"), **given}).text == text


def test_head_and_tail_exclude_each_other(kit, put):
    put({"a.txt": "one\n"})
    assert (
        kit.call("read_text_file", {"path": "a.txt", "head": 1, "tail": 1}).text == "Give `head` or `tail`, not both."
    )


def test_a_file_that_cannot_be_read_does_not_stop_the_others(kit, put):
    put({"a.txt": "one", "b.txt": "two"})
    text = kit.call("read_multiple_files", {"paths": ["a.txt", "none", "b.txt"]}).text
    assert text == "a.txt:\none\n\n---\nnone: Error - File not found: there is no 'none'\n---\nb.txt:\ntwo\n"


def test_edits_are_made_in_order_and_shown_as_a_diff(kit, put, ws):
    put({"a.txt": "one\ntwo\n"})
    edits = [{"oldText": "one", "newText": "1"}, {"oldText": "1\ntwo", "newText": "1\n2"}]
    for dry in (True, False):
        text = kit.call("edit_file", {"path": "a.txt", "edits": edits, "dryRun": dry}).text
        assert text.startswith("```diff\n--- a.txt\toriginal\n+++ a.txt\tmodified\n@@")
        assert [line for line in text.split("\n") if line.startswith(("+", "-"))][2:] == ["-one", "-two", "+1", "+2"]
        assert (ws / "a.txt").read_text() == ("one\ntwo\n" if dry else "1\n2\n")


def test_edits_take_the_first_place_and_forgive_indentation(kit, put, ws):
    put({"a.txt": "x = 1\nx = 1\n", "b.py": "if a:\n    b = 1\n"})
    kit.call("edit_file", {"path": "a.txt", "edits": [{"oldText": "x = 1", "newText": "x = 2"}]})
    assert (ws / "a.txt").read_text() == "x = 2\nx = 1\n"
    assert kit.call("edit_file", {"path": "b.py", "edits": [{"oldText": "b = 1\n", "newText": "b = 2\n"}]}).ok
    assert (ws / "b.py").read_text() == "if a:\n    b = 2\n"


def test_an_edit_that_does_not_fit_leaves_the_file(kit, put, ws):
    put({"a.txt": "one\n"})
    edits = [{"oldText": "one", "newText": "1"}, {"oldText": "none", "newText": ""}]
    assert not kit.call("edit_file", {"path": "a.txt", "edits": edits}).ok
    assert (ws / "a.txt").read_text() == "one\n"


def test_a_file_is_replaced_without_having_been_read_and_keeps_its_mode(kit, put, ws):
    put({"a.sh": "old"})
    (ws / "a.sh").chmod(0o755)
    assert kit.call("write_file", {"path": "a.sh", "content": "new"}).text == "Successfully wrote to a.sh"
    assert ((ws / "a.sh").read_text(), (ws / "a.sh").stat().st_mode & 0o777) == ("new", 0o755)


def test_a_folder_is_made_with_those_above_it_and_once_only(kit, put, ws):
    put({"f": ""})
    for _ in range(2):
        assert kit.call("create_directory", {"path": "x/y"}).text == "Successfully created directory x/y"
    assert (ws / "x/y").is_dir()
    assert kit.call("create_directory", {"path": "f"}).error.code == "Conflict"
    assert kit.undo().ok
    assert not (ws / "x/y").exists()


def test_folders_are_listed_with_kinds_and_sizes(kit, put):
    put({"a.txt": "x" * 2000, "b": "1", "d/c": ""})
    assert kit.call("list_directory", {"path": "."}).text == "[FILE] a.txt\n[FILE] b\n[DIR] d"
    rows = kit.call("list_directory_with_sizes", {"path": "."}).text.split("\n")
    assert rows[0] == f"[FILE] {'a.txt':<30}    1.95 KB"
    assert rows[-2:] == ["Total: 2 files, 1 directories", "Combined size: 1.95 KB"]


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        ([], {".env", "a.js", "node_modules", "node_modules/p", "node_modules/p/i.js", "src", "src/b.js"}),
        (["node_modules"], {".env", "a.js", "src", "src/b.js"}),
        ([".env"], {"a.js", "node_modules", "node_modules/p", "node_modules/p/i.js", "src", "src/b.js"}),
        (["**/*.js"], {".env", "node_modules", "node_modules/p", "src"}),
    ],
)
def test_a_tree_leaves_out_what_is_excluded(kit, put, patterns, left):
    put({".env": "", "a.js": "", "node_modules/p/i.js": "", "src/b.js": ""})
    tree = json.loads(kit.call("directory_tree", {"path": ".", "excludePatterns": patterns}).text)
    assert set(names(tree)) == left


def test_an_empty_folder_has_no_children_and_a_file_knows_none(kit, put, ws):
    put({"f": ""})
    (ws / "d").mkdir()
    tree = json.loads(kit.call("directory_tree", {"path": "."}).text)
    assert tree == [{"name": "d", "type": "directory", "children": []}, {"name": "f", "type": "file"}]


def test_a_move_needs_a_free_destination(kit, put, ws):
    put({"a": "1", "b": "2", "d/x": ""})
    for taken in ("b", "d"):
        assert kit.call("move_file", {"source": "a", "destination": taken}).text.startswith(
            "Destination already exists"
        )
    assert kit.call("move_file", {"source": "a", "destination": "c"}).text == "Successfully moved a to c"
    assert ((ws / "b").read_text(), (ws / "c").read_text()) == ("2", "1")


def test_a_search_gives_whole_paths_from_the_folder_given(kit, put, ws):
    put({"a.txt": "", "d/b.txt": "", "d/e/c.txt": "", ".h.txt": ""})

    def found(path, pattern, *exclude):
        given = {"path": path, "pattern": pattern, "excludePatterns": list(exclude)}
        return [one.removeprefix(f"{ws}/") for one in kit.call("search_files", given).text.split("\n")]

    assert found(".", "*.txt") == [".h.txt", "a.txt"]
    assert found(str(ws), "**/*.txt") == [".h.txt", "a.txt", "d/b.txt", "d/e/c.txt"]
    assert found("d", "*.txt") == ["d/b.txt"]
    assert found(".", "**/*.txt", "d/**") == [".h.txt", "a.txt"]
    assert found(".", "none*")[0] == "No matches found"


def test_what_is_known_of_a_file(kit, put, ws):
    put({"a.txt": "123"})
    (ws / "a.txt").chmod(0o640)
    facts = dict(line.split(": ") for line in kit.call("get_file_info", {"path": "a.txt"}).text.split("\n"))
    assert list(facts) == ["size", "created", "modified", "accessed", "isDirectory", "isFile", "permissions"]
    assert (facts["size"], facts["isDirectory"], facts["isFile"], facts["permissions"]) == ("3", "false", "true", "640")


def test_the_allowed_directories_are_those_of_the_workspace(kit, ws):
    assert kit.call("list_allowed_directories", {}).text == f"Allowed directories:\n{ws}"
    assert kit.call("list_directory", {"path": "/etc"}).error.code == "SecurityError"


def test_structured_content_repeats_the_text(kit, put):
    put({"a.txt": "one"})
    answer = formats.mcp_mirror(kit.call("read_text_file", {"path": "a.txt"}))
    text = [{"type": "text", "text": "one"}]
    assert answer == {"content": text, "structuredContent": {"content": "one"}, "isError": False}
    assert "structuredContent" not in formats.mcp_mirror(kit.call("read_text_file", {"path": "none"}))


@pytest.mark.parametrize(
    ("name", "kind", "mime"),
    [("p.png", "image", "image/png"), ("c.mp3", "audio", "audio/mpeg"), ("my café.bin", "resource", None)],
)
def test_a_media_file_is_a_block_of_its_kind(kit, put, ws, name, kind, mime):
    put({name: b"\0\1\xff"})
    answer = formats.mcp_mirror(kit.call("read_media_file", {"path": str(ws / name)}))
    (block,) = answer["content"]
    assert (block["type"], answer["structuredContent"]) == (kind, {"content": [block]})
    held = block.get("resource", block)
    assert base64.b64decode(held["blob" if mime is None else "data"]) == b"\0\1\xff"
    assert held["mimeType"] == (mime or "application/octet-stream")
    if mime is None:
        assert unquote(urlsplit(held["uri"]).path) == str(ws / name)
        assert held["uri"].endswith("/my%20caf%C3%A9.bin")
