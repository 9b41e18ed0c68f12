from __future__ import annotations

import time

import pytest

from tests.host.network.conftest import World
from tests.policy.test_urls import ALLOWED, DENIED, resolve
from toolroll.host.approval.guard import Guard
from toolroll.host.approval.request import ApprovalRequest
from toolroll.host.network.gate import HostGate, UnreachedError
from toolroll.policy.rules import Policy

ONE, OTHER = "https://one.example.com/", "https://other.example.com/"


def reached(gate: HostGate, url: str) -> str:
    """Empty for a host that is reached, else why not."""
    try:
        gate.connect(url).close()
    except UnreachedError as error:
        return str(error)
    return ""


def is_agreed(gate: HostGate, since: float, command: int = 1) -> bool:
    with gate.agreed_since(since, command) as agreed:
        return agreed


def test_named_hosts_are_reached_at_the_address_that_was_judged(world: World) -> None:
    gate = world.gate("one.example.com")
    assert reached(gate, ONE) == ""
    assert (world.internet.looked_up, world.internet.went_to) == (["one.example.com"], [("93.184.215.1", 443)])


def test_another_host_is_refused_with_the_setting_that_allows_it_and_not_looked_up(world: World) -> None:
    gate, began = world.gate("one.example.com"), time.time()
    how = 'To allow it, the user sets network = "one.example.com,other.example.com" in toolroll.toml, or gives it as --network.'
    assert reached(gate, OTHER) == f"other.example.com is not among the hosts that commands may reach. {how}"
    assert reached(gate, "https://one.example.com:8443/").startswith("one.example.com:8443 is not among")
    assert world.internet.looked_up == []
    assert gate.lines(began) == [
        "Commands may not reach other.example.com, one.example.com:8443. To allow it, the user sets "
        'network = "one.example.com,other.example.com,one.example.com:8443" in toolroll.toml, or gives it as --network.'
    ]
    assert gate.lines(time.time()) == []


def test_a_new_host_is_asked_about_once_for_each_command(world: World) -> None:
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    gate, began = world.gate("one.example.com", approve), time.time()
    assert not is_agreed(gate, began)
    assert [reached(gate, OTHER) for _ in range(3)] == [""] * 3
    assert (is_agreed(gate, began), is_agreed(gate, time.time())) == (True, False)
    assert [one.title for one in asked] == ["network: a command wants to reach other.example.com"]
    assert asked[0].text.endswith('"session" and "always" cover connections of commands to other.example.com.')
    gate.begin(0)  # another command
    assert (reached(gate, OTHER), len(asked)) == ("", 2)
    with pytest.raises(UnreachedError):
        world.gate("one.example.com").connect(OTHER, lambda: 1)


def test_an_answer_holds_for_the_command_that_asked(world: World) -> None:
    asked: list[ApprovalRequest] = []
    gate = world.gate("one.example.com", lambda request: (asked.append(request), "once")[1])
    for command in (1, 2, 1, 2):
        gate.connect(OTHER, lambda command=command: command).close()
    assert len(asked) == 2
    with gate.agreed_since(0.0, 1):
        gate.begin(3)  # the same act once more
        gate.begin(4)
    assert is_agreed(gate, 0.0, 2)  # what would be the same act once more does not start
    gate.begin(5)
    for command in (3, 4, 1, 5):
        gate.connect(OTHER, lambda command=command: command).close()
    assert len(asked) == 5


@pytest.mark.parametrize(("answer", "questions"), [("session", 1), ("once", 2), (False, 2)])
def test_how_long_an_answer_holds(world: World, answer: str | bool, questions: int) -> None:
    asked = []
    gate = world.gate("one.example.com", lambda request: (asked.append(request), answer)[1])
    first = reached(gate, OTHER)
    gate.begin(0)
    assert (reached(gate, OTHER) == first, first == "", len(asked)) == (True, answer is not False, questions)


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1/", "https://metadata/", "http://169.254.169.254/", "https://a.b:22/"]
)
def test_what_is_private_is_refused_without_a_question(world: World, url: str) -> None:
    asked: list[ApprovalRequest] = []
    assert " is not reached, because " in reached(world.gate("one.example.com", asked.append), url)
    assert (asked, world.internet.looked_up) == ([], [])


def test_a_public_name_that_leads_to_a_private_address_is_refused(world: World) -> None:
    gate = world.gate("rebound.example.com")
    why = "'rebound.example.com' is not at a public address"
    assert reached(gate, "https://rebound.example.com/") == f"'rebound.example.com' is not reached, because {why}."
    assert gate.lines(0.0) == [f"'rebound.example.com' was not reached, because {why}."]
    opened = world.gate("rebound.example.com", hosts=("rebound.example.com",))
    with pytest.raises(KeyError, match=r"10\.0\.0\.1"):  # the way there, which this internet has not
        reached(opened, "https://rebound.example.com/")


def test_an_address_that_is_named_is_reached(world: World) -> None:
    gate = HostGate((world.one.host,), Guard(Policy(), "code"))
    assert reached(gate, world.one.url()) == ""
    world.one.closing.set()
    gone = HostGate(("127.0.0.1:1",), Guard(Policy(), "code"))
    assert reached(gone, "https://127.0.0.1:1/") == "127.0.0.1:1 does not answer: Connection refused."


def test_the_rules_are_those_of_fetch(world: World) -> None:
    """With everything agreed to: what may not be fetched is not reached, and what may be is."""
    went = []

    def route(address: str, port: int) -> tuple[str, int]:
        went.append((address, port))
        return "127.0.0.1", world.one.port

    gate = HostGate((), Guard(Policy(), "code", lambda _: True), resolve=resolve, route=route)
    assert [url for url, *_ in DENIED if not reached(gate, url)] == []
    assert went == []
    assert [url for url, *_ in ALLOWED if reached(gate, url)] == []
