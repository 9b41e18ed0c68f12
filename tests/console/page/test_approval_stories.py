"""Stories of approvals: what is shown, what can be answered, and what becomes of the answer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from tests.console.page.browser import Page
from tests.console.page.scene import Scene, Served

pytestmark = pytest.mark.slow

OUTCOME = ".approval:last-child .outcome"


@pytest.fixture
def guarded(scene: Scene) -> Iterator[Served]:
    """A server that asks, for one story."""
    served = scene.serve("guarded", "--ask", "--sandbox", "none", client="codex")
    yield served
    served.kill()


def asked(page: Page, served: Served, tool: str, /, **arguments: object) -> Future[str]:
    """Begin a call and see its question."""
    page.go("Approvals")
    call = served.start(tool, **arguments)
    page.sees("End of the question", ".approval:last-child")
    return call


def test_for_this_session(page: Page, guarded: Served) -> None:
    call = asked(page, guarded, "bash", command="touch session.txt")
    page.sees("cover", ".question")  # what the answer covers is said
    page.click("button", "For this session")
    page.sees("Applied: approved for this session.", OUTCOME)
    call.result(10)
    guarded.call("bash", command="touch session.txt")  # is not asked again
    assert page.count(".approval") == 1


def test_always(page: Page, scene: Scene, guarded: Served) -> None:
    call = asked(page, guarded, "bash", command="touch always.txt")
    page.click("button", "Always")
    page.sees("Applied: approved always.", OUTCOME)
    call.result(10)
    again = scene.serve("guarded", "--ask", "--sandbox", "none", client="later")
    again.call("bash", command="touch always.txt")  # a new server knows it


def test_edit_and_approve(page: Page, guarded: Served) -> None:
    call = asked(page, guarded, "bash", command="rm -rf build")
    page.click("button", "Edit…")
    page.fill("command", "echo kept > kept.txt")
    page.click("button", "Approve the edited call once")
    page.sees("Applied: the edited call runs in its place", OUTCOME)
    assert "user changed the call" in call.result(10)
    assert (guarded.ws / "kept.txt").read_text() == "kept\n"


def test_an_edited_call_is_judged_again(page: Page, guarded: Served) -> None:
    call = asked(page, guarded, "bash", command="touch judged.txt")
    page.click("button", "Edit…")
    page.fill("command", "rm -rf /")
    page.click("button", "Approve the edited call once")
    page.sees("if the rules let it.", OUTCOME)
    assert "'rm -rf /' is refused" in call.result(10)
    assert not (guarded.ws / "judged.txt").exists()


def test_a_long_command_must_be_scrolled(page: Page, guarded: Served) -> None:
    command = "\n".join(f"touch file-{number}.txt" for number in range(200))
    call = asked(page, guarded, "bash", command=command)
    time.sleep(0.7)  # longer than a short question takes
    assert page.disabled("Approve once")
    page.sees("Scroll to the end to answer.", ".hint")
    page.scroll_to(".end")
    page.click("button", "Approve once")
    page.sees("Applied: approved once.", OUTCOME)
    call.result(10)
    assert (guarded.ws / "file-199.txt").exists()


def test_a_question_off_the_screen_cannot_be_approved(page: Page, guarded: Served) -> None:
    call = guarded.start("bash", command="touch unseen.txt")
    page.sees("1", "#waiting")  # the page knows of it, and shows another view
    time.sleep(0.7)
    page.go("Approvals")
    assert page.disabled("Approve once")
    page.click("button", "Approve once")  # waits until it has been on screen
    page.sees("Applied", OUTCOME)
    call.result(10)


def test_the_parts_of_a_command(page: Page, guarded: Served) -> None:
    call = asked(page, guarded, "bash", command="cd sub && git push --force origin main | tee log.txt")
    page.sees("git push --force origin main", ".parts dt")
    page.click("button", "Refuse…")
    page.click("button", "Refuse")
    call.result(10)


def test_a_diff_of_many_files(page: Page, guarded: Served) -> None:
    files = "".join(f"*** Add File: part{number}.py\n+value = {number}\n" for number in range(30))
    call = asked(page, guarded, "patch", patch=f"*** Begin Patch\n{files}*** End Patch\n")
    page.sees("value = 29", ".question")
    assert page.disabled("Approve once")
    page.scroll_to(".end")
    page.click("button", "Approve once")
    page.sees("Applied", OUTCOME)
    call.result(10)
    assert (guarded.ws / "part29.py").read_text() == "value = 29\n"


def test_answered_in_a_terminal(page: Page, scene: Scene, guarded: Served) -> None:
    call = asked(page, guarded, "bash", command="touch terminal.txt")
    [row] = json.loads(scene.run("approve", "--json", cwd=guarded.ws))
    scene.run("approve", row["id"], "once", cwd=guarded.ws)
    page.sees("Answered elsewhere", OUTCOME)
    call.result(10)


def test_the_server_ends_while_it_waits(page: Page, scene: Scene) -> None:
    served = scene.serve("ending", "--ask", "--sandbox", "none", client="ending")
    page.go("Approvals")
    served.start("bash", command="touch ended.txt")
    page.sees("touch ended.txt", ".question")
    served.kill()
    page.loses(".approval:last-child .buttons")


def test_markup_and_hidden_characters_are_shown_as_text(page: Page, guarded: Served) -> None:
    call = asked(page, guarded, "bash", command="echo '<img src=x onerror=alert(1)>' \u202e #\u200b")
    page.sees("<img src=x onerror=alert(1)>", ".question")
    assert page.count(".question img") == 0
    text = page.read(".question")
    assert "\u202e" not in text
    assert "\u200b" not in text
    page.click("button", "Refuse…")
    page.click("button", "Refuse")
    call.result(10)


def test_an_approval_is_announced(page: Page, guarded: Served) -> None:
    call = guarded.start("bash", command="touch told.txt")
    page.wait("document.querySelector('#announce').textContent.includes('1 approval waiting: bash')")
    page.go("Approvals")
    page.click("button", "Approve once")
    page.wait("document.title === 'toolroll console'")
    call.result(10)


def test_approve_by_keyboard(page: Page, guarded: Served) -> None:
    call = guarded.start("bash", command="touch keys.txt")
    page.sees("1", "#waiting")
    page.press("2")
    page.sees("touch keys.txt", ".question")
    page.wait("!document.querySelector('.approval .primary').disabled")
    for _ in range(30):
        page.press("Tab")
        if page.js("document.activeElement.textContent") == "Approve once":
            break
    page.wait("!document.activeElement.ariaDisabled")  # what the focus has scrolled is still
    page.press("Enter")
    page.sees("Applied: approved once.", OUTCOME)
    call.result(10)
    assert (guarded.ws / "keys.txt").exists()
