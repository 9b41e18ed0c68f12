"""Stories of several agents: an act goes to what it was shown for, and nothing acts that has just moved."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.console.page.browser import Page
from tests.console.page.conftest import OpenPage
from tests.console.page.scene import Scene, Served
from tests.mcp.pipes import until

pytestmark = pytest.mark.slow

WHERE = "document.querySelector('.approval:last-child .primary').getBoundingClientRect().y"


@pytest.fixture
def three(scene: Scene) -> Iterator[list[Served]]:
    """Servers of three repositories, the oldest first; each has written a file twice and runs a job."""
    made = [scene.serve(name, client=f"agent-{name}") for name in ("one", "two", "three")]
    for served in made:
        for text in ("first\n", "second\n"):
            served.call("write", path="same.txt", content=text)
        served.call("bash", command="sleep 300", background=True)
    yield made
    for served in made:
        served.kill()


@pytest.fixture
def guarded(scene: Scene) -> Iterator[Served]:
    served = scene.serve("guarded", "--ask", "--sandbox", "none", client="codex")
    yield served
    served.kill()


def texts(served: list[Served]) -> list[str]:
    return [(one.ws / "same.txt").read_text() for one in served]


def test_an_act_goes_to_the_repository_that_was_shown(page: Page, three: list[Served], scene: Scene) -> None:
    page.go("Time line")
    page.click_on(".entry", "one  same.txt")  # of the oldest server, the newest entry
    page.sees("-first", ".pane .removed")
    page.click("button", "Undo…")
    page.sees("in one?", "dialog h2")
    late = scene.serve("late", client="late")  # another becomes the newest meanwhile
    late.call("write", path="same.txt", content="late\n")
    page.click("button", "Undo")
    page.sees("Undone", ".said")
    assert texts([*three, late]) == ["first\n", "second\n", "second\n", "late\n"]
    page.click_on(".entry", "two  same.txt")
    page.click("button", "Rewind to here…")
    page.sees("Rewind two to", "dialog h2")
    three[1].call("write", path="other.txt", content="")  # the preview is no longer what a rewind would do
    page.click("button", "Rewind")
    page.sees("Not done: The state of the files is not what was shown.", ".said")
    assert texts(three) == ["first\n", "second\n", "second\n"]
    page.go("Jobs")
    page.click_on(".entry", "two  sleep 300")
    page.click("button", "Stop…")
    page.click("button", "Stop")
    page.sees("Stopped.", ".pane .said")
    states = ["running" in one.call("job", action="list") for one in three]
    assert states == [True, False, True]
    late.kill()


def test_an_act_on_a_server_that_ended_says_so(page: Page, three: list[Served], scene: Scene) -> None:
    page.go("Time line")
    page.click_on(".entry", "three  same.txt")
    page.sees("-first", ".pane .removed")
    three[2].kill()
    again = scene.serve("three", client="again")  # the same repository, another process
    page.click("button", "Undo…")
    page.click("button", "Undo")
    page.sees("Not done: This process has ended.", ".said")
    assert texts(three)[2] == "second\n"
    again.kill()


def test_a_second_click_answers_nothing(page: Page, guarded: Served) -> None:
    page.go("Approvals")
    first = guarded.start("bash", command="touch first.txt")
    page.sees("touch first.txt", ".question")
    second = guarded.start("bash", command="touch second.txt")
    page.sees("touch second.txt", ".approval:last-child .question")
    page.wait("!document.querySelector('.approval .primary[aria-disabled]')")
    before = page.js(WHERE)
    page.act("dblclick", find=(["locator", ".approval .primary"], ["first"]))
    page.sees("Applied", ".approval:first-child .outcome")
    first.result(10)
    assert abs(page.js(WHERE) - before) < 0.5  # the answered card keeps its place and height
    time.sleep(0.6)
    assert not second.done()
    page.scroll_to(".approval:last-child .end")
    page.click("button", "Approve once", ".approval:last-child")
    second.result(10)


def test_a_button_that_moved_takes_no_click(page: Page, guarded: Served) -> None:
    page.go("Approvals")
    call = guarded.start("bash", command="touch moved.txt")
    page.sees("touch moved.txt", ".question")
    page.wait("!document.querySelector('.approval .primary[aria-disabled]')")
    press = "document.querySelector('.approval .primary').click()"
    page.js(f"document.querySelector('#banner').append('Something comes above.'); {press}")
    page.wait("document.querySelector('#announce').textContent.startsWith('Not taken')")
    time.sleep(0.6)
    assert not call.done()
    page.js(f"document.querySelector('#banner').replaceChildren(); {press}")
    assert not call.done()
    page.click("button", "Approve once")
    call.result(10)
    assert until((guarded.ws / "moved.txt").exists, 10)


def test_typed_text_survives_another_server(open_page: OpenPage, scene: Scene, three: list[Served]) -> None:
    page = open_page()
    page.go("Time line")
    page.fill("New checkpoint", "half a na")
    scene.serve("other", client="other").call("write", path="new.txt", content="")
    page.sees("other  new.txt", ".entry")
    assert page.js("document.querySelector('.inline input').value") == "half a na"
    page.choose("Repository", "two")
    page.fill("New checkpoint", "here")
    page.click("button", "Set")
    page.sees("checkpoint here", ".entry")
    assert "checkpoint" in scene.run("journal", cwd=three[1].ws)
