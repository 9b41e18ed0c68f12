"""Anthropic's client tools, by their API types: text_editor_20250728 and bash_20250124."""

from dataclasses import replace

from toolroll import vendor_shapes
from toolroll.dialect import Bundle, Dialect, Param, Profile, View
from toolroll.tools.files.edit import edit
from toolroll.tools.files.insert import insert
from toolroll.tools.files.read import read
from toolroll.tools.files.write import write
from toolroll.tools.shell.bash import bash

PATH = Param(description="File or folder, as an absolute path or relative to the workspace")
AFTER = Param(
    "insert_line",
    decode=lambda line: line + 1,
    encode=lambda line: line - 1,
    description="Line after which the text goes in; 0 is the start of the file",
    schema={"anyOf": None, "type": "integer", "minimum": 0},
)

RESTART = Param(
    default=False,
    decode={True: "reset", False: "all"}.get,
    description="Forget the folder and variables of earlier commands",
    schema={"type": "boolean", "enum": None},
)
_TEXT = Param("insert_text", decode=lambda text: text or "\n", schema={"minLength": None})


VIEW = View(
    "view",
    read,
    {
        "path": PATH,
        "span": Param(
            "view_range",
            description="First and last line of a file to show; -1 is its end",
            schema={"anyOf": None, "type": "array", "items": {"type": "integer"}},
        ),
    },
    fixed={"levels": 2, "limit": 1_000_000},
    text=vendor_shapes.show_editor_lines,
)
CREATE: dict[str, str | Param] = {"path": PATH, "content": Param("file_text", description="Content of the new file")}
REPLACE = View(
    "str_replace",
    edit,
    {"path": PATH, "old": "old_str", "new": Param("new_str", default="")},
    text=vendor_shapes.show_editor_edit,
)


DIALECT = Dialect(
    "anthropic",
    "Anthropic's text editor and bash tools, which its API knows by type.",
    entries=(
        Bundle(
            "str_replace_based_edit_tool",
            "View, create and edit text files: view shows a file or folder, create writes a file, str_replace "
            "replaces text that occurs once, insert puts text after a line.",
            {
                "view": VIEW,
                "create": View("create", write, CREATE, text=lambda done: f"File created successfully at: {done.path}"),
                "str_replace": REPLACE,
                "insert": View(
                    "insert",
                    insert,
                    {"path": PATH, "line": AFTER, "content": _TEXT},
                    aliases={"new_str": "insert_text"},
                    text=vendor_shapes.show_editor_edit,
                ),
            },
            "command",
        ),
        View(
            "bash",
            bash,
            {
                "command": Param(default="", description="Command to run"),
                "remember": replace(RESTART, name="restart"),
            },
            fixed={"detach": False, "on_timeout": "say"},
            description="Run a shell command, confined to the workspace, in the folder that the last one ended in.",
        ),
    ),
    profile=Profile(
        api_types={"str_replace_based_edit_tool": "text_editor_20250728", "bash": "bash_20250124"},
    ),
)
