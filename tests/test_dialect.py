"""Views, bundles and speech: the same tool under other names, units and shapes."""

import pytest

from toolroll import Effect, FilePath, Suggestion, ToolError, tool
from toolroll.dialect import Bundle, Shown, View, from_zero
from toolroll.render import DialectWording


@tool(Effect.READ)
def show(path: FilePath, offset: int = 1, limit: int = 10, *, loud: bool = False) -> str:
    """Show it."""
    return f"{path}:{offset}:{limit}:{loud}"


@tool(Effect.WRITE)
def change(path: FilePath, text: str) -> str:
    """Change it."""
    return text


def test_the_native_view_shows_what_the_tool_shows():
    view = View.native(show)
    assert view.schema == show.schema
    assert view.bind({"path": "a"}) == {"path": "a"}


def test_a_view_renames_and_hides():
    view = View("cat", show, {"path": "file", "limit": Shown("lines", default=5)})
    assert list(view.schema["properties"]) == ["file", "lines"]
    assert view.schema["required"] == ["file"]
    assert view.schema["properties"]["lines"]["default"] == 5
    assert view.bind({"file": "a"}) == {"path": "a", "limit": 5}
    assert view.bind({"file": "a", "lines": 7}) == {"path": "a", "limit": 7}


def test_units_and_origins_are_decoded_and_encoded():
    view = View("cat", show, {"offset": from_zero("skip")})
    assert view.bind({"path": "a", "skip": 4}) == {"path": "a", "offset": 5}
    assert view.bind({"path": "a"}) == {"path": "a", "offset": 1}
    assert view.present({"path": "a", "offset": 5}) == {"path": "a", "skip": 4}
    assert view.schema["properties"]["skip"] == {"type": "integer", "default": 0, "minimum": 0}


def test_fixed_values_are_given_and_not_shown():
    view = View("cat", show, fixed={"loud": True})
    assert list(view.schema["properties"]) == ["path"]
    assert view.bind({"path": "a"}) == {"path": "a", "loud": True}


def test_a_view_of_a_parameter_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no parameter lmit"):
        View("cat", show, {"lmit": "lines"})


def test_a_required_parameter_with_a_default_is_not_required_any_more():
    view = View("put", change, {"text": Shown(default="")})
    assert view.schema["required"] == ["path"]
    assert view.bind({"path": "a"}) == {"path": "a", "text": ""}


@pytest.fixture
def bundle():
    actions = {
        "read": View("read", show, {"offset": "start"}),
        "write": View("write", change, {"text": "content"}),
    }
    return Bundle("file", "Files.", actions)


def test_a_bundle_has_one_schema_for_all_its_actions(bundle):
    assert bundle.schema == {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["read", "write"]},
            "path": {"type": "string", "minLength": 1},
            "start": {"type": "integer", "default": 1},
            "content": {"type": "string"},
        },
        "required": ["action", "path"],
        "additionalProperties": False,
    }
    assert bundle.effects == Effect.READ | Effect.WRITE


def test_a_bundle_picks_the_action_and_wants_what_it_needs(bundle):
    assert bundle.pick({"action": "read", "path": "a"}).tool is show
    with pytest.raises(ToolError, match="Action 'write' also needs `content`"):
        bundle.pick({"action": "write", "path": "a"})


def test_a_fault_in_what_another_action_takes_is_none(bundle):
    zero = {"action": "write", "path": "a", "content": "x", "start": "zero"}
    assert bundle.checker.check(zero) == (
        {"action": "write", "path": "a", "content": "x"},
        ["start: not used, left out"],
    )
    with pytest.raises(ToolError, match="`start` must be an integer"):
        bundle.checker.check({**zero, "action": "read"})
    with pytest.raises(ToolError, match="There is no parameter 'colour'"):
        bundle.checker.check({**zero, "colour": 0})


@pytest.mark.parametrize(
    "view", [View.native(show), View("cat", show, {"limit": "limit"}), View("cat", show, {"limit": "n"})]
)
def test_a_view_in_a_bundle_takes_only_what_is_its_own(view):
    arguments = {"action": "read", "path": "a", "text": "of another action"}
    assert view.bind(arguments) == {"path": "a"}
    assert arguments == {"action": "read", "path": "a", "text": "of another action"}


def test_a_bundle_keeps_only_the_actions_a_mode_allows(bundle):
    assert list(bundle.within(Effect.READ).actions) == ["read"]
    assert bundle.within(Effect.NETWORK) is None


def test_one_name_cannot_have_two_types_in_a_bundle():
    actions = {"a": View("a", show, {"offset": "x"}), "b": View("b", change, {"text": "x"})}
    with pytest.raises(ValueError, match="another type"):
        _ = Bundle("both", "Both.", actions).schema


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "Call `change`, or set `offset` and `nothing`, or set `limit` to 3.",
            "Call `file` (action `write`), or set `start` and `nothing`.",
        ),
        ("No. Use `grep` or `show` to look. Set `limit`.", "No. Use `file` (action `read`) to look."),
        ("No. Use `show` or `grep` to look. Set `offset`.", "No. Use `file` (action `read`) to look. Set `start`."),
        ("`limit` is too large; see `fetch` for more. It is 3.", "`limit` is too large. It is 3."),
        ("No.\n1: Use it. Use `grep`.", "No.\n1: Use it. Use `grep`."),
        (
            "No. Give `change.text` to it. See `setup.py`.",
            "No. Give `content` of `file` (action `write`) to it. See `setup.py`.",
        ),
        ("No. Give `grep.path` to it. It is 3.", "No. It is 3."),
    ],
)
def test_speech_uses_the_words_of_the_dialect(bundle, said, shown):
    assert DialectWording({"file": bundle}).message(said, bundle.actions["read"]) == shown


def test_speech_makes_the_calls_of_the_dialect(bundle):
    speech = DialectWording({"file": bundle})
    assert speech.suggestion(Suggestion("show", {"path": "a", "offset": 3})) == Suggestion(
        "file", {"action": "read", "path": "a", "start": 3}
    )


def test_speech_suggests_nothing_that_cannot_be_called(bundle):
    speech = DialectWording({"file": bundle})
    assert speech.suggestion(Suggestion("show", {"path": "a", "limit": 3})) is None
    assert speech.suggestion(Suggestion("other", {})) is None
