"""Stories of looks and of long lists: colours, widths, keys, axe, ten thousand calls; and the pictures of the manual."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.console.page.browser import Browser, Page
from tests.console.page.conftest import CART, OpenPage
from tests.console.page.scene import Scene, Served, set_up

pytestmark = pytest.mark.slow

ROW = "[role=option]"
VIEWS = ("Live", "Approvals", "Time line", "Forks", "Jobs", "Session", "Usage", "Doctor")
BACK = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(246, 247, 248)", "rgb(20, 23, 26)"
NARROW = {"width": 390, "height": 780}
PICTURES = Path(__file__).parents[3] / "docs" / "pictures"
DISCOUNT = "def total(items):\n    return sum(item.price - item.discount for item in items)\n"
CHECK = "grep '19 // 100' cart.py || { echo 'The tax is wrong.'; exit 1; }"


@pytest.fixture(scope="module")
def scene(browser: Browser) -> Iterator[Scene]:
    """With a short path, for the pictures."""
    with TemporaryDirectory(prefix="work-") as folder, set_up(Path(folder)) as made:
        yield made


@pytest.fixture(scope="module")
def busy(scene: Scene) -> Served:
    """A server with something in every view."""
    served = scene.serve(
        "shop", "--sandbox", "required", files={"cart.py": CART, "prices.md": "Prices are in cents.\n"}
    )
    served.call(
        "todo_write",
        todos=[
            {"content": "Find the totals", "status": "completed"},
            {"content": "Add discounts", "status": "in_progress"},
        ],
    )
    served.call("outline", path="cart.py")
    served.call("read", path="cart.py")
    served.call("grep", pattern="def ")
    served.call("bash", command="wc -l *.py *.md")
    served.call("read", path="basket.py")
    served.call("memory", action="add", content="Prices are integers, in cents.")
    served.call("checkpoint", name="before discounts")
    served.call("edit", path="cart.py", old=CART.split("\n\n")[0] + "\n", new=DISCOUNT)
    served.call("edit", path="cart.py", old="19 // 100", new="7 // 100")
    served.call("bash", command=f"sed -i 's/7/19/' cart.py && {CHECK}", hold=True)
    served.call("bash", command=f"sed -i 's/7/x/' cart.py && {CHECK}", hold=True)
    served.call("bash", command="for i in 1 2 3; do echo built part $i; done; echo serving; sleep 600", tty=True)
    return served


@pytest.fixture(scope="module")
def waits(scene: Scene) -> None:
    """Two servers that wait for an answer each."""
    release = scene.serve("release", "--ask", "--sandbox", "none", client="codex")
    release.start("bash", command="git commit -am 'Add discounts' && git push --force origin main")
    blog = scene.serve("blog", "--ask", "--sandbox", "none", client="codex")
    blog.start("write", path="posts/discounts.md", content="# Discounts\n\nFrom today on, books cost less.\n")


def show_everything(page: Page, view: str) -> None:
    """Open a view, and what can be chosen in it."""
    names = page.js("[...document.querySelectorAll('#process option')].map(one => one.textContent)")
    of_all = view in ("Live", "Approvals")
    page.choose("Process", names[0] if of_all else next(one for one in names if one.startswith("shop")))
    page.go(view)
    page.sees({"Approvals": "End of the question", "Usage": "All tools", "Doctor": "limits."}.get(view, ""), "main")
    if view == "Approvals":
        page.scroll_to(".end")
        page.wait("!document.querySelector('.approval:last-child .primary').disabled")
        page.js("document.getElementById('main').scrollTo(0, 0)")
    if view == "Live":
        page.click_on(ROW, "def ")
        page.sees("cart.py", ".pane .text")
    if view in ("Time line", "Jobs"):
        page.click_on(".entry", "serving" if view == "Jobs" else "cart.py")
        page.sees("serving" if view == "Jobs" else "return", ".pane pre")


@pytest.mark.usefixtures("waits", "busy")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page: OpenPage, scheme: str) -> None:
    page = open_shop(open_page, colorScheme=scheme)
    for view in VIEWS:
        show_everything(page, view)
        assert (view, page.axe()) == (view, [])


def open_shop(open_page: OpenPage, **options: object) -> Page:
    page = open_page(**options)
    page.sees("def ", ROW)
    page.sees("2", "#waiting")
    return page


SHOTS = [
    ("live-dark", "Live", {"colorScheme": "dark"}),
    ("approvals-light", "Approvals", {"colorScheme": "light", "viewport": {"width": 1120, "height": 820}}),
    ("timeline-dark", "Time line", {"colorScheme": "dark"}),
    ("forks-light", "Forks", {"colorScheme": "light"}),
    ("jobs-dark", "Jobs", {"colorScheme": "dark"}),
    ("usage-light", "Usage", {"colorScheme": "light"}),
    ("approvals-narrow-dark", "Approvals", {"colorScheme": "dark", "viewport": NARROW}),
    ("live-narrow-light", "Live", {"colorScheme": "light", "viewport": NARROW}),
]


@pytest.mark.usefixtures("busy", "waits")
@pytest.mark.parametrize(("name", "view", "options"), SHOTS, ids=[one[0] for one in SHOTS])
def test_pictures_of_the_manual(open_page: OpenPage, name: str, view: str, options: dict[str, object]) -> None:
    page = open_shop(open_page, **{"viewport": {"width": 1120, "height": 720}, **options})
    if "narrow" not in name:
        show_everything(page, view)
    page.go(view)
    page.js("document.fonts.ready.then(() => null)")
    file = PICTURES / f"console-{name}.png"
    page.act("screenshot", {"path": str(file), "animations": "disabled"})
    assert file.stat().st_size < 150_000


@pytest.mark.parametrize(("scheme", "colour"), [("light", LIGHT), ("dark", DARK)])
def test_the_system_chooses_the_colours(open_page: OpenPage, scheme: str, colour: str) -> None:
    assert open_page(colorScheme=scheme).js(BACK) == colour


def test_switch_the_colours(open_page: OpenPage) -> None:
    page = open_page(colorScheme="dark")
    page.click("button", "Theme: auto")
    assert page.js(BACK) == LIGHT
    page.click("button", "Theme: light")
    page.act("reload")
    page.sees("Theme: dark", "#theme")
    assert page.js(BACK) == DARK


@pytest.mark.usefixtures("waits")
def test_a_narrow_screen(open_page: OpenPage, busy: Served) -> None:
    page = open_page(viewport=NARROW)
    busy.call("ls")
    page.click_on(ROW, "ls")
    page.sees("cart.py", ".pane .text")
    assert page.count(".list >> visible=true") == 0
    page.click("button", "Back to the list")
    page.sees("ls", ROW)
    for view in VIEWS:
        page.go(view)
        assert page.js("document.documentElement.scrollWidth") == NARROW["width"]


def test_by_keyboard_alone(open_page: OpenPage, busy: Served) -> None:
    page = open_page()
    busy.call("find", pattern="*.keys")
    page.sees("*.keys", ROW)
    page.press("/")
    page.act("keyboard.type", "*.keys")
    page.sees("1 of", ".total")
    for _ in range(8):
        page.press("Tab")
        if page.js("document.activeElement.getAttribute('role')") == "listbox":
            break
    page.press("ArrowDown")
    page.sees("*.keys", ".pane .arguments")
    assert page.js("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.press("3")
    page.sees("before discounts", ".entry")
    page.press("?")
    page.sees("go to a view", "dialog")
    page.press("Escape")
    page.loses("dialog")


def test_reduced_motion(open_page: OpenPage, busy: Served) -> None:
    still, moving = open_page(reducedMotion="reduce"), open_page(reducedMotion="no-preference")
    call = busy.start("bash", command="while [ ! -e still ]; do sleep 0.05; done")
    for page, moves in ((still, False), (moving, True)):
        page.sees("still", f"{ROW}.running")
        assert page.js("document.getAnimations().length > 0") is moves
    busy.call("write", path="still", content="")
    call.result(10)


def test_ten_thousand_calls(open_page: OpenPage, scene: Scene) -> None:
    served = scene.serve("many", client="many", files={"a.txt": "x\n" * 50})
    page = open_page()
    page.act("trace")
    for number in range(10_000):
        served.call("find", pattern=f"many-{number}-*")
        if number % 500 == 0:
            page.js("document.querySelector('.scroller').scrollBy(0, 700)")
    page.click("button", "Newest")
    page.sees("many-9999-", ROW)
    page.fill("Search", "many-77")
    page.sees("111 of 10,0", ".total")
    tasks, heap = page.act("longest"), page.act("heap")
    print(f"longest tasks {tasks} ms of processor time, {heap:.0f} MB")
    assert page.count(ROW) < 60
    assert tasks[0] <= 50
    assert heap < 150
