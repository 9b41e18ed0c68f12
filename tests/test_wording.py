"""What a result advises is a call that this model can make: the hints of all sources, in each dialect and choice."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import toolroll
from toolroll import Kit, Suggestion, dialects
from toolroll.registry import modules_in

SOURCE = Path(toolroll.__file__).parent
TOOLS = frozenset(modules_in("toolroll.tools"))
NAMED = re.compile(r"`(\w+)`")
QUICK = {"native", "claude-code", "coding-agent", "mcp-filesystem"}
CHOICES = [
    *(pytest.param(name, {}, marks=() if name in QUICK else pytest.mark.slow) for name in dialects.names()),
    ("native", {"mode": "thinking"}),
    ("claude-code", {"mode": "thinking"}),
    ("coding-agent", {"mode": "thinking"}),
    ("native", {"tools": "all"}),
    ("native", {"tools": "lazy"}),
    ("native", {"tools": ["bash", "edit"]}),
    ("native", {"tools": ["read"]}),
]


@cache
def hints() -> list[str]:
    """Every text in the source that advises a tool and is not documentation, with the likely words before it."""
    found = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in ("tools", "host", "text", "policy"):
            source = path.read_text()
            if TOOLS.intersection(NAMED.findall(source)):
                found += [one for one in texts(ast.parse(source)) if TOOLS.intersection(NAMED.findall(one))]
    return [f"{'It failed.' if text[0] in '`[' or text[0].isupper() else repr('a.txt')} {text}" for text in found]


def texts(tree: ast.AST) -> Iterator[str]:
    """The texts of one line but docstrings and descriptions of parameters; `find` in some of them is a parameter."""
    passed_over = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    passed_over |= {id(part) for one in ast.walk(tree) if isinstance(one, ast.Subscript) for part in ast.walk(one)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in passed_over:
            text = one.value.strip(" ,;:.)\n")
            if "\n" not in text and ("`find`" not in text or "Use `find`" in text):
                yield f"{text}."


@pytest.mark.parametrize(("dialect", "options"), CHOICES, ids=str)
def test_hints_name_only_what_is_shown(ws: Path, tmp_path: Path, dialect: str, options: dict[str, object]) -> None:
    with Kit(ws, dialect, state_dir=tmp_path / "state", mcp={}, **options) as kit:
        shown = {entry.name for entry in kit.shown()}
        wording = kit._make_wording("")
        for hint in hints():
            said = re.sub(r" \(action `\w+`\)", "", wording.message(hint, None))
            named = {word for word in NAMED.findall(said) if word in TOOLS}
            relayed = {word for _, word in re.findall(r"`(call_tool)` of `(\w+)`", said)}
            assert named - relayed <= shown, said
            assert not relayed or (relayed.isdisjoint(shown) and "call_tool" in shown), said
        for tool in sorted(TOOLS):
            call = wording.suggestion(Suggestion(tool, {}))
            assert call is None or call.name in shown


def test_a_suggested_call_is_made_as_it_is_suggested(kit: Kit, put: Callable[[dict[str, str]], None]) -> None:
    """By the relay where the tool is hidden, by its own name where a client is shown all."""
    put({"a.py": "def f():\n    pass\n"})
    refused = kit.call("repo_map", {"path": "a.py"})
    assert refused.error is not None
    assert refused.text == "`path` 'a.py' is a file. Name a folder, or use `call_tool` of `outline` for a file."
    (call,) = refused.error.suggest
    assert call == Suggestion("call_tool", {"name": "outline", "arguments": {"path": "a.py"}})
    assert "def f" in kit.call(call.name, call.arguments).text
    shown = kit.call("repo_map", {"path": "a.py"}, tools="all")
    assert shown.error is not None
    assert shown.error.suggest == (Suggestion("outline", {"path": "a.py"}),)


MISSING = {
    "ls": {"path": "shopp"},
    "read": {"path": "use.pyy"},
    "outline": {"path": "use.pyy"},
    "stat": {"path": "use.pyy"},
    "edit": {"path": "use.pyy", "old": "y = 1", "new": "y = 2"},
    "copy": {"source": "use.pyy", "target": "b.py"},
    "move": {"source": "use.pyy", "target": "c.py"},
    "delete": {"path": "c.pyy"},
}


def test_each_call_that_is_suggested_for_a_missing_path_works(kit: Kit, put: Callable[[dict[str, str]], None]) -> None:
    """It is the same call with the path that is there; called by its own name, it is suggested by that."""
    put({"shop/query.py": "", "use.py": "y = 1\n"})
    for name, arguments in MISSING.items():
        refused = kit.call(name, arguments)
        assert refused.error is not None, name
        (call,) = refused.error.suggest
        assert (call.name, call.arguments.keys()) == (name, arguments.keys())
        done = kit.call(call.name, call.arguments)
        assert done.ok, done.text
    relayed = kit.call("call_tool", {"name": "stat", "arguments": {"path": "shopp"}})
    assert relayed.error is not None
    assert relayed.error.suggest[0].name == "call_tool"
    assert "'shop/query.py'" in kit.call("read", {"path": "query.py"}).text


def suggestions() -> Iterator[tuple[str, str, set[str], bool]]:
    """The calls that messages are made with: where, the tool, its arguments, and whether these are all."""
    for path in SOURCE.rglob("*.py"):
        source = path.read_text()
        if "Suggestion(" not in source and '{"' not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Suggestion":
                match node.args:
                    case [ast.Constant(value=str(name)), ast.Dict(keys=keys)] if name:
                        named = {key.value for key in keys if isinstance(key, ast.Constant)}
                        yield f"{path.name}:{node.lineno}", name, named, len(named) == len(keys)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                for name, arguments in re.findall(r"\b(\w+) (\{\"\w+\": [^{}]*\})", node.value):
                    if name in TOOLS:
                        yield f"{path.name}:{node.lineno}", name, set(re.findall(r'"(\w+)":', arguments)), True


def test_every_suggested_call_has_the_arguments_that_its_tool_takes() -> None:
    """Those of all sources: the name of a tool, parameters that it has, and those that it needs."""
    known = {name: getattr(import_module(modules_in("toolroll.tools")[name]), name) for name in TOOLS}
    wrong, count = [], 0
    for where, name, named, whole in suggestions():
        count += 1
        if (tool := known.get(name)) is None:
            wrong.append((where, name, set(), set()))
            continue
        takes = {one.name for one in tool.parameters}
        needs = {one.name for one in tool.parameters if one.required and not one.path}  # those are filled in
        if named - takes or (whole and needs - named):
            wrong.append((where, name, named - takes, needs - named))
    assert (wrong, count > 20) == ([], True)


ADVISING = [
    ("references", {"symbol": "Engin"}),
    ("definition", {"symbol": "twin"}),
    ("rename", {"symbol": "twin", "new_name": "other"}),
    ("edit_symbol", {"symbol": "twin", "action": "delete"}),
    ("time", {"zone": "Europe/Berlinn"}),
    ("find", {"pattern": "*.py", "limit": 1}),
    ("grep", {"pattern": "def", "limit": 1}),
    ("read", {"path": "long.txt", "limit": 5}),
    ("repo_map", {"path": "a.py"}),
    ("edit", {"path": "a.py", "old": "    return  1", "new": "    return 2"}),
    ("insert", {"path": "a.py", "line": 99, "content": "x"}),
]


def test_each_call_that_a_result_names_next_is_made(kit: Kit, put: Callable[[dict[str, str]], None]) -> None:
    put({
        "a.py": "class Engine: ...\n\n\ndef twin():\n    return 1\n",
        "b.py": "def twin():\n    return 2\n",
        "long.txt": "line\n" * 50,
    })  # fmt: skip
    named = 0
    for name, arguments in ADVISING:
        result = kit.call(name, arguments)
        calls = [(one.name, one.arguments) for one in (result.error.suggest if result.error else ())]
        calls += [(one["name"], one["arguments"]) for one in [result.meta.get("next")] if one]
        for call, given in calls[:1]:
            named += 1
            done = kit.call(call, given)
            assert done.ok, (name, call, given, done.text)
    assert named > 4
