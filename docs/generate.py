"""Writes the generated pages of the manual from the code: docs/tools.md, docs/dialects.md, docs/architecture.svg,
the README's list of dialects, tables of docs/vendors.md; and the tool lists in the package.

`python -m docs.generate` writes them; with --check it only names those that are stale. It exits with 1 where one is
stale, and where a statement about a document names no test that exists.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from docs import architecture
from toolroll import dialects, formats, tools
from toolroll.catalogue import CALL, FIND, Catalogue
from toolroll.cli.arguments import format_arguments
from toolroll.cli.call import kind
from toolroll.cli.tool_list_cache import SHIPPED
from toolroll.cli.tools import effect_names, estimate_cost
from toolroll.dialect import Bundle, Dialect, Entry, Profile, View
from toolroll.host.settings import PluginSettings, Settings
from toolroll.kit import Kit
from toolroll.mcp.kit_backend import list_tools
from toolroll.policy.limits import Limits
from toolroll.registry import discover
from toolroll.text.tokens import estimate
from toolroll.tool import Tool

HERE = Path(__file__).resolve().parent
STATEMENTS = HERE / "statements"
TESTS = HERE.parent / "tests"
NOTICE = "<!-- Written by docs/generate.py from the code: change the code, then run `make docs`. -->"
DIALECTS = re.compile(r"(<!-- dialects -->).*?(<!-- /dialects -->)", re.DOTALL)
VENDORS = re.compile(r"(<!-- vendors -->).*?(<!-- /vendors -->)", re.DOTALL)

# What the examples fill in, by the name of the parameter. A description that says "such as ..." comes first,
# and a name that is not here gets a value of the right type.
EXAMPLES: dict[str, Any] = {
    "path": "src/app.py",
    "source": "src/app.py",
    "target": "src/main.py",
    "pattern": "TODO",
    "old": "colour",
    "new": "color",
    "content": "hello, world",
    "line": 3,
    "start": 3,
    "end": 5,
    "files": ["src/app.py"],
    "command": "make test",
    "code": "print(6 * 7)",
    "symbol": "main",
    "character": 5,
    "new_name": "color",
    "result": "Done.",
    "url": "https://example.com/",
    "query": "where are settings read",
}
BY_TYPE = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def pages() -> dict[Path, str]:
    """Every generated page: where it belongs and what it should say."""
    found = list(discover(tools))
    known = [dialects.load(name) for name in _native_first(dialects.names())]
    readme, vendors = HERE.parent / "README.md", HERE / "vendors.md"
    return {
        HERE / "tools.md": tools_page(found),
        HERE / "dialects.md": dialects_page(known, found),
        vendors: with_vendors(vendors.read_text(encoding="utf-8"), known),
        HERE / "architecture.svg": architecture.svg(),
        Path(SHIPPED): tool_lists(known),
        readme: with_dialects(readme.read_text(encoding="utf-8"), known),
    }


def stale() -> dict[Path, str]:
    """The pages that do not say what they should, with what they should say."""
    wanted = pages().items()
    return {path: text for path, text in wanted if not path.exists() or path.read_text(encoding="utf-8") != text}


def with_dialects(text: str, known: Sequence[Dialect]) -> str:
    """The text with the list of dialects between its marks renewed."""
    names = ", ".join(f"`{dialect.name}`" for dialect in known)
    return DIALECTS.sub(lambda marks: f"{marks[1]}{names}{marks[2]}", text)


def tool_lists(known: Iterable[Dialect]) -> str:
    """What the MCP server lists before the kit is open, for each dialect with default options; a line a tool."""
    parts = []
    with TemporaryDirectory() as folder:
        for dialect in known:
            settings = Settings(dialect=dialect.name, mcp={}, plugins=PluginSettings(enabled=False))
            with Kit(folder, state_dir=f"{folder}/state", settings=settings) as kit:
                found = list_tools(kit)
            definitions = {one["name"]: one for tools in found.values() for one in tools}
            assert all(definitions[one["name"]] == one for tools in found.values() for one in tools)
            rows = ",\n".join(f"{_json(name)}:{_json(one)}" for name, one in definitions.items())
            names = {choice: [one["name"] for one in tools] for choice, tools in found.items()}
            parts.append(f'{_json(dialect.name)}:{{"lists":{_json(names)},"definitions":{{\n{rows}}}}}')
    return "{" + ",\n".join(parts) + "}\n"


def tools_page(found: Sequence[Tool]) -> str:
    """The page of all tools."""
    parts = [
        NOTICE,
        "# Tools",
        f"{len(found)} tools, by the folder they lie in. Each is one file under `src/toolroll/tools/`; its "
        "signature is its schema and its docstring its description. Tokens are an estimate: characters of "
        "the OpenAI definition divided by four.",
        _table(
            ["tool", "what it does"], [[f"[`{tool.name}`](#{tool.name})", _line(tool.description)] for tool in found]
        ),
    ]
    for category, group in groupby(found, key=lambda tool: tool.category):
        members = list(group)
        parts += [f"## {category}", _folder(members), *map(_tool, members)]
    return "\n\n".join(parts) + "\n"


def dialects_page(known: Sequence[Dialect], found: Sequence[Tool]) -> str:
    """The page of all dialects."""
    parts = [
        NOTICE,
        "# Dialects",
        "A dialect shows the same tools under the names, parameters and units that a model or an agent "
        "already knows. It is data: a file under `src/toolroll/dialects/`. `dialect.changed(file={'limit': 50})` "
        "gives a copy with other fixed values and defaults, by the tools' own parameter names: "
        "`Kit(dialect=dialects.load('coding-agent').changed(...))`.",
        _profiles(known),
    ]
    for dialect in known:
        parts += [f"## {dialect.name}", _plain(dialect.about)]
        if dialect.entries is None:
            names = ", ".join(f"[`{tool.name}`](tools.md#{tool.name})" for tool in found)
            parts += [f"Every tool by its own name: {names}.", _shown_at_first(found)]
        else:
            parts += [_statements(dialect.name), *(_entry(dialect.name, entry) for entry in dialect.entries)]
    return "\n\n".join(parts) + "\n"


@dataclass(frozen=True)
class Statement:
    """One statement of a document: how it is met, or why it is not, and the tests that prove this."""

    subject: str
    statement: str
    how: str
    reason: str
    tests: tuple[str, ...]
    """As pytest names them below `tests/`: `dialects/test_cdd.py::test_x`."""


def _read_statements(dialect: str) -> tuple[str, list[Statement]]:
    """The source of a dialect, if its file names one, and its statements.

    In `statements/NAME.txt` "# x" begins a subject. A line is a statement; behind " -- " is how it is met, behind
    " => " why it is not, behind " @ " the tests that prove it: names in `tests/dialects/test_NAME.py`, or
    `folder/test_file.py::test_x`. A first line "Source: x" is that of a vendor, whose statements name no tests.
    """
    source, rows, subject = "", [], ""
    file = STATEMENTS / f"{dialect}.txt"
    own = f"dialects/test_{dialect.replace('-', '_')}.py"
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        if line.startswith("# "):
            subject = line[2:]
        elif line.startswith("Source: "):
            source = line.removeprefix("Source: ")
        else:
            text, _, names = line.partition(" @ ")
            tests = (name if "::" in name else f"{own}::{name}" for name in names.split(", ") if name)
            statement, _, reason = text.partition(" => ")
            statement, _, how = statement.partition(" -- ")
            rows.append(
                Statement(subject, *(_plain(one.rstrip(".")) for one in (statement, how, reason)), tuple(tests))
            )
    return source, rows


def unproved() -> list[str]:
    """A sentence for each statement of a document that names no test, or one that does not exist."""
    told = []
    for file in sorted(STATEMENTS.glob("*.txt")):
        source, rows = _read_statements(file.stem)
        for row in () if source else rows:
            missing = [test for test in row.tests if not _is_test(test)]
            if not row.tests or missing:
                fault = f"there is no test {', '.join(missing)}" if missing else "it names no test"
                told.append(f"{file.name}: {row.subject}: {row.statement}: {fault}.")
    return told


def _is_test(name: str) -> bool:
    file, _, function = name.partition("::")
    return function in _functions_in(TESTS / file)


@cache
def _functions_in(file: Path) -> set[str]:
    if not file.is_file():
        return set()
    kinds = ast.FunctionDef, ast.AsyncFunctionDef
    return {node.name for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, kinds)}


def _statements(dialect: str) -> str:
    """What a dialect's document states, what is different here, and the tests that prove both."""
    source, found = _read_statements(dialect)
    if source or not found:
        return "[vendors.md](vendors.md) names its source, and what is different here."
    rows = []
    for row in found:
        here = f"different: {row.reason}" if row.reason else f"as written: {row.how}" if row.how else "as written"
        rows.append([row.subject, row.statement, here, ", ".join(map(_test_link, row.tests))])
    count = sum(not row.reason for row in found)
    lead = f"What its document states, in our words: {count} of {len(rows)} as written, the others with the reason."
    names = f"[from-{dialect}.md](from-{dialect}.md) has its names beside ours, with code that runs."
    return f"{lead} {names}\n\n{_table(['of', 'statement', 'here', 'test'], rows)}"


