"""The environment of a command."""

import subprocess

import pytest

from toolroll.policy.environment import SETTINGS, child, visible
from toolroll.policy.rules import Environment

GIVEN = {
    "PATH": "/opt/bin::.:bin:/usr/bin:../x", "HOME": "/home/u", "USER": "u", "SHELL": "/bin/zsh", "LANG": "de_DE.UTF-8", "LC_TIME": "C",
    "TERM": "xterm-256color", "JAVA_HOME": "/usr/lib/jvm/x", "VIRTUAL_ENV": "/v", "XDG_CONFIG_HOME": "/home/u/.config", "PAGER": "less",
    "GITHUB_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "HTTPS_PROXY": "http://u:p@proxy", "NO_PROXY": "localhost", "FOO": "1", "EDITOR": "vi",
    "LD_PRELOAD": "/x.so", "SSH_AUTH_SOCK": "/s", "BASH_ENV": "/x", "PYTHONPATH": "/x", "CI": "true", "TMPDIR": "/tmp", "LC_SECRET_KEY": "x",
    "CARGO_HOME": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
}  # fmt: skip


def test_everything_passes_but_secrets_and_our_own():
    withheld = (
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "HTTPS_PROXY",
        "SSH_AUTH_SOCK",
        "LC_SECRET_KEY",
        "CARGO_HOME",
        "TOOLROLL_MODE",
    )
    assert child(GIVEN | {"TOOLROLL_MODE": "code", "PWD": "/old", "FORCE_COLOR": "1"}, temp="/t") == {
        **{name: value for name, value in GIVEN.items() if name not in withheld},
        "PATH": "/opt/bin:/usr/bin", "TMPDIR": "/t", "TMP": "/t", "TEMP": "/t",
        **SETTINGS,
    }  # fmt: skip


def test_what_sets_up_the_agent_s_model_is_passed_where_it_is_named():
    given = {"OPENAI_BASE_URL": "http://127.0.0.1:8080", "OPENAIR": "1"}
    chosen = [Environment(), Environment(pass_=("OPENAI_*",)), Environment(only=("OPENAI_*",))]
    found = [sorted(child(given, temp="/t", chosen=one).keys() & given.keys()) for one in chosen]
    assert found == [["OPENAIR"], ["OPENAIR", "OPENAI_BASE_URL"], ["OPENAI_BASE_URL"]]


def test_the_operator_passes_sets_and_leaves_out():
    chosen = Environment(pass_=("GITHUB_*",), set={"PAGER": "more", "NEW": "1"}, only=("LC_*", "FOO", "AWS_*"))
    made = child(GIVEN, temp="/t", chosen=chosen)
    assert made == {
        "LANG": "C.UTF-8", "LC_TIME": "C", "FOO": "1", "GITHUB_TOKEN": "x", "NEW": "1", "HOME": "/home/u",
        "PATH": "/opt/bin:/usr/bin", "TMPDIR": "/t", "TMP": "/t", "TEMP": "/t",
        **SETTINGS, "PAGER": "more",
    }  # fmt: skip


def test_what_a_model_may_be_shown():
    given = {"B": "2", "A": "1", "GITHUB_TOKEN": "x", "PAGER": "less"}
    chosen = [Environment(), Environment(only=("B", "GITHUB_*")), Environment(set={"A": "3", "API_KEY": "x"})]
    assert [visible(given, one) for one in chosen] == [
        {"A": "1", "B": "2", "PAGER": "less"},
        {"B": "2"},
        {"A": "3", "B": "2", "PAGER": "less"},
    ]
    assert list(visible(given, Environment())) == ["A", "B", "PAGER"]


@pytest.mark.parametrize("path", ["", ":", ".", "bin:../x", "~/bin"])
def test_there_is_always_a_path_of_absolute_folders(path):
    assert child({"PATH": path}, temp="/t")["PATH"] == "/usr/local/bin:/usr/bin:/bin"


def test_nothing_given():
    made = child({}, temp="/t")
    assert (made["HOME"], made["LANG"], made["TERM"], made["TMPDIR"]) == ("/t", "C.UTF-8", "dumb", "/t")


def test_what_the_caller_adds_comes_last():
    made = child(GIVEN, temp="/t", extra={"FOO": "2", "PAGER": "more"})
    assert (made["FOO"], made["PAGER"]) == ("2", "more")


def test_programs_do_not_wait_for_a_person(tmp_path):
    """Git asks nobody: neither an editor, nor a pager, nor a password."""
    import os

    alone = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    env = child(os.environ, temp=str(tmp_path), extra=alone)

    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        options = {"cwd": tmp_path, "env": env, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        return subprocess.run(["git", *who, *words], **options, timeout=30, check=False)

    assert git("init", "-q").returncode == 0
    assert git("commit", "-q", "--allow-empty", "-m", "one").returncode == 0
    assert git("-p", "log", "--format=%s").stdout == "one\n"
    assert git("commit", "--allow-empty").returncode != 0
    assert git("credential", "fill").returncode != 0


def test_a_value_that_no_process_could_be_given_is_left_out():
    assert "FOO" not in child({"FOO": "a\0b"}, temp="/t")
    assert [
        name for name in ("_", "PWD", "OLDPWD", "SHLVL", "CLICOLOR_FORCE") if name in child({name: "1"}, temp="/t")
    ] == []
