"""The configuration: layers, origins, and one clear sentence for what is wrong in it."""

import json
import re

import pytest

from tests.test_conventions import ROOT
from toolroll.host.settings import (
    ACCEPTED_FILE,
    FILE,
    RULES_FILE,
    Layer,
    Settings,
    SettingsError,
    config_path,
    configure,
    load_settings,
)


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Write a file of the user's configuration folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "toolroll").mkdir(parents=True)

    def write(text, name=FILE):
        path = tmp_path / "config" / "toolroll" / name
        path.write_text(text)
        return str(path)

    return write


def test_without_a_configuration_everything_is_at_its_default(config, ws):
    found = configure(ws)
    assert (found.settings.dialect, found.settings.mode, found.origins, found.hints) == ("native", "code", {}, ())


def test_each_layer_wins_over_those_before_it(config, ws, monkeypatch):
    (ws / "inner").mkdir()
    file = config(
        'dialect = "pigo"\nmode = "thinking"\npolicy = "ask"\nnetwork = true\nlimits = {call_seconds = 9, processes = 5}\n'
        f'[workspace."{ws}"]\nmode = "code"\npolicy = "read-only"\nlimits = {{call_seconds = 8}}\n'
        f'[workspace."{ws}/inner"]\npolicy = "standard"\n[workspace."/elsewhere"]\ndialect = "cdd"\n'
    )
    monkeypatch.setenv("TOOLROLL_NETWORK", "false")
    found = configure(ws / "inner", [Layer("--mode", {"mode": "thinking"})])
    settings = found.settings
    assert (settings.dialect, settings.mode, settings.policy) == ("pigo", "thinking", "standard")
    assert (settings.network, settings.limits) == (False, {"call_seconds": 8, "processes": 5})
    assert found.origins == {
        "dialect": file,
        "mode": "--mode",
        "policy": f'{file} [workspace."{ws}/inner"]',
        "network": "TOOLROLL_NETWORK",
        "limits.call_seconds": f'{file} [workspace."{ws}"]',
        "limits.processes": file,
    }


def test_every_key_is_documented_and_reaches_the_policy(config, ws):
    page = (ROOT / "docs" / "configuration.md").read_text().partition("## The environment of commands")[0]
    rows = re.findall(r"^\| `\[*(\w+)", page, re.MULTILINE)
    assert sorted(rows) == sorted(Settings.__struct_fields__)
    config('allow_destructive = true\nallow_cd = false\nreadable = ["/opt/x"]\ntaint = "foreign"')
    policy = load_settings(ws).build_policy()
    assert (policy.allow_destructive, policy.allow_cd, policy.readable, policy.taint) == (
        True,
        False,
        ("/opt/x",),
        "foreign",
    )


def test_a_kit_follows_the_configuration_and_its_caller_wins(config, ws, open_kit):
    config(
        'mode = "thinking"\npolicy = "ask"\nnetwork = true\nlimits = {call_seconds = 9}\nlanguage_servers = {python = "x"}'
    )
    configured, given = open_kit(), open_kit(mode="code", policy="standard", limits={"call_seconds": 3})
    assert (configured.mode, configured.policy.network, configured.limits.call_seconds) == ("thinking", True, 9)
    assert (given.mode, bool(given.policy.ask), given.policy.network, given.limits.call_seconds) == (
        "code",
        False,
        True,
        3,
    )


def test_rules_come_from_both_files_and_the_old_one_is_hinted_at(config, ws, open_kit):
    config('[[rule]]\ndecision = "deny"\ncommand = "make deploy"\nreason = "by hand only"\n', RULES_FILE)
    config('[[rule]]\ndecision = "deny"\ncommand = "make clean"\n')
    kit = open_kit()
    assert "by hand only" in kit.call("bash", {"command": "true && make deploy"}).text
    assert kit.call("bash", {"command": "make clean"}).error.code == "SecurityError"
    assert configure(ws).hints == (
        f"{config_path(RULES_FILE)} is still read in this release: move its tables to {FILE}.",
    )


