"""Tell variables of the environment."""

from types import SimpleNamespace

import pytest

from toolroll.policy.rules import Policy
from toolroll.result import ErrorCode, ToolError
from toolroll.tools.session.env import Variable, Variables, env

GIVEN = {
    "PATH": "/usr/bin",
    "HOME": "/home/u",
    "GITHUB_TOKEN": "SECRET",
    "THING": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "PROMPT": "a\x1b[1mb\n",
    "EMPTY": "",
}


def with_environment(given):
    return SimpleNamespace(environment=given, commands=SimpleNamespace(policy=Policy()))


@pytest.fixture
def ctx():
    return with_environment(GIVEN)


def test_one_variable(ctx):
    assert env(ctx, name="HOME") == Variable("HOME", "/home/u")
    assert str(env(ctx, name="HOME")) == "HOME=/home/u"
    assert str(env(ctx, name="EMPTY")) == "EMPTY="


def test_all_but_the_secrets(ctx):
    shown = env(ctx)
    assert shown == Variables({"EMPTY": "", "HOME": "/home/u", "PATH": "/usr/bin", "PROMPT": "a\x1b[1mb\n"}, hidden=2)
    assert str(shown) == "EMPTY=\nHOME=/home/u\nPATH=/usr/bin\nPROMPT='a\\x1b[1mb\\n'"
    assert shown.note == "2 more look like secrets and are not shown."
    assert (str(env(with_environment({}))), Variables({}, 0).note) == ("(none)", "")


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "THING", "AWS_SECRET_ACCESS_KEY"])
def test_a_secret_is_refused_whether_there_is_one_or_not(ctx, name):
    with pytest.raises(ToolError, match="looks like a secret") as caught:
        env(ctx, name=name)
    assert caught.value.code == ErrorCode.SECURITY
    assert GIVEN.get(name, "?") not in caught.value.message


@pytest.mark.parametrize(
    ("name", "message", "near"),
    [
        ("PAHT", "There is no variable 'PAHT'. Did you mean 'PATH'?", ["PATH"]),
        ("home", "There is no variable 'home'. Did you mean 'HOME'?", ["HOME"]),
        ("ZZZ", "There is no variable 'ZZZ'. It is not set.", []),
        ("", "There is no variable ''. It is not set.", []),
        ("THIN", "There is no variable 'THIN'. It is not set.", []),
    ],
)
def test_a_name_that_is_missing(ctx, name, message, near):
    with pytest.raises(ToolError) as caught:
        env(ctx, name=name)
    assert (caught.value.code, caught.value.message) == (ErrorCode.NOT_FOUND, message)
    assert [one.arguments for one in caught.value.suggest] == [{"name": one} for one in near]


def test_through_a_kit(open_kit, monkeypatch):
    monkeypatch.setenv("TOOLROLL_TEST_VARIABLE", "shown")
    monkeypatch.setenv("TOOLROLL_TEST_TOKEN", "SECRET")
    kit = open_kit()
    assert kit.call("env", {"name": "TOOLROLL_TEST_VARIABLE"}).data == {
        "name": "TOOLROLL_TEST_VARIABLE",
        "value": "shown",
    }
    everything = kit.call("env", {})
    assert everything.data["variables"]["TOOLROLL_TEST_VARIABLE"] == "shown"
    assert "SECRET" not in f"{everything.text}{everything.data}"
    assert kit.call("env", {"name": "TOOLROLL_TEST_TOKEN"}).error.code == "SecurityError"


def test_the_operator_decides_what_is_shown(open_kit, monkeypatch):
    monkeypatch.setenv("APP_MODE", "test")
    monkeypatch.setenv("OTHER", "x")
    monkeypatch.setenv("APP_TOKEN", "abc")
    kit = open_kit(environment={"only": ["APP_*"], "set": {"CI": "1"}, "pass": ["APP_TOKEN"]})
    assert kit.call("env").data["variables"] == {"APP_MODE": "test", "CI": "1"}
