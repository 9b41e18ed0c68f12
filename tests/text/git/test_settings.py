"""Settings under which git runs no program but itself."""

import re

import pytest

from toolroll.result import ToolError
from toolroll.text.git.settings import (
    SENTINEL,
    harmless_settings,
    knows_lazy_fetch,
    quiet_settings,
    setting_variables,
)


@pytest.mark.parametrize(
    ("listed", "value"),
    [
        ("filter.x.clean", ""),
        ("filter.x.smudge", ""),
        ("filter.a.b=c d.process", ""),
        ("filter.\n.clean", ""),
        ("filter..clean", ""),
        ("merge..driver", "false"),
        ("diff.x.textconv", ""),
        ("diff.x.command", ""),
        ("merge.x.driver", "false"),
        ("credential.https://h.helper", ""),
        ("gpg.other.program", "false"),
        ("remote.origin.vcs", "false"),
        ("protocol.ext.allow", "never"),
        ("trailer.x.command", "false"),
        ("hook.x.command", "false"),
        ("difftool.x.cmd", "false"),
        ("mergetool.x.path", "false"),
        ("submodule.x.update", "none"),
        ("pager.log", "false"),
    ],
)
def test_what_names_a_program_is_overridden(listed, value):
    assert harmless_settings([listed])[listed] == value


@pytest.mark.parametrize(
    "listed", ["user.name", "core.autocrlf", "branch.main.remote", "diff.x.xfuncname", "remote.o.url"]
)
def test_all_else_stays_as_the_repository_has_it(listed):
    assert listed not in harmless_settings([listed])


def test_a_filter_is_an_error_only_when_files_are_stored():
    names = ["filter.x.clean", "filter.y.process"]
    required = {f"filter.{name}.required" for name in ("x", "y", "lfs")}
    for strict, value in ((True, "true"), (False, "false")):
        settings = harmless_settings(names, strict=strict)
        assert {name: settings[name] for name in required} == dict.fromkeys(required, value)


def test_a_hook_of_the_settings_is_switched_off():
    assert harmless_settings(["hook.a.b.event"])["hook.a.b.enabled"] == "false"


def test_a_name_that_was_not_utf_8_is_refused():
    with pytest.raises(ToolError, match="git is not run there"):
        harmless_settings(["filter.\ufffd.clean"])
    assert harmless_settings(["branch.\ufffd.remote"]) == harmless_settings([])


def test_settings_without_end_are_refused():
    with pytest.raises(ToolError, match="git is not run there"):
        harmless_settings(f"filter.x{number}.clean" for number in range(2000))


def test_names_and_values_are_passed_apart():
    made = setting_variables({"filter.a=b.clean": "", SENTINEL: "true"})
    assert made == {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "filter.a=b.clean", "GIT_CONFIG_VALUE_0": "",
        "GIT_CONFIG_KEY_1": SENTINEL, "GIT_CONFIG_VALUE_1": "true",
    }  # fmt: skip


def test_every_name_is_one_that_git_takes():
    assert all(
        re.fullmatch(r"[a-zA-Z0-9]+(\..+)?\.[a-zA-Z]+", name)
        for name in harmless_settings(["filter.x.clean", "hook.y.event"])
    )


def test_drivers_are_replaced_for_commands_of_others():
    found = quiet_settings(["diff.x.textconv", "diff.y.command", "diff.external"])
    assert (found["diff.x.textconv"], found["diff.y.command"]) == ("cat", found["diff.external"])
    assert "diff -u" in found["diff.external"]
    assert "diff.external" not in quiet_settings([])


@pytest.mark.parametrize(
    ("version", "knows"),
    [
        ("git version 2.39.3 (Apple Git-146)", False),
        ("git version 2.39.5", True),
        ("git version 2.42.1.windows.1", False),
        ("git version 2.44.1", True),
        ("git version 2.45.0-rc0", True),
        ("git version 2.31", False),
        ("git version 3.0", True),
        ("x", False),
    ],
)
def test_which_git_fetches_no_missing_objects(version, knows):
    assert knows_lazy_fetch(version) == knows