def _test_link(test: str) -> str:
    file, _, function = test.partition("::")
    return f"[{function.removeprefix('test_')}](../tests/{file})"


def with_vendors(text: str, known: Sequence[Dialect]) -> str:
    """The text with the sections of the dialects that have statements about a vendor's tools renewed."""
    parts = [""]
    for dialect in known:
        source, found = _read_statements(dialect.name)
        if source:
            entries = {entry.name: entry.schema for entry in dialect.entries or ()}
            assert {row.subject for row in found} == {"All", *entries}, f"{dialect.name}: a tool without statements"
            rows = [_beside(name, entries.get(name), found) for name in dict.fromkeys(row.subject for row in found)]
            columns = ["tool", "parameters", "as the original", "different, and why"]
            parts += [f"## {dialect.name}", f"Source: {source}. Required parameters are bold.", _table(columns, rows)]
    return VENDORS.sub(lambda marks: "\n\n".join([marks[1] + parts[0], *parts[1:], marks[2]]), text)


def _beside(name: str, schema: Mapping[str, Any] | None, found: Sequence[Statement]) -> list[str]:
    """A row of a vendor's table: what is said of one tool, or of all."""
    required = schema.get("required", ()) if schema else ()
    names = [f"**`{one}`**" if one in required else f"`{one}`" for one in (schema or {}).get("properties", ())]
    same = [row.statement for row in found if row.subject == name and not row.reason]
    other = [f"{row.statement}: {row.reason}" for row in found if row.subject == name and row.reason]
    return [f"`{name}`" if schema else "all", ", ".join(names), ". ".join(same), ". ".join(other)]


