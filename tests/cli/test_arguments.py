"""Words of the command line read by a schema, and spelled so that they are read the same."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from toolroll.cli.arguments import format_arguments, parse_arguments
from toolroll.cli.command import UsageError

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer"},
        "ratio": {"type": "number"},
        "all": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object"},
        "any": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
    "required": ["path"],
}

READ: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["path=5"], {"path": "5"}),
    (["path=true"], {"path": "true"}),
    (['path={"a": 1}'], {"path": '{"a": 1}'}),
    (["path="], {"path": ""}),
    (["path=a=b"], {"path": "a=b"}),
    (["path=two words"], {"path": "two words"}),
    (["limit=5", "ratio=0.5", "all=true"], {"limit": 5, "ratio": 0.5, "all": True}),
    (["limit=1.5"], {"limit": 1.5}),  # JSON, though the wrong kind: the kit says so
    (['names=["a", "b"]'], {"names": ["a", "b"]}),
    (["names=a"], {"names": ["a"]}),
    (["names=a", "names=b"], {"names": ["a", "b"]}),
    (["sizes=1", "sizes=[2, 3]"], {"sizes": [1, 2, 3]}),
    (['options={"a": 1}'], {"options": {"a": 1}}),
    (["any=5"], {"any": 5}),
    (["any=x y"], {"any": "x y"}),
    (["unknown=5"], {"unknown": "5"}),
    (["path=@@home"], {"path": "@home"}),
    (["path=@@@"], {"path": "@@"}),
    (['{"path": "a", "limit": 5}'], {"path": "a", "limit": 5}),
    (["path=@value.txt"], {"path": "line one\r\nline två\n"}),
    (["limit=@number.json"], {"limit": 12}),
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "value.txt").write_bytes("line one\r\nline två\n".encode())
    (tmp_path / "number.json").write_text("12\n")
    (tmp_path / "bytes.bin").write_bytes(b"\xff")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("words", "arguments"), READ)
def test_words_are_read_by_the_schema(words: list[str], arguments: dict[str, Any]) -> None:
    assert parse_arguments(words, SCHEMA) == arguments


WRONG = [
    (["limit=abc"], "limit must be an integer, not 'abc'."),
    (["all=yes"], "all must be a boolean (true or false), not 'yes'."),
    (["names=[a"], """names must be an array such as ["a", "b"], not '[a'."""),
    (["sizes=x"], "sizes must be an integer, not 'x'."),
    (["options=x"], """options must be an object such as {"a": 1}, not 'x'."""),
    (["limit=" + "9" * 100 + "x"], "limit must be an integer, not '" + "9" * 57 + "...'."),
    (["a.txt"], "Arguments are given as key=value, and 'a.txt' is not. Did you mean path=a.txt?"),
    (["all"], "Did you mean all=true?"),
    (["limit"], "Did you mean limit=VALUE?"),
    (["=a"], "Did you mean path="),
    (["path=a", "path=b"], "'path' is given twice."),
    (['{"path": '], "The arguments are JSON that is cut off after 9 characters"),
    (['{"path": "a"}', "limit=1"], "Give all arguments as one JSON object, or each as key=value, not both."),
    (["path=@nowhere"], "Cannot read the file 'nowhere' for path: No such file or directory."),
    (["path=@nowhere"], "A value that begins with @ is written with two: path=@@nowhere"),
    (["path=@bytes.bin"], "'bytes.bin' is not UTF-8 text: byte 0 cannot be read."),
    (["path=@-", "any=@-"], "Standard input can be read for one argument only."),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_what_cannot_be_read_is_told(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_arguments(words, SCHEMA)
    assert message in str(told.value)


SPELLED: list[dict[str, Any]] = [
    {"path": "a b"},
    {"path": "@home"},
    {"path": "5", "limit": 5, "all": False},
    {"path": "it's\n", "names": ["a", "b'c"]},
    {"options": {"a": [1, None]}, "any": 3},
    {"path": "it's", "-i": True},
]


@pytest.mark.parametrize("arguments", SPELLED)
def test_what_is_spelled_is_read_again(arguments: dict[str, Any]) -> None:
    assert parse_arguments(shlex.split(format_arguments(arguments, SCHEMA)), SCHEMA) == arguments
