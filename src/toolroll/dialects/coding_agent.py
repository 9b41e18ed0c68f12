"""Coding Agent (seed 002): one tool a subject, an action picks the operation. So far its files and searches."""

from toolroll.dialect import Bundle, Dialect, Profile, Shown, View
from toolroll.policy.limits import Limits
from toolroll.tools.files.edit import edit
from toolroll.tools.files.insert import insert
from toolroll.tools.files.ls import ls
from toolroll.tools.files.read import read
from toolroll.tools.files.replace_lines import replace_lines
from toolroll.tools.files.stat import stat
from toolroll.tools.files.undo import undo
from toolroll.tools.files.write import write

_PATH = Shown(description="Relative file/directory path (sandboxed to workspace)", required=True)
_START = Shown("start_line", description="Start line, 1-based (default: 1)")
_END = Shown("end_line", description="End line, inclusive")
_NUMBERS = Shown("show_line_numbers", description="Show line numbers in `read` output (default: true)")
_OLD = Shown("old_string", description="String to find (`edit` action)")
_NEW = Shown("new_string", description="Replacement string (`edit` action)")

DIALECT = Dialect(
    "coding-agent",
    "Coding Agent's tool system: file.",
    entries=(
        Bundle(
            "file",
            "File operations with path sandboxing, syntax validation, and undo.",
            {
                "read": View(
                    "read",
                    read,
                    {"path": _PATH, "offset": _START, "end": _END, "numbers": _NUMBERS},
                    fixed={"limit": 200},
                ),
                "write": View("write", write, {"path": _PATH}, fixed={"syntax": True}),
                "edit": View("edit", edit, {"path": _PATH, "old": _OLD, "new": _NEW}, fixed={"syntax": True}),
                "insert": View(
                    "insert", insert, {"path": _PATH, "line": _START, "content": "content"}, fixed={"syntax": True}
                ),
                "replace_lines": View(
                    "replace_lines",
                    replace_lines,
                    {"path": _PATH, "start": _START, "end": _END, "content": Shown(default="")},
                    fixed={"syntax": True, "keep_flow": True},
                ),
                "undo": View("undo", undo, {"path": Shown(required=True)}),
                "list_dir": View("list_dir", ls, {"path": _PATH}, fixed={"limit": 200}),
                "file_info": View("file_info", stat, {"path": _PATH}),
            },
        ),
    ),
    profile=Profile(limits=Limits(write_bytes=5_000_000), guard="none"),
)
