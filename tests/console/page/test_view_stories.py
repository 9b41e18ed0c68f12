"""Stories of the other views: calls, time line, forks, jobs, session, usage, doctor, and lost connections."""

from __future__ import annotations

import base64

import pytest

from tests.console.page.browser import Page
from tests.console.page.conftest import OpenPage
from tests.console.page.scene import Scene, Served
from tests.mcp.pipes import until

pytestmark = pytest.mark.slow

ROW = "[role=option]"
OPTIONS = "[...document.querySelectorAll('#process option')].map(one => one.textContent)"
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


@pytest.fixture
def page(open_page: OpenPage, shop: Served) -> Page:
    page = open_page()
    page.wait(f"{OPTIONS}.some(one => one.startsWith('shop'))")
    page.choose("Process", next(one for one in page.js(OPTIONS) if one.startswith("shop")))
    return page


def test_an_error(page: Page, shop: Served) -> None:
    shop.call("read", path="missing.py")
    page.click_on(ROW, "missing.py")
    page.sees("error", ".pane .badge.error")
    page.sees("missing.py", ".pane .text")


def test_an_image(page: Page, shop: Served) -> None:
    (shop.ws / "dot.png").write_bytes(PICTURE)
    shop.call("read", path="dot.png")
    page.click_on(ROW, "dot.png")
    page.sees("1 image in the result.", ".pane")
    page.wait("document.querySelector('.pane img.picture')?.naturalWidth === 1")


def test_a_long_result_is_whole(page: Page, shop: Served) -> None:
    (shop.ws / "long.txt").write_text("".join(f"line {number}\n" for number in range(1500)))
    shop.call("read", path="long.txt")
    page.click_on(ROW, "long.txt")
    page.sees("line 1499", ".pane .text")


def test_a_running_call(page: Page, shop: Served) -> None:
    call = shop.start("bash", command="while [ ! -e go ]; do sleep 0.05; done; echo went")
    page.click_on(f"{ROW}.running", "go")
    page.sees("The call runs.", ".pane")
    (shop.ws / "go").touch()
    page.sees("went", ".pane .text")
    call.result(10)


def test_filter_by_status(page: Page, shop: Served) -> None:
    shop.call("read", path="missing-too.py")
    shop.call("ls")
    page.sees("ls", ROW)
    page.choose("Status", "error")
    page.loses(f"{ROW}.success")
    page.sees("missing-too.py", ROW)


def test_filter_by_client(open_page: OpenPage, scene: Scene, shop: Served) -> None:
    other = scene.serve("blog", client="codex")
    other.call("ls")
    shop.call("ls")
    page = open_page()
    page.wait("[...document.querySelectorAll('.filters option')].some(one => one.textContent.startsWith('codex'))")
    page.choose(
        "Client · session",
        next(
            one
            for one in page.js("[...document.querySelectorAll('.filters option')].map(one => one.textContent)")
            if one.startswith("codex")
        ),
    )
    page.sees("of", ".total")
    page.loses(ROW, "claude-code")
    page.sees("ls", ROW)


def test_choose_a_process(open_page: OpenPage, scene: Scene, shop: Served) -> None:
    scene.serve("docs", client="opencode").call("find", pattern="*.rst")
    shop.call("ls")
    page = open_page()
    page.sees("*.rst", ROW)
    page.choose("Process", next(one for one in page.js(OPTIONS) if one.startswith("docs")))
    page.loses(ROW, "ls")
    page.sees("*.rst", ROW)


def test_checkpoint_and_rewind_with_preview(page: Page, shop: Served) -> None:
    shop.call("write", path="notes.txt", content="one\n")
    page.go("Time line")
    page.sees("notes.txt", ".entry")
    page.fill("New checkpoint", "before the change")
    page.click("button", "Set")
    page.sees("checkpoint before the change", ".entry")
    shop.call("write", path="notes.txt", content="two\n")
    shop.call("write", path="more.txt", content="more\n")
    page.sees("more.txt", ".entry")
    page.click_on(".entry", "checkpoint before the change")
    page.click("button", "Rewind to here…")
    page.sees("2 files would become as after", "dialog")
    page.sees("-two", "dialog .removed")
    page.click("button", "Cancel")
    assert (shop.ws / "notes.txt").read_text() == "two\n"
    page.click("button", "Rewind to here…")
    page.click("button", "Rewind")
    assert until(lambda: (shop.ws / "notes.txt").read_text() == "one\n", 10)
    assert not (shop.ws / "more.txt").exists()


def test_blame(page: Page, shop: Served) -> None:
    shop.call("write", path="poem.txt", content="first\nsecond\n")
    shop.call("edit", path="poem.txt", old="second", new="2nd")
    page.go("Time line")
    page.fill("Blame of a file", "poem.txt")
    page.click("button", "Show")
    page.sees("2nd", ".blame tr:nth-child(2)")
    page.click_on(".blame tr:nth-child(2) button")
    page.sees("+2nd", ".pane .added")


