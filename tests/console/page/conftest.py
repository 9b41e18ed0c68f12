"""The browser, and a scene for each module of stories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.console.page.browser import Browser, Page, start_browser
from tests.console.page.scene import Scene, Served, set_up

OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with start_browser() as started:
        yield started


@pytest.fixture(scope="module")
def scene(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with set_up(tmp_path_factory.mktemp("console")) as made:
        yield made


@pytest.fixture
def open_page(browser: Browser, scene: Scene) -> Iterator[OpenPage]:
    """Open the console in a page; options are those of a context of Playwright."""
    opened: list[Page] = []

    def open_one(link: str = "", **options: Any) -> Page:
        opened.append(browser.open(link or scene.link, **{"viewport": {"width": 1280, "height": 800}, **options}))
        return opened[-1]

    yield open_one
    for page in opened:
        page.close()


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """The console in a page, connected."""
    page = open_page()
    page.sees("Connected", "#state")
    return page


@pytest.fixture(scope="module")
def shop(scene: Scene) -> Served:
    """A server of this module that runs what it is asked."""
    return scene.serve("shop", files={"cart.py": CART, "prices.md": "All prices are integers, in cents.\n"})


@pytest.fixture(scope="module")
def guarded(scene: Scene) -> Served:
    """A server of this module that asks before changes and commands."""
    return scene.serve("guarded", "--ask", "--sandbox", "none", client="codex", files={"cart.py": CART})


CART = "def total(items):\n    return sum(item.price for item in items)\n\n\ndef tax(amount):\n    return amount * 19 // 100\n"
