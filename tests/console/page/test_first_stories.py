"""The first stories of the console, in a real Chromium; `make stories` runs all of them."""

from __future__ import annotations

import pytest

from tests.console.page.browser import Page
from tests.console.page.conftest import CART, OpenPage
from tests.console.page.scene import Scene, Served

ROW = "[role=option]"
OPTIONS = "[...document.querySelectorAll('#process option')].map(one => one.textContent).join()"


@pytest.mark.usefixtures("shop")
def test_connect(page: Page) -> None:
    page.wait(f"{OPTIONS}.includes('shop · claude-code')")
    assert page.js("location.href").endswith("/#live")  # the token is not in the address


def test_live_call(page: Page, shop: Served) -> None:
    result = shop.call("read", path="cart.py")
    page.click_on(ROW, "cart.py")
    page.sees("ok", ".pane .badge")
    assert page.read(".pane .arguments") == "path\ncart.py"
    assert page.read(".pane .text") == result.strip()
    assert "tokens" in page.read(".pane .facts")
    assert "claude-code" in page.read(".pane .facts")


def test_search(page: Page, shop: Served) -> None:
    shop.call("ls")
    shop.call("bash", command="echo $((42 * 1000001))")
    page.sees("1000001", ROW)
    page.fill("Search", "42000042")  # only the result has it
    page.sees("1 of", ".total")
    page.loses(ROW, "ls")
    page.sees("1000001", ROW)


def test_approve_once(page: Page, guarded: Served) -> None:
    call = guarded.start("write", path="new.txt", content="hello\n")
    page.sees("1", "#waiting")
    page.go("Approvals")
    page.sees("hello", ".question")
    assert page.js("document.title") == "(1) toolroll console"
    assert not (guarded.ws / "new.txt").exists()
    page.click("button", "Approve once")
    page.sees("Applied: approved once.", ".outcome")
    assert "new.txt" in call.result(10)
    assert (guarded.ws / "new.txt").read_text() == "hello\n"


def test_refuse_with_a_reason(page: Page, guarded: Served) -> None:
    page.go("Approvals")
    call = guarded.start("write", path="other.txt", content="x\n")
    page.click("button", "Refuse…")
    page.fill("Reason (optional)", "Use the settings file instead.")
    page.click("button", "Refuse")
    page.sees("Applied: refused.", ".outcome")
    assert "Use the settings file instead." in call.result(10)
    assert not (guarded.ws / "other.txt").exists()


def test_two_pages_at_once(page: Page, open_page: OpenPage, guarded: Served) -> None:
    other = open_page()
    page.go("Approvals")
    other.go("Approvals")
    call = guarded.start("write", path="two.txt", content="x\n")
    other.sees("two.txt", ".question")
    page.click("button", "Approve once")
    page.sees("Applied: approved once.", ".outcome")
    other.sees("Answered elsewhere", ".outcome")
    assert other.count(".buttons") == 0
    call.result(10)


def test_undo(page: Page, shop: Served) -> None:
    shop.call("edit", path="cart.py", old="19 // 100", new="7 // 100")
    page.choose("Process", next(one for one in page.js(OPTIONS).split(",") if one.startswith("shop")))
    page.go("Time line")
    page.click_on(".entry", "cart.py")
    page.sees("-    return amount * 19 // 100", ".pane .removed")
    page.click("button", "Undo…")
    page.sees("+    return amount * 7 // 100", "dialog .added")
    page.click("button", "Undo")
    page.sees("undone", ".entry .badge")
    assert (shop.ws / "cart.py").read_text() == CART


def test_wrong_token(open_page: OpenPage, scene: Scene) -> None:
    page = open_page(f"{scene.url}#token=not-the-right-token")
    page.sees("toolroll console", "main pre")
    page.sees("No access", "#state")
    page.fill("Or paste the link or its token", scene.link)
    page.click("button", "Open")
    page.sees("Connected", "#state")