def _shown_at_first(found: Sequence[Tool]) -> str:
    entries = [View.native(tool) for tool in found]
    shown = Catalogue("core", lambda: entries).shown()
    names = ", ".join(f"`{entry.name}`" for entry in shown)
    return (
        f"A model is shown {len(shown)} definitions at first, about {estimate_cost(shown):,} tokens of "
        f"{estimate_cost(entries):,}: "
        f"{names}. "
        f"`{FIND}` finds the others by what they do and gives their definitions, `{CALL}` calls them by name; every "
        "tool can also be called by its own name. `Kit(tools=...)` and `toolroll mcp --tools` show `all`, the `core`, "
        "or only these two (`lazy`)."
    )


def example(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a call with this schema could have: what is required, nothing else."""
    return {name: _example(name, schema["properties"][name]) for name in schema.get("required", ())}


def _example(name: str, schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if such_as := re.search(r"\bsuch as ([^\s,;]+)", schema.get("description", "")):
        word = such_as[1].strip("'\".")
        return [word] if schema.get("type") == "array" else word
    if schema.get("minItems"):
        return [EXAMPLES.get(name.removesuffix("s"), "text")]
    return EXAMPLES.get(name, BY_TYPE.get(schema.get("type", ""), "text"))


def _folder(members: Sequence[Tool]) -> str:
    package = importlib.import_module(members[0].module.rpartition(".")[0])
    return _plain(inspect.getdoc(package) or "")


def _tool(tool: Tool) -> str:
    schema = View.native(tool).schema
    definition = formats.FORMATS["openai"](tool.name, tool.description, schema, tool.effects, False)
    cost = estimate(msgspec.json.encode(definition).decode())
    may = ", ".join(effect_names(tool.effects)) or "nothing"
    parts = [
        f"### {tool.name}",
        _plain(tool.description),
        f"Effects: {may}{' (safe)' if tool.safe else ''}. About {cost} tokens{', not shown at first' * tool.rare}.",
        _parameters(schema),
        f"```sh\ntoolroll call {tool.name} {format_arguments(example(schema), schema)}".rstrip() + "\n```",
    ]
    hidden = {one.name: one.schema for one in tool.parameters if not one.shown}
    if hidden:
        parts += ["Switches that a dialect may set or show:", _parameters({"properties": hidden})]
    return "\n\n".join(filter(None, parts))


def _parameters(schema: Mapping[str, Any], own: Mapping[str, str] | None = None) -> str:
    """A table of parameters; `own` adds what the core tools call them."""
    rows = []
    for name, one in schema["properties"].items():
        default = (
            "required" if name in schema.get("required", ()) else _code(one["default"]) if "default" in one else ""
        )
        row = [f"`{name}`", _kind(one), default, _plain(one.get("description", ""))]
        rows.append(row if own is None else [*row[:1], f"`{own[name]}`" if name in own else "", *row[1:]])
    columns = ["parameter", "type", "default", "meaning"]
    return _table(columns if own is None else ["parameter", "of the tool", *columns[1:]], rows) if rows else ""


def _kind(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    bounds = f" {least:g} to {most:g}" if least is not None and most is not None else ""
    bounds = bounds or (f" from {least:g}" if least is not None else f" up to {most:g}" if most is not None else "")
    return _plain(kind(dict(schema))) + bounds


def _entry(dialect: str, entry: Entry) -> str:
    shown = {view.tool.name: f"[`{view.tool.name}`](tools.md#{view.tool.name})" for view in entry.views()}
    own = {here: there for view in entry.views() for there, here in view.names().items()}
    parts = [
        f"### {dialect}: {entry.name}",
        _plain(entry.description),
        f"Shows {', '.join(shown.values())}.",
        _parameters(entry.schema, own),
    ]
    if isinstance(entry, Bundle):
        actions = [[f"`{action}`", shown[view.tool.name], _fixed(view)] for action, view in entry.actions.items()]
        parts.append(_table([entry.selector, "tool", "always"], actions))
    elif entry.fixed:
        parts.append(f"Always: {_fixed(entry)}.")
    return "\n\n".join(filter(None, parts))


def _fixed(view: View) -> str:
    return ", ".join(f"`{name}` = {_code(value)}" for name, value in view.fixed.items())


def _profiles(known: Sequence[Dialect]) -> str:
    """What differs between the dialects besides names, side by side."""
    settings = {
        "a file may be changed when": [_GUARDS[one.profile.guard] for one in known],
        "kept of a long result": [_KEPT[one.profile.keep] for one in known],
        "permissions of new files": [_mode(one.profile) for one in known],
    }
    for field in fields(Limits):
        values = [getattr(one.profile.limits, field.name) for one in known]
        settings[f"`{field.name}`"] = [
            "no limit" if value is None else f"{value:,g}" if isinstance(value, float) else f"{value:,}"
            for value in values
        ]
    return _table(["", *(one.name for one in known)], [[name, *values] for name, values in settings.items()])


_GUARDS = {
    "none": "always",
    "fresh": "it is as it was last read, if it was",
    "seen": "it was read, and is as it was then",
}
_KEPT = {"head": "its beginning", "tail": "its end", "middle": "its beginning and its end"}


def _mode(profile: Profile) -> str:
    return "by the umask" if profile.new_file_mode is None else f"{profile.new_file_mode:04o}"


def _native_first(names: Iterable[str]) -> list[str]:
    """Those without entries of their own come first: the others are described by comparison."""
    return sorted(names, key=lambda name: (dialects.load(name).entries is not None, name))


def _line(text: str) -> str:
    return _plain(text.splitlines()[0])


def _plain(text: str) -> str:
    """Text that markdown leaves as it is, `code` in it included."""
    spans = re.split(r"(`[^`]+`)", text)
    return "".join(span if span.startswith("`") else re.sub(r"([\\*<>|\[\]])", r"\\\1", span) for span in spans)


def _code(value: Any) -> str:
    return f"`{_json(value)}`"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell.replace(chr(10), ' ') for cell in line)} |" for line in lines)


def main(argv: Sequence[str]) -> int:
    """Write the pages, or with --check tell which are stale; the exit status."""
    if argv not in ([], ["--check"]):
        print("usage: python -m docs.generate [--check]", file=sys.stderr)
        return 2
    problems = unproved()
    print("".join(f"{problem}\n" for problem in problems), end="", file=sys.stderr)
    found = stale()
    for path, text in found.items():
        if argv:
            print(f"{path.relative_to(HERE.parent)} is stale: run `make docs`.", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(HERE.parent)}")
    return 1 if problems or (argv and found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
