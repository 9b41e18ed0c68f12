"""`toolroll tools` for people and for programs."""

import json
import re
from collections.abc import Callable

import pytest

from toolroll import Kit, dialects
from toolroll.text.tokens import estimate

Run = Callable[..., tuple[int, str, str]]


def test_the_table_has_a_row_for_each_tool_and_the_total(quick: Run, kit: Kit) -> None:
    status, out, err = quick("tools")
    assert (status, err) == (0, "")
    tools, total, costs_by_dialect = out.split("\n\n")
    header, *rows = tools.splitlines()
    assert header.split() == ["tool", "effects", "shown", "tokens", "what", "it", "does"]
    assert [row.split()[0] for row in rows] == kit.names()
    shown = kit.definitions()
    tokens = sum(estimate(json.dumps(one, separators=(",", ":"), ensure_ascii=False)) for one in shown)
    assert total == (
        f"{len(rows)} tools. The {len(shown)} that a model is shown at first cost it about {tokens:,} tokens "
        "(characters of the JSON / 4)."
    )
    header, *rows = costs_by_dialect.splitlines()
    assert header.split() == ["dialect", "tools", "shown", "tokens", "if", "all", "were", "shown"]
    costs = {name: cells for name, *cells in map(str.split, rows)}
    assert list(costs) == dialects.names()
    assert costs["native"][:3] == [str(len(kit.names()) - 2), str(len(shown)), f"{tokens:,}"]
    assert costs["pigo"][:2] == ["7", "7"]
    assert costs["pigo"][2] == costs["pigo"][3]


def test_rows_for_programs(quick: Run) -> None:
    status, out, _ = quick("tools", "--json", "--dialect", "cdd", "--mode", "thinking")
    assert status == 0
    rows = json.loads(out)
    assert [row["name"] for row in rows] == ["read", "glob", "grep"]
    tokens = rows[1].pop("tokens")
    assert 50 < tokens < 200
    assert rows[1] == {
        "name": "glob",
        "category": "search",
        "effects": ["read"],
        "safe": True,
        "shown": True,
        "summary": "Find files by pattern",
    }


@pytest.mark.parametrize("shape", ["openai", "anthropic", "gemini", "mcp"])
def test_definitions_are_those_of_the_kit(quick: Run, open_kit: Callable[..., Kit], shape: str) -> None:
    status, out, _ = quick("tools", "--format", shape, "-d", "pigo")
    assert status == 0
    assert json.loads(out) == open_kit("pigo").definitions(shape)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_are_for_terminals_that_want_them(quick: Run, variables: dict[str, str], coloured: bool) -> None:
    status, out, _ = quick("tools", TERM="xterm", **variables)
    assert status == 0
    assert ("\x1b[32mread" in out) is coloured


def test_a_table_is_as_wide_as_the_terminal(quick: Run) -> None:
    _, shown, _ = quick("tools", COLUMNS="60", FORCE_COLOR="1", NO_COLOR="1", TERM="xterm")
    table = re.sub(r"\x1b\[\d*m", "", shown).partition("\n\n")[0]
    lines = [line.rstrip() for line in table.splitlines()]
    assert max(map(len, lines)) <= 60
    assert lines[0].split() == ["tool", "effects", "shown", "tokens", "what", "it", "does"]
    assert {"read", "edit_symbol"} <= {line.split()[0] for line in lines if line and line[0] != " "}
