"""Views, bundles and speech: the same tool under other names, units and shapes."""

import re
from typing import Annotated, Literal

import pytest

from toolroll import Effect, Field, FilePath, Suggestion, ToolError, tool
from toolroll.dialect import Bundle, Dialect, Param, Profile, View, from_zero, milliseconds
from toolroll.wording import DialectWording


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
    view = View("cat", show, {"path": "file", "limit": Param("lines", default=5)})
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


def test_a_suggested_call_leaves_out_what_is_fixed_to_the_same_value():
    view = View("cat", show, fixed={"loud": True})
    assert view.present({"path": "a", "loud": True}) == {"path": "a"}
    assert view.present({"path": "a", "loud": False}) is None


def test_an_alias_is_another_name_and_what_is_unused_is_dropped():
    why = Param(description="Why.", schema={"type": "string"}, required=True)
    view = View("cat", show, {"limit": "lines"}, aliases={"-n": "lines"}, unused={"why": why})
    assert list(view.schema["properties"]) == ["path", "lines", "why", "-n"]
    assert view.schema["required"] == ["path", "why"]
    assert view.schema["properties"]["-n"] == {"type": "integer", "default": 10, "description": "The same as lines."}
    assert view.bind({"path": "a", "-n": 3, "why": "so"}) == {"path": "a", "limit": 3}


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"aliases": {"path": "limit"}}, "two parameters are called 'path'"),
        ({"unused": {"path": Param()}}, "two parameters are called 'path'"),
        ({"aliases": {"x": "limit"}, "unused": {"x": Param()}}, "two parameters are called 'x'"),
        ({"aliases": {"x": "lmit"}}, "an alias of 'lmit', which is not shown"),
    ],
)
def test_an_alias_that_cannot_be_is_refused(more, fault):
    with pytest.raises(ValueError, match=fault):
        View("cat", show, {"limit": "limit"}, **more)


def test_a_view_of_a_parameter_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no parameter lmit"):
        View("cat", show, {"lmit": "lines"})


def test_a_required_parameter_with_a_default_is_not_required_any_more():
    view = View("put", change, {"text": Param(default="")})
    assert view.schema["required"] == ["path"]
    assert view.bind({"path": "a"}) == {"path": "a", "text": ""}


@tool(Effect.READ)
def wait(
    seconds: Annotated[float, Field(ge=0.1, le=600)] = 30,
    style: Literal["slow", "quick"] = "slow",
    name: Annotated[str, Field(min_length=1)] = "x",
    loud: bool = False,
) -> str:
    """Wait."""
    return f"{seconds}:{style}:{name}:{loud}"


def in_milliseconds(**schema):
    return Param(default=500, decode=lambda value: value / 1000, schema=schema)


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({"loud": "--i"}, "'--i' cannot be passed on the command line"),
        ({"loud": "is loud"}, "'is loud' cannot be passed on the command line"),
        ({"loud": "a=b"}, "'a=b' cannot be passed on the command line"),
        ({"loud": "2nd"}, "'2nd' cannot be passed on the command line"),
        ({"loud": "same", "name": "same"}, "two parameters are called 'same'"),
        ({"seconds": Param(default=601)}, "'seconds' has the default 601, which its own schema does not allow"),
        ({"seconds": Param(default=0)}, "the default 0,"),
        ({"seconds": Param(default="30")}, "the default '30',"),
        ({"seconds": Param(default=True)}, "the default True,"),
        ({"seconds": Param(schema={"maximum": 20})}, "the default 30,"),
        ({"style": Param(default="fast")}, "the default 'fast',"),
        ({"name": Param(default="")}, "the default '',"),
        ({"loud": Param(default=0)}, "the default 0,"),
        ({"seconds": Param(schema={"maximum": 601})}, "the 'maximum' 601, so that the tool would get 601"),
        ({"seconds": Param(schema={"minimum": 0})}, "the 'minimum' 0, so that the tool would get 0; .* is 0.1"),
        ({"seconds": Param(schema={"maximum": None})}, "has no 'maximum'"),
        ({"seconds": Param(schema={"minimum": None})}, "has no 'minimum'"),
        ({"seconds": Param(decode=lambda value: value / 1000)}, "so it needs a default of its own"),
        ({"seconds": in_milliseconds()}, "counts in another unit than the tool, so it needs a 'minimum' of its own"),
        ({"seconds": in_milliseconds(minimum=100)}, "so it needs a 'maximum' of its own"),
        ({"seconds": in_milliseconds(minimum=1, maximum=600_000)}, "the tool would get 0.001; its own minimum is 0.1"),
        ({"seconds": in_milliseconds(minimum=100, maximum=700_000)}, "the tool would get 700; its own maximum is 600"),
    ],
)
def test_a_view_that_cannot_be_right_is_refused(params, fault):
    with pytest.raises(ValueError, match=f"^pause: .*{fault}"):
        View("pause", wait, params)


