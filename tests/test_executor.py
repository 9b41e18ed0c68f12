"""Arguments of a call, from an object or from JSON text."""

import pytest

from toolroll import ToolError
from toolroll.schema.check import parse_arguments


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, {}), ("", {}), ('{"a": 1}', {"a": 1}), (b'{"a": 1}', {"a": 1}), ({"a": 1}, {"a": 1})],
)
def test_arguments_may_be_json_text(given, expected):
    assert parse_arguments(given) == expected


@pytest.mark.parametrize(
    "given", ['{"a": ', "[1]", '"text"', '{"a": NaN}', "[" * 100_000, '{"a": "\\ud800"}', "\ud800", 5]
)
def test_arguments_that_are_no_object_are_refused(given):
    with pytest.raises(ToolError) as caught:
        parse_arguments(given)
    assert caught.value.code == "ValidationError"
