"""The environment of a command."""

import subprocess

import pytest

from toolroll.policy import environment
from toolroll.policy.environment import SETTINGS, child
from toolroll.policy.secrets import is_secret

GIVEN = {
    "PATH": "/opt/bin::.:bin:/usr/bin:../x", "HOME": "/home/u", "USER": "u", "SHELL": "/bin/zsh", "LANG": "de_DE.UTF-8", "LC_TIME": "C",
    "TERM": "xterm-256color", "JAVA_HOME": "/usr/lib/jvm/x", "VIRTUAL_ENV": "/v", "XDG_CONFIG_HOME": "/home/u/.config", "PAGER": "less",
    "GITHUB_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "HTTPS_PROXY": "http://u:p@proxy", "NO_PROXY": "localhost", "FOO": "1", "EDITOR": "vi",
    "LD_PRELOAD": "/x.so", "SSH_AUTH_SOCK": "/s", "BASH_ENV": "/x", "PYTHONPATH": "/x", "CI": "true", "TMPDIR": "/tmp", "LC_SECRET_KEY": "x",
    "CARGO_HOME": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
}  # fmt: skip


def test_only_what_is_listed_passes():
    assert child(GIVEN, temp="/t") == {
        "PATH": "/opt/bin:/usr/bin", "HOME": "/home/u", "USER": "u", "SHELL": "/bin/zsh", "LANG": "de_DE.UTF-8", "LC_TIME": "C",
        "JAVA_HOME": "/usr/lib/jvm/x", "VIRTUAL_ENV": "/v", "XDG_CONFIG_HOME": "/home/u/.config", "NO_PROXY": "localhost",
        "CI": "true", "TMPDIR": "/t", "TMP": "/t", "TEMP": "/t",
        **SETTINGS,
    }  # fmt: skip


def test_another_home_leaves_the_old_one_behind():
    made = child(GIVEN, home="/other", temp="/t")
    assert (made["HOME"], "XDG_CONFIG_HOME" in made) == ("/other", False)


@pytest.mark.parametrize("path", ["", ":", ".", "bin:../x", "~/bin"])
def test_there_is_always_a_path_of_absolute_folders(path):
    assert child({"PATH": path}, temp="/t")["PATH"] == "/usr/local/bin:/usr/bin:/bin"


def test_nothing_given():
    made = child({}, temp="/t")
    assert (made["HOME"], made["LANG"], made["TERM"], made["TMPDIR"]) == ("/t", "C.UTF-8", "dumb", "/t")


def test_what_the_caller_adds_comes_last():
    made = child(GIVEN, temp="/t", extra={"FOO": "2", "PAGER": "more"})
    assert (made["FOO"], made["PAGER"]) == ("2", "more")


def test_no_listed_name_is_a_secret_by_itself():
    assert [name for name in environment._ALLOWED if is_secret(name, "/x")] == []


def test_programs_do_not_wait_for_a_person(tmp_path):
    """Git asks nobody: neither an editor, nor a pager, nor a password."""
    import os

    env = child(os.environ, home=str(tmp_path), temp=str(tmp_path), extra={"GIT_CONFIG_NOSYSTEM": "1"})

    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        options = {"cwd": tmp_path, "env": env, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        return subprocess.run(["git", *who, *words], **options, timeout=30, check=False)

    assert git("init", "-q").returncode == 0
    assert git("commit", "-q", "--allow-empty", "-m", "one").returncode == 0
    assert git("-p", "log", "--format=%s").stdout == "one\n"
    assert git("commit", "--allow-empty").returncode != 0
    assert git("credential", "fill").returncode != 0
