"""The operator's file of servers."""

import json
import os

import pytest

from toolroll import Kit
from toolroll.host.mcp.config import VARIABLE, ServerConfig, load


def test_the_common_shape():
    found = load(
        {
            "mcpServers": {
                "git": {"command": "mcp-server-git", "args": ["-v"], "env": {"A": "${B}"}, "cwd": "sub"},
                "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${T}"}},
                "off": {"type": "sse", "url": "http://x", "disabled": True},
                "slow": {"httpUrl": "http://x", "timeout": 5, "startTimeout": 90, "prefix": "s"},
            }
        },
        {},
    )
    assert found == {
        "git": ServerConfig("git", ("mcp-server-git", "-v"), {"A": "${B}"}, "sub", prefix="git"),
        "web": ServerConfig(
            "web", url="https://example.com/mcp", headers={"Authorization": "Bearer ${T}"}, prefix="web"
        ),
        "slow": ServerConfig("slow", url="http://x", timeout=5.0, start_timeout=90.0, prefix="s"),
    }


def test_the_file_of_the_variable_and_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert load(None, {}) == {}
    folder = tmp_path / "config" / "toolroll"
    folder.mkdir(parents=True)
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"mine": {"command": "a"}}}))
    (tmp_path / "other.json").write_text(json.dumps({"mcpServers": {"other": {"command": "b"}}}))
    assert list(load(None, {})) == ["mine"]
    assert list(load(None, {VARIABLE: str(tmp_path / "other.json")})) == ["other"]
    assert list(load(tmp_path / "other.json", {VARIABLE: "none"})) == ["other"]
    with pytest.raises(ValueError, match="There is no file"):
        load(None, {VARIABLE: str(tmp_path / "none.json")})


def test_a_workspace_brings_no_servers(ws, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in (".mcp.json", "mcp.json", ".toolroll/mcp.json", ".vscode/mcp.json"):
        (ws / name).parent.mkdir(exist_ok=True)
        (ws / name).write_text(json.dumps({"mcpServers": {"evil": {"command": "touch", "args": ["owned"]}}}))
    with Kit(ws, state_dir=tmp_path / "state") as kit:
        assert kit.remote.names() == []
        found = kit.call("mcp", {"action": "list_tools"})
    path = os.path.join(str(tmp_path), "config", "toolroll", "mcp.json")
    assert found.text == (
        f"No MCP server is set up. The user can name some in {path!r}, or in the file of TOOLROLL_MCP_CONFIG."
    )


@pytest.mark.parametrize(
    ("servers", "told"),
    [
        ({"a": {}}, "needs either a 'command' or a 'url'"),
        ({"a": {"command": "x", "url": "http://x"}}, "needs either"),
        ({"a": {"command": "x", "args": "y"}}, "'args' must be a list"),
        ({"a": {"command": "x", "args": [1]}}, r"Expected `str`, got `int` - at `\$\.command\[1\]`"),
        ({"a": {"command": "x", "env": {"A": 1}}}, r"Expected `str`, got `int` - at `\$\.env\[\.\.\.\]`"),
        ({"a": {"command": "x", "network": "yes"}}, r"Expected `bool`, got `str` - at `\$\.network`"),
        ({"a": {"command": "x", "writes": "all"}}, r"Invalid enum value 'all' - at `\$\.writes`"),
        ({"a": {"command": "x", "timeout": 100_000}}, r"Expected `float` <= 3600(\.0)? - at `\$\.timeout`"),
        ({"a": {"command": "x", "startTimeout": 0.01}}, r"Expected `float` >= 0.1 - at `\$\.start_timeout`"),
        ({"a": {"command": "x", "disabled": "no"}}, r"at `\$\.disabled`"),
        ({"a": {"command": "x", "prefix": "a b"}}, r"Expected `str` matching regex .* - at `\$\.prefix`"),
        ({"a": {"type": "sse", "url": "http://x"}}, "type 'sse' is not supported"),
        ({"a b": {"command": "x"}}, "'a b' is no name for a server"),
        ({"a": 7}, "must be an object"),
        ([], 'there must be an object "mcpServers"'),
    ],
)
def test_what_is_wrong_is_said(servers, told):
    with pytest.raises(ValueError, match=told):
        load({"mcpServers": servers}, {})


def test_a_file_that_is_no_json(tmp_path):
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ValueError, match=r"x\.json: "):
        load(tmp_path / "x.json", {})
