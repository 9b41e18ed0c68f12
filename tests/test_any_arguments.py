"""Whatever the arguments: no exception escapes, every answer is typed, nothing outside the workspace is touched."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolroll import Effect, ErrorCode, Kit, Result, dialects

HOSTILE = [
    "", ".", "..", "/", "../../etc/passwd", "/etc/passwd", "a.txt", "sub", "sub/b.txt", "link", "loop", "fifo", "a\0b",
    "\ud800", "-rf", "--help", "~", "$(id)", "%2e%2e/", "a/" * 3000, "x" * 300, "new\nline", "\u202e", "spill:", "spill:../x",
    "(", "[", "{", "*" * 50, "(a+)+$", "**/../**", "{a,b}" * 12, "\\", ".git/config", "CON", "NaN", "1e999", "0x10",
]  # fmt: skip
strings = st.sampled_from(HOSTILE) | st.text(max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**20) | st.floats() | strings | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def fitting(schema):
    """Values that fit one of our schemas, which are plain enough for a few lines."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "string":
            return strings.filter(lambda text: len(text) >= schema.get("minLength", 0))
        case "integer":
            return st.integers(schema.get("minimum", -5), schema.get("maximum", 5000))
        case "number":
            return st.floats(schema.get("minimum", -5), schema.get("maximum", 5000))
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(fitting(schema["items"]), max_size=3)
        case "object":
            required = set(schema.get("required", ()))
            fields = {name: fitting(one) for name, one in schema.get("properties", {}).items()}
            return st.fixed_dictionaries(
                {name: one for name, one in fields.items() if name in required},
                optional={name: one for name, one in fields.items() if name not in required},
            )
    return values


def arguments(schema):
    """Arguments that fit the schema, arguments with hostile strings in place of some, and nonsense."""
    properties = schema["properties"]
    hostile = st.fixed_dictionaries(
        {},
        optional={
            name: strings if kind.get("type") == "string" and "enum" not in kind else fitting(kind) | values
            for name, kind in properties.items()
        },
    )
    return fitting(schema) | hostile | st.dictionaries(st.sampled_from([*properties, "zzz"]), values) | values


@pytest.fixture(scope="module", params=dialects.names())
def kit(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    ws = folder / "ws"
    (ws / "sub").mkdir(parents=True)
    (folder / "outside").mkdir()
    (folder / "outside" / "secret.txt").write_text("SECRET")
    (ws / "a.txt").write_text("alpha\nbeta\n")
    (ws / "sub" / "b.txt").write_text("bee\n")
    (ws / "link").symlink_to("../outside")
    (ws / "loop").symlink_to("loop")
    os.mkfifo(ws / "fifo")
    with Kit(ws, request.param, state_dir=folder / "state") as opened:
        yield opened
    assert sorted(os.listdir(folder / "outside")) == ["secret.txt"]
    assert (folder / "outside" / "secret.txt").read_text() == "SECRET"


def check(kit, name, given):
    result = kit.call(name, given)
    assert isinstance(result, Result)
    assert isinstance(result.text, str)
    assert (result.error is None) is result.ok
    assert result.ok or (isinstance(result.error.code, ErrorCode) and result.error.message)
    assert "SECRET" not in result.text
    return result


CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@settings(max_examples=10, suppress_health_check=CHECKS)
@given(data=st.data())
def test_every_answer_is_typed(kit, data):
    one_call(kit, data)


@pytest.mark.slow
@settings(max_examples=1200, suppress_health_check=CHECKS)
@given(data=st.data())
def test_every_answer_is_typed_at_length(kit, data):
    one_call(kit, data)


def one_call(kit, data):
    entry = data.draw(st.sampled_from([one for one in kit.entries() if Effect.SHELL not in one.effects]))
    result = check(kit, entry.name, data.draw(arguments(entry.schema)))
    assert "Traceback" not in result.text


@settings(max_examples=14, suppress_health_check=CHECKS)
@given(data=st.data())
def test_every_answer_of_what_runs_programs_is_typed(kit, data):
    """Fewer, for each may start one. What a program itself prints may be a traceback."""
    running = [one for one in kit.entries() if Effect.SHELL in one.effects]
    if not running:
        pytest.skip("This dialect runs no programs.")
    entry = data.draw(st.sampled_from(running))
    given = data.draw(arguments(entry.schema))
    soon = isinstance(given, dict) and "timeout" in entry.schema["properties"]
    check(kit, entry.name, {**given, "timeout": 2} if soon else given)