WRONG = [
    ("dialekt = 'x'", "there is no key 'dialekt'. Did you mean 'dialect'?"),
    ("[environment]\nsett = {}", "there is no key 'sett' in [environment]. Did you mean 'set'?"),
    ("[limits]\ncall_second = 1", "there is no key 'call_second' in [limits]. Did you mean 'call_seconds'?"),
    ("[limits]\ncall_seconds = -1", "The limit call_seconds is -1. Give a number from 0."),
    ("network = 7", "network: Expected `bool | str | array | null`, got `int`."),
    ("network = 'packges'", "such as example.org, *.example.org, example.org:8080."),
    ("mode = 'kode'", "mode: Invalid enum value 'kode'. There are: code, thinking."),
    ("workspace = 3", "settings of a workspace are given as [workspace.\"/its/path\"] tables."),
    ("[workspace.\"/x\"]\nmod = 1", "there is no key 'mod'. Did you mean 'mode'?"),
    ("[[rule]]\ndecision = 'perhaps'\ncommand = 'x'", "rule 1: decision is 'perhaps', it must be 'allow', 'ask' or 'deny'."),
    ("[[rule]]\ndecision='deny'\ncommand='git push'\nmatch=['git pull']", "rule 1: the example 'git pull' must match the command 'git push'."),
    ("[workspace.shop]\nmode = 'code'", "workspace: 'shop' is no absolute path."),
    ("[environment.set]\n'A=B' = 'x'", "environment.set: 'A=B' cannot be a variable with the value 'x'."),
    ("environment = 3", "environment: Expected `object`, got `int`."),
    ("a = ", "Invalid value (at end of document)."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_is_named_with_the_file(config, ws, text, message):
    file = config(text)
    with pytest.raises(SettingsError) as error:
        load_settings(ws)
    assert str(error.value).startswith(file)
    assert str(error.value).endswith(message)


def test_a_wrong_variable_is_named(config, ws, monkeypatch):
    monkeypatch.setenv("TOOLROLL_SANDBOX", "nope")
    with pytest.raises(SettingsError, match="TOOLROLL_SANDBOX: sandbox: Invalid enum value 'nope'"):
        load_settings(ws)


def test_variables_name_tools_and_servers(config, ws, monkeypatch):
    config('mcp = "work.json"\ntools = "all"')
    monkeypatch.setenv("TOOLROLL_TOOLS", "read, grep")
    monkeypatch.setenv("TOOLROLL_MCP_CONFIG", "/srv/mcp.json")
    assert (load_settings(ws).tools, load_settings(ws).mcp) == (("read", "grep"), "/srv/mcp.json")


def test_an_unknown_policy_is_refused(config, ws, open_kit):
    config('policy = "lax"')
    with pytest.raises(ValueError, match="There is no policy 'lax'"):
        open_kit()


def test_a_file_of_the_workspace_configures_nothing(config, ws):
    for name in (FILE, f".toolroll/{FILE}", ".toolroll/suggested.toml"):
        (ws / name).parent.mkdir(exist_ok=True)
        (ws / name).write_text('mode = "thinking"')
    assert load_settings(ws).mode == "code"


def test_what_the_user_accepted_counts_and_a_damaged_record_says_so(config, ws):
    file = config(
        json.dumps({str(ws): {"settings": {"dialect": "pigo"}}, "/other": {"settings": {"mode": "thinking"}}}),
        ACCEPTED_FILE,
    )
    assert (load_settings(ws).dialect, load_settings(ws).mode) == ("pigo", "code")
    config("{", ACCEPTED_FILE)
    with pytest.raises(SettingsError, match=f"{file} is damaged. Remove it"):
        load_settings(ws)


def test_a_file_of_servers_is_named_relative_to_the_configuration(config, ws):
    config('mcp = "work.json"')
    assert load_settings(ws).mcp == config_path("work.json")
    config('[mcp.docs]\ncommand = "docs-server"')
    assert load_settings(ws).mcp == {"docs": {"command": "docs-server"}}
