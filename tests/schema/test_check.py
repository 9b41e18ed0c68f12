"""Arguments are checked against the schema that the model saw, and every fault is told at once."""

import http.server
import threading

import jsonschema_rs
import pytest

from toolroll import Kit, ToolError
from toolroll.schema import Checker, object_schema
from toolroll.schema.check import is_plainly_valid

SCHEMA = object_schema(
    {
        "path": {"type": "string", "minLength": 1, "description": "The file."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 9},
        "kind": {"type": "string", "enum": ["file", "folder"]},
        "names": {"type": "array", "items": {"type": "string"}},
        "flag": {"type": "boolean"},
        "extra": {"type": "object"},
        "share": {"type": "number"},
    },
    ["path"],
)


@pytest.mark.parametrize(
    ("arguments", "faults"),
    [
        ({}, ["`path` is required (string). The file."]),
        ({"path": ""}, ["`path` is required and must not be empty. The file."]),
        ({"path": 42}, ["`path` must be a string, not 42."]),
        ({"path": "a", "limit": 0}, ["`limit` must be at least 1, not 0."]),
        ({"path": "a", "limit": 10}, ["`limit` must be at most 9, not 10."]),
        ({"path": "a", "limit": 1.5}, ["`limit` must be an integer, not 1.5."]),
        ({"path": "a", "kind": "planet"}, ["`kind` must be one of 'file', 'folder', not 'planet'."]),
        ({"path": "a", "names": ["b", 3]}, ["`names.1` must be a string, not 3."]),
        ({"path": "a", "lmit": 3}, ["There is no parameter 'lmit'; did you mean `limit`?"]),
        (
            {"limit": "x", "kind": 1},
            [
                "`path` is required (string). The file.",
                "`limit` must be an integer, not 'x'.",
                "`kind` must be one of 'file', 'folder', not 1.",
                "`kind` must be a string, not 1.",
            ],
        ),
    ],
)
def test_all_faults_are_told_in_words(arguments, faults):
    with pytest.raises(ToolError) as caught:
        Checker(SCHEMA).check(arguments)
    assert sorted(caught.value.details) == sorted(faults)
    assert caught.value.code == "ValidationError"


def test_an_unknown_parameter_lists_those_there_are():
    with pytest.raises(ToolError, match="there are: `path`, `limit`"):
        Checker(SCHEMA).check({"path": "a", "zzzzzz": 1})


@pytest.mark.parametrize(
    ("given", "checked", "coerced"),
    [
        ({"path": "a", "limit": "5"}, {"path": "a", "limit": 5}, ["limit: str read as int"]),
        ({"path": "a", "share": "0.5"}, {"path": "a", "share": 0.5}, ["share: str read as float"]),
        ({"path": "a", "flag": "true"}, {"path": "a", "flag": True}, ["flag: str read as bool"]),
        (
            {"path": "a", "names": '["x","y"]'},
            {"path": "a", "names": ["x", "y"]},
            ["names: str read as list"],
        ),
        ({"path": "a", "names": "x"}, {"path": "a", "names": ["x"]}, ["names: str read as list"]),
        ({"path": "a", "extra": '{"k": 1}'}, {"path": "a", "extra": {"k": 1}}, ["extra: str read as dict"]),
        ({"filePath": "a"}, {"path": "a"}, ["filePath read as path"]),
        ({"file_path": "a"}, {"path": "a"}, ["file_path read as path"]),
        ({"path": "a", "kind": None}, {"path": "a"}, ["kind: null left out"]),
        (
            {"path": "a", "kind": "", "limit": "", "names": ""},
            {"path": "a"},
            ["kind: empty text left out", "limit: empty text left out", "names: empty text left out"],
        ),
    ],
)
def test_usual_slips_are_mended_and_told(given, checked, coerced):
    assert Checker(SCHEMA).check(given) == (checked, coerced)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a", "names": '["x", '},  # cut off: never guess the rest
        {"path": "a", "limit": "five"},
        {"path": "a", "share": "nan"},
        {"path": "a", "limit": "9" * 30},
        {"filePath": "a", "file_path": "b"},  # two names for one parameter
        {"path": None},
        {1: "a"},
        {"path": "a", "extra": {"deep": float("nan"), "b": b"bytes"}, "limit": 100},
    ],
)
def test_what_cannot_be_mended_is_refused(arguments):
    with pytest.raises(ToolError):
        Checker(SCHEMA).check(arguments)


def test_right_arguments_are_not_touched():
    given = {"path": "5", "names": ["[1]"], "extra": {"a": "1"}}
    assert Checker(SCHEMA).check(given) == (given, [])


@pytest.fixture
def server():
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}", asked
        running.shutdown()
        thread.join()


def test_a_reference_to_an_address_or_file_is_never_followed(server, tmp_path):
    address, asked = server
    secret = tmp_path / "schema.json"
    secret.write_text("{}")
    for reference in (f"{address}/schema", secret.as_uri()):
        with pytest.raises(ToolError, match="may not refer"):
            Checker({"type": "object", "properties": {"a": {"$ref": reference}}}).check({"a": 1})
    assert asked == []


def test_what_is_taken_without_the_validator_is_valid(ws):
    words = ["", "a", "file", "é", "\ud800", 0, 1, -3, 7, 10**40, 1.0, True, False, None, [], ["a"], {}, {"a": 1}]
    with Kit(ws) as kit:
        schemas = [SCHEMA, *(entry.schema for entry in kit.entries())]
    taken = 0
    for schema in schemas:
        validator = jsonschema_rs.validator_for(schema)
        required = dict.fromkeys(schema.get("required", ()), "file")
        for name in (*schema["properties"], "other"):
            for word in words:
                for arguments in ({name: word}, required | {name: word}):
                    if is_plainly_valid(schema, arguments):
                        taken += 1
                        assert validator.is_valid(arguments), (schema, arguments)
    assert taken > 100
    assert is_plainly_valid(SCHEMA, {"path": "a", "limit": 9, "kind": "file", "flag": False})
    assert not is_plainly_valid({"type": "object", "properties": {"a": {}}, "minProperties": 1}, {})