@pytest.mark.parametrize(
    "params",
    [
        {"loud": "is-loud_2.x", "name": "_name"},
        {"loud": "-l"},
        {"seconds": Param(default=600), "style": Param(default="quick"), "loud": Param(default=True)},
        {"seconds": Param(default=0.1)},
        {"seconds": Param(default=None), "name": Param(default=None)},
        {"seconds": Param(schema={"minimum": 0.1, "maximum": 600})},
        {"seconds": in_milliseconds(minimum=100, maximum=600_000)},
        {"seconds": milliseconds(120_000, most=600_000)},
        {"seconds": milliseconds(120_000, most=600_000, clamp=True)},
        {"seconds": Param(None, 5, lambda value: max(1, min(value, 9)), schema={"minimum": None, "maximum": None})},
        {"seconds": Param("quickly", True, {True: 1, False: 9}.get, schema={"type": "boolean", "maximum": None})},
    ],
)
def test_a_view_that_is_right_is_made(params):
    assert View("pause", wait, params).schema["type"] == "object"


def test_milliseconds_are_kept_within_the_tool_s_bounds():
    view = View("pause", wait, {"seconds": milliseconds(120_000, most=600_000, clamp=True)})
    assert [view.bind({"seconds": value})["seconds"] for value in (1, 99, 100, 2_000, 600_000, 10**9)] == [
        *(0.1, 0.1, 0.1, 2.0, 600.0, 600.0)
    ]
    assert view.bind({})["seconds"] == 120.0


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ({"guard": "sean"}, "A profile's guard is 'sean'. There are: 'none', 'fresh', 'seen'."),
        ({"keep": "start"}, "A profile's keep is 'start'. There are: 'head', 'tail', 'middle'."),
    ],
)
def test_an_unknown_value_of_a_profile_is_refused(profile, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        Profile(**profile)


def test_a_dialect_has_each_name_once():
    with pytest.raises(ValueError, match="The dialect 'x' has two entries 'show'"):
        Dialect("x", "About.", (View.native(show), View("show", change)))


def test_a_dialect_whose_bundle_cannot_be_is_refused():
    actions = {"a": View("a", show, {"offset": "x"}), "b": View("b", change, {"text": "x"})}
    with pytest.raises(ValueError, match="another type in action 'b'"):
        Dialect("x", "About.", (Bundle("both", "Both.", actions),))


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
    assert DialectWording(lambda _: [bundle]).message(said, bundle.actions["read"]) == shown


def test_speech_makes_the_calls_of_the_dialect(bundle):
    speech = DialectWording(lambda _: [bundle])
    assert speech.suggestion(Suggestion("show", {"path": "a", "offset": 3})) == Suggestion(
        "file", {"action": "read", "path": "a", "start": 3}
    )


def test_speech_suggests_nothing_that_cannot_be_called(bundle):
    speech = DialectWording(lambda _: [bundle])
    assert speech.suggestion(Suggestion("show", {"path": "a", "limit": 3})) is None
    assert speech.suggestion(Suggestion("other", {})) is None


def test_a_dialect_is_changed_by_the_names_of_its_tools_and_their_parameters(bundle):
    view = View("cat", show, {"path": "file", "offset": from_zero("skip")}, fixed={"limit": 5})
    assert view.schema["properties"]["skip"]["default"] == 0
    made = Dialect("x", "About.", (view, bundle)).changed(cat={"limit": 7, "offset": 3}, file={"loud": True})
    assert made.entries[0].bind({"file": "a"}) == {"path": "a", "offset": 3, "limit": 7}
    assert made.entries[0].schema["properties"]["skip"]["default"] == 2
    assert [one.fixed for one in made.entries[1].views()] == [{"loud": True}, {}]
    assert view.bind({"file": "a"}) == {"path": "a", "offset": 1, "limit": 5}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"dog": {}}, "The dialect 'x' has no tool 'dog'. It has: file."),
        ({"file": {"lmit": 1}}, "file: no action has a parameter lmit."),
    ],
)
def test_a_change_of_what_is_not_there_is_refused(bundle, values, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        Dialect("x", "About.", (bundle,)).changed(**values)
