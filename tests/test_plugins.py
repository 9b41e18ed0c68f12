"""Plugins: a package and a file add tools, bundles and dialects; what is wrong is named and stops nothing."""

import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from tests.test_conventions import ROOT
from toolroll import Kit
from toolroll.host.settings import PluginSettings
from toolroll.plugins import load_plugins

MODULE = '''
from toolroll import Effect, tool
from toolroll.dialect import Bundle, Dialect, View

@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"

@tool
def begin() -> str:
    """Begin."""
    return "begun"

@tool
async def end() -> str:
    """End."""
    return "ended"

SHOP = Bundle("shop", "Begin and end.", {"begin": View.native(begin), "end": View.native(end)})
POLITE = Dialect("polite", "Only greetings.", (View("say_hello", greet, {"name": "to"}),))
'''


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Write a file of the user's configuration folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "toolroll" / "tools").mkdir(parents=True)

    def write(name, text):
        path = tmp_path / "config" / "toolroll" / name
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def installed(tmp_path):
    """A folder with an installed package: its wheel is built, and unpacked as an installer does."""
    pytest.importorskip("uv_build")
    source, site = tmp_path / "source", tmp_path / "site"
    (source / "src" / "shop_tools").mkdir(parents=True)
    (source / "src" / "shop_tools" / "__init__.py").write_text(MODULE)
    (source / "pyproject.toml").write_text(
        '[project]\nname = "shop-tools"\nversion = "1.0"\n'
        '[project.entry-points."toolroll.tools"]\nshop = "shop_tools:SHOP"\ngreet = "shop_tools:greet"\n'
        '[project.entry-points."toolroll.dialects"]\npolite = "shop_tools:POLITE"\n'
        '[build-system]\nrequires = ["uv_build"]\nbuild-backend = "uv_build"\n'
    )
    build = f"import uv_build; print(uv_build.build_wheel({str(tmp_path)!r}))"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # for the program that it starts
    command = [sys.executable, "-c", build]
    done = subprocess.run(
        command, cwd=source, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as wheel:
        wheel.extractall(site)
    return site


def test_an_installed_package_appears_in_library_command_line_and_mcp(installed, ws, tmp_path):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": f"{ROOT / 'src'}:{installed}"}

    def run(*words, text=""):
        options = {"cwd": ws, "env": env, "capture_output": True, "text": True, "timeout": 60}
        done = subprocess.run([sys.executable, *words], input=text, check=False, **options)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    library = run(
        "-c",
        "from toolroll import Kit\n"
        "with Kit('.') as kit: print(kit.call('greet', {'name': 'Ada'}).text, kit.call('shop', {'action': 'end'}).text)\n"
        "with Kit('.', 'polite') as kit: print(kit.names(), kit.call('say_hello', {'to': 'Bob'}).text)",
    )
    assert library == "Hello, Ada! ended\n['say_hello', 'greet', 'shop'] Hello, Bob!\n"
    assert run("-m", "toolroll", "call", "greet", "name=Ada") == "Hello, Ada!\n"
    assert run("-m", "toolroll", "call", "-d", "polite", "say_hello", "to=Ada") == "Hello, Ada!\n"
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"id": 1, "method": "initialize", "params": start},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "shop", "arguments": {"action": "begin"}}},
    ]
    sent = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in messages)
    answers = [json.loads(line) for line in run("-m", "toolroll", "mcp", "-C", ".", text=sent).splitlines()]
    by_id = {one.get("id"): one.get("result") for one in answers}
    assert {"greet", "shop", "read"} <= {one["name"] for one in by_id[2]["tools"]}
    assert by_id[3]["content"][0]["text"] == "begun"


def test_a_file_of_the_tools_folder_adds_all_that_it_defines(config, ws):
    path = config("tools/shop.py", MODULE)
    with Kit(ws) as kit:
        assert {"greet", "shop"} <= set(kit.names())
        assert not {"begin", "end"} & set(kit.names())
        assert (kit.call("greet", {"name": "Ada"}).text, kit.problems) == ("Hello, Ada!", ())
    with Kit(ws, "pigo", tools=["read", "greet"]) as kit:
        assert kit.names() == ["read", "greet"]
    [plugin] = load_plugins(ws, PluginSettings())
    assert plugin.origin == path
    assert load_plugins(ws, PluginSettings(enabled=False)) == load_plugins(ws, PluginSettings(disabled=("shop",))) == ()


BROKEN = {
    "raises": ("1 / 0", "ZeroDivisionError: division by zero"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "syntax": ("def (", "SyntaxError: "),
    "missing": ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
    "empty": ("x = 1", "TypeError: {path} defines nothing for toolroll. Give a tool (a function under @tool)"),
    "untyped": ("from toolroll import tool\n@tool\ndef f(a):\n    'Do.'", "TypeError: "),
    "undocumented": ("from toolroll import tool\n@tool\ndef f(a: int): ...", "TypeError: f: a tool needs a docstring"),
    "unnamed": ("from toolroll import tool\n@tool(name='a b')\ndef f(): 'Do.'", "ValueError: 'a b' is no name for a tool"),
}  # fmt: skip


def test_what_cannot_be_loaded_is_named_in_doctor_and_stops_nothing(config, ws, capsys):
    from toolroll.cli import main

    paths = {name: config(f"tools/{name}.py", textwrap.dedent(text)) for name, (text, _) in BROKEN.items()}
    config("tools/zz_good.py", MODULE)
    with Kit(ws) as kit:
        assert kit.call("greet", {"name": "Ada"}).ok
        problems = dict(zip(sorted(BROKEN), kit.problems, strict=True))
    for name, (_, why) in BROKEN.items():
        assert problems[name].startswith(f"{paths[name]} cannot be loaded: {why.format(path=paths[name])}")
        assert "\n" not in problems[name]
    main(["doctor", "-C", str(ws)])
    shown = capsys.readouterr().out
    assert all(one in shown for one in problems.values())
    assert "zz_good.py: greet, shop, polite" in shown


def test_names_that_collide_are_refused_with_both_origins(config, ws):
    def source(name):
        return f"from toolroll import tool\n@tool(name='{name}')\ndef f() -> str:\n    'Do.'\n    return __name__"

    one, two, three = (
        config(f"tools/{file}.py", source(name)) for file, name in (("a", "mine"), ("b", "mine"), ("c", "read"))
    )
    with Kit(ws) as kit:
        assert kit.call("mine").text == "toolroll_user_a"
        assert kit.problems == (
            f"The tool 'mine' of {two} is left out: {one} has that name.",
            f"The tool 'read' of {three} is left out: the dialect native has that name.",
        )


def test_a_damaged_package_is_named(ws, config, tmp_path, monkeypatch):
    (tmp_path / "site" / "torn-1.dist-info").mkdir(parents=True)
    (tmp_path / "site" / "torn-1.dist-info" / "entry_points.txt").write_text("torn\n[toolroll.tools]\nx = y\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    [plugin] = load_plugins(ws, PluginSettings())
    assert plugin.problem == "package torn cannot be loaded: ValueError: its entry_points.txt is damaged"


def test_a_package_in_the_workspace_is_no_plugin(ws, config, monkeypatch):
    (ws / "bad.py").write_text("raise SystemExit('ran')")
    (ws / "bad-1.dist-info").mkdir()
    (ws / "bad-1.dist-info" / "entry_points.txt").write_text("[toolroll.tools]\nbad = bad\n")
    monkeypatch.setattr(sys, "path", [str(ws), *sys.path])
    assert load_plugins(ws, PluginSettings()) == ()
