"""Each dialect shows the tools and parameters that its document describes: names, types, what is required."""

import pytest

S, I, B = "string", "integer", "boolean"  # noqa: E741 (short, so that the tables can be read beside the documents)

CDD = {
    "read": {"file_path!": S, "offset": I, "limit": I},
    "glob": {"pattern!": S, "path": S},
    "grep": {"pattern!": S, "path": S, "include": S, "literal_text": B},
    "write": {"file_path!": S, "content!": S},
    "edit": {"file_path!": S, "old_string": S, "new_string": S, "replace_all": B},
}
PIGO = {
    "read": {"path!": S, "offset": I, "limit": I},
    "write": {"path!": S, "content!": S},
    "edit": {"path!": S, "old_string!": S, "new_string!": S, "all": B},
    "grep": {"pattern!": S, "path": S, "include": S, "context_lines": I},
    "find": {"pattern!": S, "path": S, "type": S},
    "ls": {"path!": S, "all": B},
}


@pytest.mark.parametrize(("dialect", "document"), [("cdd", CDD), ("pigo", PIGO)])
def test_as_the_document_says(open_kit, dialect, document):
    shown = {}
    for entry in open_kit(dialect).entries():
        required = entry.schema.get("required", ())
        shown[entry.name] = {
            name + ("!" if name in required else ""): kind["type"] for name, kind in entry.schema["properties"].items()
        }
    assert shown == document


@pytest.mark.parametrize(
    ("dialect", "tool", "parameter", "default"),
    [
        ("cdd", "read", "offset", 0),
        ("cdd", "read", "limit", 2000),
        ("pigo", "read", "offset", 1),
        ("pigo", "grep", "path", "."),
    ],
)
def test_defaults(open_kit, dialect, tool, parameter, default):
    entry = next(one for one in open_kit(dialect).entries() if one.name == tool)
    assert entry.schema["properties"][parameter]["default"] == default
