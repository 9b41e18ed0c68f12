"""What the console's page may not contain: a way for data to become markup, inline code, or anything from another host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import toolroll

PAGE = Path(toolroll.__file__).parent / "console" / "page"
FILES = sorted(PAGE.iterdir())
_MARKUP = r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|DOMParser|createContextualFragment|srcdoc"
_CODE = r"\beval\(|new Function|javascript:|<script>|<style|\bon[a-z]+=\"|\bstyle=\""
_HOSTS = r"(?:https?:)?//[a-z0-9-]+\.[a-z]"


@pytest.mark.parametrize("file", FILES, ids=lambda one: one.name)
def test_data_stays_text_and_everything_is_local(file: Path) -> None:
    text = file.read_text().replace("http://www.w3.org/2000/svg", "")
    assert re.findall(f"{_MARKUP}|{_CODE}|{_HOSTS}", text) == []
    assert len(text.splitlines()) <= 500


def test_the_page_loads_only_its_own_files() -> None:
    texts = "".join(one.read_text() for one in FILES)
    wanted = set(re.findall(r'(?:from "\.|href="|src=")/([\w.]+)"', texts))
    assert wanted == {one.name for one in FILES} - {"index.html"}
