"""The services of a workspace: opened, used and closed together."""

import pytest

from tests.launchers import descriptors
from toolroll.dialect import Profile
from toolroll.host.approval.guard import Guard
from toolroll.host.settings import Settings
from toolroll.policy.limits import Limits
from toolroll.policy.rules import Policy
from toolroll.services import Services

BAD = {"mcpServers": {"x": 5}}


@pytest.fixture
def opened(ws, tmp_path):
    """Opens the services of the workspace."""

    def make(**options):
        guard = Guard(Policy(), "code")
        return Services(ws, tmp_path / "state", "s1", Profile(), Limits(), guard, Settings(**options))

    return make


def open_files():
    return descriptors()


def test_what_a_call_gets_is_the_same_for_every_call_but_what_is_its_own(opened):
    services = opened()
    one, other = services.context(message="m1"), services.context(message="m2")
    fixed = ("files", "search", "journal", "commands", "servers", "structure", "repo_maps", "http", "remote")
    assert all(getattr(one, name) is getattr(other, name) for name in (*fixed, "meaning", "limits"))
    assert one.token is not other.token
    assert [(ctx.session, ctx.message, ctx.cwd) for ctx in (one, other)] == [("s1", "m1", "."), ("s1", "m2", ".")]
    services.close()


def test_a_call_may_begin_in_another_folder(opened, put):
    put({"sub/a.txt": "inner\n", "a.txt": "outer\n"})
    services = opened()
    inner = services.context(cwd="sub")
    assert inner.files.read("a.txt").text == "inner\n"
    assert [item.path for item in inner.tree.folder(".", 1, inner.token)[1]] == ["sub/a.txt"]
    assert services.context().files.read("a.txt").text == "outer\n"
    services.close()


def test_all_are_closed_together_and_more_than_once(opened, put):
    put({"a.txt": "one\n"})
    before = open_files()
    services = opened()
    services.context().files.read("a.txt")
    services.spill.keep("x")
    assert open_files() != before
    services.close()
    services.close()
    assert open_files() == before


def test_none_stays_open_when_one_does_not_open(opened):
    before = open_files()
    with pytest.raises(ValueError, match="x"):
        opened(mcp=BAD)
    assert open_files() == before
