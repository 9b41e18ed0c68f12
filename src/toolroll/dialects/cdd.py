"""CDD (seed 000): read before edit, 0-based offsets, absolute paths, newest files first."""

from functools import partial

from toolroll.dialect import Dialect, Param, Profile, View, fields, from_zero, milliseconds
from toolroll.host.search.grep_report import Matches
from toolroll.policy.limits import Limits
from toolroll.text.shown_lines import ShownLines as Lines
from toolroll.tools.files.edit import edit
from toolroll.tools.files.read import read
from toolroll.tools.files.write import write
from toolroll.tools.search.find import find
from toolroll.tools.search.grep import grep
from toolroll.tools.shell.bash import bash

_PATH = Param("file_path", description="Absolute path to file")
_WALK = {"ignored": True, "skip": ("node_modules", "vendor", "__pycache__")}

DIALECT = Dialect(
    "cdd",
    "CDD CLI's tools module: read, glob, grep, write, edit, bash.",
    entries=(
        View(
            "read",
            read,
            {
                "path": _PATH,
                "offset": from_zero(description="Line number to start from (0-based)"),
                "limit": "limit",
            },
            fixed={"raw": True},
            description="Read file contents with line numbers",
            category="file",
            text=partial(Lines.numbered, form="{:>6}→{}"),
        ),
        View("glob", find, {"path": "path"}, fixed=_WALK, description="Find files by pattern", category="file"),
        View(
            "grep",
            grep,
            {"path": "path", "include": "include", "literal": "literal_text"},
            fixed=_WALK,
            description="Search file contents",
            category="file",
            text=Matches.located,
        ),
        View(
            "write",
            write,
            {"path": _PATH, "content": Param(schema={"minLength": 1})},
            fixed={"unchanged": "refuse"},
            description="Write or create files",
            category="file",
        ),
        View(
            "edit",
            edit,
            {
                "path": _PATH,
                "old": Param("old_string", default="", description="Text to find (empty = create new file)"),
                "new": Param("new_string", default="", description="Replacement text (empty = delete)"),
                "replace_all": "replace_all",
            },
            fixed={"create": True, "match": "exact"},
            description="Edit file contents",
            category="file",
        ),
        View(
            "bash",
            bash,
            {
                "command": Param(description="Command to execute", schema={"minLength": 1}),
                "description": Param(description="Brief description"),
                "cwd": Param("working_dir", description="Execution directory"),
                "timeout": milliseconds(120_000, most=600_000, clamp=True),
            },
            fixed={"detach": False, "remember": "nothing"},
            description="Execute shell commands",
            category="system",
            data=fields(start="start", end="end", exit_code="exit_code", output="output", cwd="cwd"),
        ),
    ),
    profile=Profile(
        limits=Limits(read_bytes=5 * 1024 * 1024, output_chars=200_000), guard="seen", keep="middle", commands="cdd"
    ),
)