def test_forks_side_by_side(page: Page, scene: Scene) -> None:
    forking = scene.serve("forking", "--sandbox", "required", client="forking", files={"a.txt": "one\n"})
    first = forking.call("bash", command="echo two > a.txt", hold=True)
    forking.call("bash", command="echo three > a.txt; exit 3", hold=True)
    page.wait(f"{OPTIONS}.some(one => one.startsWith('forking'))")
    page.choose("Process", next(one for one in page.js(OPTIONS) if one.startswith("forking")))
    page.go("Forks")
    page.sees("+two", ".fork .added")
    page.sees("check passed", ".fork .badge.success")
    page.sees("check failed (3)", ".fork .badge.error")
    assert page.count(".fork") == 2, first


def test_job_output(page: Page, shop: Served) -> None:
    shop.call("bash", command="echo started; while [ ! -e end ]; do sleep 0.05; done; echo done", background=True)
    page.go("Jobs")
    page.click_on(".entry", "echo started")
    page.sees("started", ".output")
    (shop.ws / "end").touch()
    page.sees("done", ".output")
    page.sees("The job has ended.", ".said")


def test_job_keys(page: Page, shop: Served) -> None:
    shop.call("bash", command="read -p 'Name? ' name; echo hello $name", tty=True)
    page.go("Jobs")
    page.click_on(".entry", "read -p")
    page.sees("Name?", ".output")
    page.fill("Type a line", "Ada")
    page.click("button", "Send")
    page.sees("hello Ada", ".output")


def test_stop_a_job(page: Page, shop: Served) -> None:
    shop.call("bash", command="sleep 300", background=True)
    page.go("Jobs")
    page.click_on(".entry", "sleep 300")
    page.click("button", "Stop…")
    page.click("button", "Stop")
    page.sees("Stopped.", ".said")
    assert "running" not in shop.call("job", action="list").split("sleep 300")[-1]


def test_todos(page: Page, shop: Served) -> None:
    shop.call(
        "todo_write",
        todos=[
            {"content": "Add discounts", "status": "in_progress"},
            {"content": "Read the code", "status": "completed"},
        ],
    )
    page.go("Session")
    page.sees("now Add discounts", ".todos li")
    page.sees("done Read the code", ".todos li.done")


def test_notes_and_memory(page: Page, shop: Served) -> None:
    shop.call("note", action="create", title="Rounding", content="Totals are rounded down.", type="conclusion")
    shop.call("memory", action="add", content="The shop sells books.")
    page.go("Session")
    page.sees("Totals are rounded down.", ".notes")
    page.sees("The shop sells books.", ".notes")
    page.fill("Search memory", "books")
    page.press("Enter")
    page.sees("The shop sells books.", ".notes")


def test_library(page: Page, shop: Served) -> None:
    shop.call("rag", action="add_document", path="prices.md")
    page.go("Session")
    page.fill("Search the library", "prices cents")
    page.press("Enter")
    page.sees("All prices are integers, in cents.", ".notes")


def test_usage(page: Page, shop: Served) -> None:
    shop.call("ls")
    page.go("Usage")
    page.sees("ls", "tbody th")
    assert page.count(".chart rect.tokens") > 0
    assert page.js("document.querySelector('.chart').getAttribute('aria-label')").startswith("Tokens by tool: ")


def test_doctor_and_configuration(page: Page) -> None:
    page.go("Doctor")
    page.sees("ok", "td .badge.success")
    page.sees("sandbox", "pre.text")


def test_a_server_goes_and_another_comes(open_page: OpenPage, scene: Scene) -> None:
    first = scene.serve("brief", client="brief")
    page = open_page()
    page.wait(f"{OPTIONS}.some(one => one.includes('{first.pipes.process.pid}'))")
    first.kill()
    page.wait(f"!{OPTIONS}.some(one => one.includes('{first.pipes.process.pid}'))")
    second = scene.serve("brief", client="brief")
    page.wait(f"{OPTIONS}.some(one => one.includes('{second.pipes.process.pid}'))")
    second.call("find", pattern="back-again")
    page.sees("back-again", ROW)


def test_the_connection_is_lost_and_comes_back(page: Page, shop: Served) -> None:
    page.act("offline", True)
    page.go("Usage")
    page.sees("The console does not answer.", "#banner")
    shop.call("find", pattern="while-away")
    page.act("offline", False)
    page.sees("Connected", "#state")
    page.loses("#banner p")
    page.sees("All tools", "main")
    page.go("Live")
    page.sees("while-away", ROW)  # what happened meanwhile is loaded


def test_reload_keeps_the_token(page: Page) -> None:
    page.act("reload")
    page.sees("Connected", "#state")


def test_the_console_starts_again(open_page: OpenPage, scene: Scene) -> None:
    page = open_page()
    page.sees("Connected", "#state")
    scene.console.terminate()
    scene.console.wait(10)
    page.sees("run “toolroll console”", "#banner")
    scene.console = scene.start_console()
    again = open_page()
    again.sees("Connected", "#state")
