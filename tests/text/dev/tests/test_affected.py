"""Which tests a change affects."""

import pytest

from toolroll.text.dev.tests.affected import affected, is_in_testpaths, read_testpaths

PROJECT = {
    "src/shop/__init__.py": "",
    "src/shop/price.py": "import decimal\n",
    "src/shop/cart.py": "from .price import tax\n",
    "src/shop/web/__init__.py": "",
    "src/shop/web/page.py": "from ..cart import (\n    Cart,  # the one\n    Empty as E,\n)\n",
    "src/shop/alone.py": "x = 1\n",
    "scripts/tool.py": "print(1)\n",
    "tests/conftest.py": "import pytest\n",
    "tests/test_price.py": "from shop import price\n",
    "tests/test_cart.py": "import os, shop.cart as c\n",
    "tests/web/conftest.py": "",
    "tests/web/test_page.py": "try: from shop.web import page\nexcept ImportError: pass\n",
    "tests/test_patched.py": 'patch("shop.alone.x")\n',
    "tests/test_tool.py": 'run(["python", "scripts/tool.py"])\n',
    "tests/test_data.py": 'open("data/prices.json")\n',
    "tests/test_later.py": "def test_x():\n    if 1: import shop.alone\n",
}
ALL = sorted(path for path in PROJECT if "/test_" in path)


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/shop/web/page.py", "web/test_page"),
        ("src/shop/cart.py", "test_cart web/test_page"),
        ("src/shop/price.py", "test_cart test_price web/test_page"),
        ("src/shop/alone.py", "test_later test_patched"),
        ("src/shop/__init__.py", "test_cart test_later test_patched test_price web/test_page"),
        ("tests/web/conftest.py", "web/test_page"),
        ("tests/test_cart.py", "test_cart"),
        ("scripts/tool.py", "test_tool"),
        ("data/prices.json", "test_data"),
        ("README.md", ""),
        ("src/shop/gone.py", ""),
        ("tests/test_cart.py src/shop/alone.py", "test_cart test_later test_patched"),
    ],
)
def test_affected(changed, tests):
    found = affected(PROJECT, changed.split())
    assert [path.removeprefix("tests/").removesuffix(".py") for path in found.tests] == tests.split()
    assert found.everything == ""


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ("pyproject.toml", "pyproject.toml is changed"),
        ("src/shop/logo.png", "it is not known what uses src/shop/logo.png"),
    ],
)
def test_more_when_unsure(changed, why):
    found = affected(PROJECT, [changed, "src/shop/web/page.py"])
    assert (found.tests, found.everything) == (ALL, why)


def test_everything_below_a_conftest():
    assert affected(PROJECT, ["tests/conftest.py"]).tests == ALL


def test_a_deleted_module_still_has_users():
    left = {path: text for path, text in PROJECT.items() if path != "src/shop/price.py"}
    assert affected(left, ["src/shop/price.py"]).tests == [
        "tests/test_cart.py",
        "tests/test_price.py",
        "tests/web/test_page.py",
    ]


def test_what_was_reached_before_counts_too():
    touched = {"tests/test_tool.py": ["src/shop/price.py"], "tests/test_gone.py": ["src/shop/price.py"]}
    assert affected(PROJECT, ["src/shop/price.py"], {}).tests == [
        "tests/test_cart.py",
        "tests/test_price.py",
        "tests/web/test_page.py",
    ]
    assert "tests/test_tool.py" in affected(PROJECT, ["src/shop/price.py"], touched).tests


def test_text_that_is_no_python():
    assert affected({"a.py": "def f(:\nimport b\n", "b.py": "", "test_a.py": "import a"}, ["b.py"]).tests == [
        "test_a.py"
    ]


def test_a_package_at_the_top():
    files = {"__init__.py": "", "mod.py": "", "test_mod.py": "from . import mod\n"}
    assert affected(files, ["mod.py"]).tests == ["test_mod.py"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests', 'more']\n"}, ["tests", "more"]),
        ({"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = 'tests more'\n"}, ["tests", "more"]),
        ({"pyproject.toml": "[tool.x]\n", "setup.cfg": "[tool:pytest]\ntestpaths =\n    a\n    b\n"}, ["a", "b"]),
        ({"pytest.ini": "[pytest]\n", "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['a']\n"}, []),
        ({"pyproject.toml": "broken ["}, []),
        ({}, []),
    ],
)
def test_testpaths_are_read(files, found):
    assert read_testpaths(files) == found


@pytest.mark.parametrize(
    ("path", "testpaths", "inside"),
    [
        ("tests/a/test_b.py", ["tests"], True),
        ("bench/test_b.py", ["tests"], False),
        ("tests_more/test_b.py", ["tests"], False),
        ("pkg/one/tests/test_b.py", ["./pkg/*/tests/"], True),
        ("test_b.py", ["."], True),
    ],
)
def test_what_is_beneath_testpaths(path, testpaths, inside):
    assert is_in_testpaths(path, testpaths) == inside
