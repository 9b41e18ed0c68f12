"""The services of a workspace: opened, used and closed together."""

import pytest

from tests.waiting import closed_again, descriptors
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


def test_all_are_closed_together_and_more_than_once(opened, put):
    put({"a.txt": "one\n"})
    before = descriptors()
    services = opened()
    services.files.read("a.txt")
    services.spill.keep("x")
    assert descriptors() - before
    services.close()
    services.close()
    assert closed_again(before)


def test_none_stays_open_when_one_does_not_open(opened):
    before = descriptors()
    with pytest.raises(ValueError, match="x"):
        opened(mcp=BAD)
    assert closed_again(before)
