"""The user's folders follow XDG, or the Library of macOS, and are never relative."""

import os
import pwd
import sys

import pytest

from toolroll.host.runtime import user_folders


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    return monkeypatch


def _all() -> list[str]:
    return [user_folders.config_dir(), user_folders.state_dir(), user_folders.cache_dir()]


def test_they_are_where_the_system_has_them(home: pytest.MonkeyPatch) -> None:
    home.setattr(sys, "platform", "linux")
    assert _all() == [f"/home/me/{one}/toolroll" for one in (".config", ".local/state", ".cache")]
    home.setattr(sys, "platform", "darwin")
    support = "/home/me/Library/Application Support/toolroll"
    assert _all() == [support, support, "/home/me/Library/Caches/toolroll"]


def test_the_variables_of_xdg_name_others_if_they_are_absolute(home: pytest.MonkeyPatch) -> None:
    home.setattr(sys, "platform", "linux")
    home.setenv("XDG_CONFIG_HOME", "/etc/mine")
    home.setenv("XDG_STATE_HOME", "here")
    assert _all()[:2] == ["/etc/mine/toolroll", "/home/me/.local/state/toolroll"]


def test_a_home_that_is_not_absolute_is_not_used(home: pytest.MonkeyPatch) -> None:
    home.setenv("HOME", "here")
    own = pwd.getpwuid(os.getuid()).pw_dir
    assert all(one.startswith(own) for one in _all())
