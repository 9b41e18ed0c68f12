"""One entry is changed, and every other character stays."""

import json
import tomllib

import pytest

from toolroll.cli.clients.settings_text import edit_json, edit_toml

VALUE = {"command": "x", "args": ["a"]}
SHOWN = json.dumps(VALUE, indent=2)


def set_json(before: str, name: str = "toolroll", key: str = "servers") -> str:
    return edit_json(before, key, name, lambda _: VALUE)


def remove_json(before: str, name: str = "toolroll", key: str = "servers") -> str:
    return edit_json(before, key, name, lambda _: None)


JSON = """\
// mine
{
  "a": "http://x", /* "servers": {} */
  "servers": {
    "other": {"command": "y"}, // stays
    // the last one
  },
  "ü": "// no comment", // é
}
"""


def test_json_keeps_comments_and_trailing_commas() -> None:
    after = set_json(JSON)
    shown = SHOWN.replace("\n", "\n    ")
    assert after == JSON.replace("    // the last one\n", f'    // the last one\n    "toolroll": {shown}\n')
    assert set_json(after) == after
    assert remove_json(after) == JSON.replace('"y"},', '"y"}')


@pytest.mark.parametrize(
    "before",
    [
        "{}",
        "{ }\n",
        '{"servers": {}}',
        '{"servers": {"other": {}}}',
        '{"servers": {"other": {},},}',
        '{\n\t"servers": {\n\t\t"other": {} // mine\n\t}\n}\n',
        '{\n    "x": [1, 2,],\n    "servers": {\n        "other": {}\n        // mine\n    }\n}',
        '\ufeff{"x": 1}',
    ],
)
def test_json_is_the_same_but_for_blanks_when_the_entry_is_removed_again(before: str) -> None:
    after = set_json(before)
    assert after != before
    assert set_json(after) == after
    removed = remove_json(after)
    assert "".join(removed.split()).replace(',"servers":{}', "").replace('"servers":{}', "").replace(",", "") == (
        "".join(before.split()).replace('"servers":{}', "").replace(",", "")
    )


def test_json_is_indented_like_the_file() -> None:
    after = set_json('{\n\t"z": 1\n}\n')
    assert (
        after
        == '{\n\t"z": 1,\n\t"servers": ' + json.dumps({"toolroll": VALUE}, indent="\t").replace("\n", "\n\t") + "\n}\n"
    )


def test_the_first_of_several_json_entries_is_removed() -> None:
    text = '{\n  "servers": {\n    "toolroll": {}, // ours\n    "other": {}\n  }\n}\n'
    assert remove_json(text) == '{\n  "servers": { // ours\n    "other": {}\n  }\n}\n'
    assert remove_json('{"servers": {"toolroll": {}, "other": {}}}') == '{"servers": {"other": {}}}'


TOML = """\
# mine
model = "o1"   # stays

[mcp_servers.toolroll]
command = "old"

[mcp_servers.toolroll.env]
A = "1"
# about the other
[mcp_servers.other]   # too
command = "y"
"""


def test_toml_keeps_every_other_line() -> None:
    after = edit_toml(TOML, "mcp_servers", "toolroll", lambda _: VALUE)
    others = '# mine\nmodel = "o1"   # stays\n\n# about the other\n[mcp_servers.other]   # too\ncommand = "y"\n'
    assert after == others + '\n[mcp_servers.toolroll]\ncommand = "x"\nargs = ["a"]\n'
    assert edit_toml(after, "mcp_servers", "toolroll", lambda _: VALUE) == after
    assert edit_toml(TOML, "mcp_servers", "toolroll", lambda _: None) == others
    assert edit_toml("", "mcp_servers", "toolroll", lambda _: VALUE).startswith("[mcp_servers.toolroll]\n")


def test_toml_names_with_dots_are_told_apart() -> None:
    before = '[mcp_servers."toolroll.env"]\ncommand = "y"\n'
    after = edit_toml(before, "mcp_servers", "toolroll", lambda _: VALUE)
    assert tomllib.loads(after)["mcp_servers"] == {"toolroll.env": {"command": "y"}, "toolroll": VALUE}


@pytest.mark.parametrize(
    "before",
    [
        "a = ",
        'mcp_servers = {other = {command = "y"}}\n',
        'mcp_servers.toolroll = {command = "y"}\n',
        "mcp_servers = 1\n",
    ],
)
def test_toml_that_cannot_be_changed_is_refused(before: str) -> None:
    with pytest.raises(ValueError, match=r"it is not valid TOML|cannot be changed"):
        edit_toml(before, "mcp_servers", "toolroll", lambda _: VALUE)
