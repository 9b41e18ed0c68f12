"""Every field that a tool, a file name, a server or a client can fill, with texts that attack the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.page.browser import Browser, Page
from tests.console.processes import TOKEN, fake_process, running_console
from tests.console.xss_corpus import CORPUS, EVIL, poisoned_process
from tests.host.network.file_server import serve_files

pytestmark = pytest.mark.slow
VIEWS = ("Live", "Approvals", "Time line", "Forks", "Jobs", "Session", "Usage", "Doctor")

# Click on everything in a view, and on what that opens; returns the texts of which some were seen.
_CRAWL = """
async (corpus) => {
  const { visible } = await import("/dom.js");
  const pause = () => new Promise((resume) => setTimeout(resume, 15));
  const seen = new Set();
  const squeeze = (text) => text.replace(/\\s+/g, " ").trim();
  const wanted = corpus.map((text) => squeeze(visible(text)).slice(0, 500));
  const look = () => {
    const text = squeeze([...document.querySelectorAll("main, dialog")].map((one) => one.textContent).join(" "));
    wanted.forEach((one, index) => { if (text.includes(one)) seen.add(index); });
  };
  for (let tries = 0; tries < 200 && seen.size < 59; tries += 1) {
    await pause();
    look();
  }
  const CLICKED = "main button, main summary, main [role=option], main .entry, main a, main li";
  const todo = [...document.querySelectorAll(CLICKED)].slice(0, 400);
  for (const one of todo) {
    if (one.isConnected) one.click();
    await pause();
    for (const dialog of document.querySelectorAll("dialog[open]")) {
      look();
      dialog.close("yes");
    }
  }
  for (const one of document.querySelectorAll("main form")) one.requestSubmit();
  for (let left = 10; left > 0; left -= 1) {
    await pause();
    look();
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close("no");
  }
  return [...seen];
}
"""
_FOUND = """
() => ({
  executed: window.executed ?? null,
  polluted: ({}).polluted ?? ({}).executed ?? null,
  elements: [...document.querySelectorAll("script:not([src]), iframe, object, embed, base, style, meta[http-equiv=refresh], " +
    "[onerror], [onload], [onfocus], [ontoggle], [srcdoc], [style*=url], form[action], template, math, video, audio, marquee")].map((one) => one.tagName),
  addresses: [...document.querySelectorAll("[href], [src]")].map((one) => one.getAttribute("href") ?? one.getAttribute("src"))
    .filter((one) => !/^((?:\\.\\/)?#[\\w-]*|\\/?[\\w.-]+\\.(js|css|svg)|data:image\\/(png|jpeg|gif|webp);base64,[\\w+/=]*)$/.test(one)),
  loaded: performance.getEntriesByType("resource").map((one) => one.name).filter((one) => !one.startsWith(location.origin)),
  place: location.origin,
})
"""


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with running_console() as client:
        yield f"http://127.0.0.1:{client.port}"


def crawl(page: Page) -> set[int]:
    return set(page.js(f"({_CRAWL})({json.dumps(CORPUS)})"))


def test_every_text_is_shown_as_text(browser: Browser, console: str) -> None:
    with fake_process("control-evil", **poisoned_process()) as process:
        page = browser.open(f"{console}/#token={TOKEN}", viewport={"width": 1400, "height": 3000})
        page.sees("Connected", "#state")
        assert process.subscribed.wait(10)
        process.send("call", process.answers["calls"]({})["calls"][0])
        process.send("approvals", process.answers["approvals"]({}))
        process.send(CORPUS[0], {"text": CORPUS[0]})
        seen = {}
        for view in VIEWS:
            page.js(
                f"[...document.querySelectorAll('nav a')].find((one) => one.textContent.startsWith('{view}')).click()"
            )
            seen[view] = crawl(page)
            found = page.js(f"({_FOUND})()")
            clean = {
                "executed": None,
                "polluted": None,
                "elements": [],
                "addresses": [],
                "loaded": [],
                "place": console,
            }
            assert found == clean, view
        page.close()
    assert EVIL not in str(found)
    short = set(range(len(CORPUS) - 1))  # the long text is in calls and approvals alone
    assert {view: short - numbers for view, numbers in seen.items()} == {view: set() for view in VIEWS}
    assert seen["Live"] == seen["Approvals"] == {*short, len(CORPUS) - 1}


# What a page of another site can try without the token, and with it: nothing may come back or reach a process.
_OTHER_SITE = """
async ([console, token]) => {
  const body = JSON.stringify({ to: "control-evil", method: "answer", params: {} });
  const attempt = (path, options) => fetch(console + path, options).then((one) => one.type, () => "blocked");
  const sent = [];
  for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
    sent.push(await attempt("/api/request", { method: "POST", mode: "no-cors", headers: { "Content-Type": type }, body }));
  }
  const json = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const readable = [await attempt("/api/request", { method: "POST", headers: json, body }),
    await attempt("/api/processes", { headers: { Authorization: `Bearer ${token}` } }), await attempt("/")];
  const script = document.createElement("script");
  script.src = console + "/console.js";
  const included = new Promise((resume) => { script.onload = () => resume("run"); script.onerror = () => resume("blocked"); });
  document.body.append(script);
  const form = Object.assign(document.createElement("form"), { action: console + "/api/request", method: "post", enctype: "text/plain", target: "_blank" });
  form.append(Object.assign(document.createElement("input"), { name: body.slice(0, -1) + ',"x":"', value: '"}' }));
  document.body.append(form);
  form.submit();
  return { sent, readable, included: await included };
}
"""


def test_a_page_of_another_site_gets_nothing(browser: Browser, console: str, tmp_path: Path) -> None:
    asked: list[object] = []
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<!doctype html><title>Another site</title><body>")
    with fake_process("control-evil", answer=asked.append), serve_files(site) as port:
        for host in ("127.0.0.1", "localhost"):
            page = browser.open(f"http://{host}:{port}/")
            found = page.js(f"({_OTHER_SITE})({json.dumps([console, TOKEN])})")
            # What is sent blindly is blocked on its way back, by Cross-Origin-Resource-Policy.
            assert found == {"sent": ["blocked"] * 2, "readable": ["blocked"] * 3, "included": "blocked"}
            page.act("close")
    assert asked == []
