"""One Chromium for all stories: `driver.mjs` does in it what it is sent over a pipe."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.npm import node

_HERE = Path(__file__).parent
_WAIT_S, _LOOK_S = 8.0, 0.03


class StepFailedError(AssertionError):
    """What the browser could not do, in its words."""


class Browser:
    """The browser and its pages."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._numbers = count(1)

    def read(self) -> Any:
        assert self._process.stdout is not None
        answer = json.loads(self._process.stdout.readline() or '{"error": "The browser has ended."}')
        if "error" in answer:
            raise StepFailedError(answer["error"])
        return answer.get("result")

    def act(self, **step: Any) -> Any:
        """Send one step and wait for its result."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(step) + "\n")
        self._process.stdin.flush()
        return self.read()

    def open(self, link: str, beside: Page | None = None, **options: Any) -> Page:
        """A page in a context of its own with these options of Playwright, or in the context of another page."""
        page = Page(self, f"page {next(self._numbers)}")
        page.act("new", options=options, **({"beside": beside.name} if beside else {}))
        page.act("goto", link)
        return page


class Page:
    """One page, with the few verbs that the stories need. Each waits for what it needs, and fails after eight seconds."""

    def __init__(self, browser: Browser, name: str) -> None:
        self._browser, self.name = browser, name

    def act(self, verb: str, *arguments: Any, find: tuple[Any, ...] = (), **more: Any) -> Any:
        return self._browser.act(page=self.name, do=verb, arguments=arguments, find=find, **more)

    def click(self, role: str, name: str, within: str = "body") -> None:
        found = (["locator", within], ["getByRole", role, {"name": name, "exact": True}])
        self.act("scrollIntoViewIfNeeded", find=found)
        self.js("new Promise((go) => { requestAnimationFrame(() => setTimeout(go)); })")
        end = time.monotonic() + _WAIT_S
        while self.act("isDisabled", find=found) and time.monotonic() < end:  # what moved takes no click
            time.sleep(_LOOK_S)
        self.act("click", find=found)

    def click_on(self, css: str, text: str = "") -> None:
        self.act("click", find=(["locator", css, {"hasText": text}], ["first"]))

    def fill(self, label: str, text: str) -> None:
        self.act("fill", text, find=(["getByLabel", label, {"exact": True}],))

    def choose(self, label: str, option: str) -> None:
        self.act("selectOption", {"label": option}, find=(["getByLabel", label, {"exact": True}],))

    def go(self, view: str) -> None:
        self.act("click", find=(["locator", "nav a", {"hasText": view}],))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.act("keyboard.press", key)

    def sees(self, text: str, css: str = "body") -> None:
        """Wait until an element has this text and is visible."""
        self.act("waitFor", find=(["locator", css, {"hasText": text}], ["first"]))

    def loses(self, css: str, text: str = "") -> None:
        """Wait until no element has this text, or is visible."""
        self.act("waitFor", {"state": "hidden"}, find=(["locator", css, {"hasText": text}], ["first"]))

    def scroll_to(self, css: str) -> None:
        self.act("scrollIntoViewIfNeeded", find=(["locator", css], ["last"]))

    def read(self, css: str) -> str:
        return str(self.act("innerText", find=(["locator", css], ["first"])))

    def count(self, css: str) -> int:
        return int(self.act("count", find=(["locator", css],)))

    def disabled(self, name: str, within: str = "body") -> bool:
        return bool(
            self.act("isDisabled", find=(["locator", within], ["getByRole", "button", {"name": name, "exact": True}]))
        )

    def js(self, expression: str) -> Any:
        return self.act("evaluate", expression)

    def wait(self, expression: str) -> None:
        """Wait until an expression of the page is true."""
        self.act("until", expression)

    def axe(self) -> list[str]:
        """What axe finds wrong with the page as it is."""
        return list(self.act("axe"))

    def close(self) -> None:
        """Close the page, which must have had no errors and no breaches of its policy."""
        errors = self.act("errors")
        self.act("close")
        if errors:
            raise StepFailedError("\n".join(errors))


@contextmanager
def start_browser() -> Iterator[Browser]:
    """Start node and Chromium; the test is skipped where they cannot be had."""
    modules = node.packages(_HERE / "package.json")
    command = [node.program(), str(_HERE / "driver.mjs"), str(modules)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            browser = Browser(process)
            browser.read()
            yield browser
        finally:
            assert process.stdin is not None
            process.stdin.close()  # it closes Chromium and ends
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
