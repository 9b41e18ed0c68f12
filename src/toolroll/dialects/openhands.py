"""OpenHands' default agent tools: terminal, file_editor and task_tracker, with grep and glob."""

from dataclasses import replace

from toolroll import vendor_shapes
from toolroll.dialect import Bundle, Dialect, Param, Profile, View
from toolroll.dialects.anthropic import AFTER, CREATE, PATH, REPLACE, RESTART, VIEW
from toolroll.policy.limits import Limits
from toolroll.tools.files.insert import insert
from toolroll.tools.files.undo import undo
from toolroll.tools.files.write import write
from toolroll.tools.search.find import find
from toolroll.tools.search.grep import grep
from toolroll.tools.session.finish import finish
from toolroll.tools.session.todo_read import todo_read
from toolroll.tools.session.todo_write import todo_write
from toolroll.tools.shell.bash import bash

_OUTPUT_CHARS = 30_000
_TASK = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "description": "What is to be done"},
        "notes": {"type": "string", "description": "More about it", "default": ""},
        "status": {"type": "string", "enum": ["todo", "in_progress", "done"], "default": "todo"},
    },
    "required": ["title"],
    "additionalProperties": False,
}


DIALECT = Dialect(
    "openhands",
    "The tools of OpenHands' agents: terminal, file_editor, task_tracker, grep, glob and finish.",
    entries=(
        View(
            "terminal",
            bash,
            {
                "command": Param(description="Command to run"),
                "timeout": Param(
                    default=120,
                    decode=lambda value: min(max(value, 0.1), 600),
                    description="Seconds, at most 600",
                    schema={"minimum": 0, "maximum": None},
                ),
                "remember": replace(RESTART, name="reset"),
            },
            fixed={"detach": False, "most": _OUTPUT_CHARS, "on_timeout": "say"},
            unused={
                "is_input": Param(schema={"type": "boolean", "enum": [False]}, description="Commands take no input"),
            },
            description="Run a shell command, confined to the workspace, in the folder that the last one ended in.",
            text=vendor_shapes.show_openhands_command,
        ),
        Bundle(
            "file_editor",
            "View, create and edit text files: view shows a file or folder, create makes a new file, str_replace "
            "replaces text that occurs once, insert puts text after a line, undo_edit takes the last edit back.",
            {
                "view": VIEW,
                "create": View(
                    "create",
                    write,
                    CREATE,
                    fixed={"overwrite": False},
                    text=lambda done: f"File created successfully at: {done.path}",
                ),
                "str_replace": REPLACE,
                "insert": View(
                    "insert",
                    insert,
                    {"path": PATH, "line": AFTER, "content": "new_str"},
                    text=vendor_shapes.show_editor_edit,
                ),
                "undo_edit": View(
                    "undo_edit",
                    undo,
                    {
                        "path": Param(
                            description=PATH.description, required=True, schema={"anyOf": None, "type": "string"}
                        )
                    },
                    text=lambda done: f"Last edit to {', '.join(done.paths)} undone successfully.",
                ),
            },
            "command",
        ),
        Bundle(
            "task_tracker",
            "Plan work of several steps: view shows the task list, plan writes all of it.",
            {
                "view": View("view", todo_read, text=vendor_shapes.show_openhands_tasks),
                "plan": View(
                    "plan",
                    todo_write,
                    {
                        "todos": Param(
                            "task_list",
                            decode=vendor_shapes.read_openhands_tasks,
                            description="The whole list",
                            schema={"type": "array", "items": _TASK},
                        )
                    },
                    text=lambda kept: f"Task list has been updated with {kept.total} item(s).",
                ),
            },
            "command",
        ),
        View(
            "grep",
            grep,
            {"path": "path", "include": "include"},
            fixed={"output": "files", "ignore_case": True},
            description="Find files whose content matches a regular expression, newest first; 100 at most.",
            text=vendor_shapes.show_openhands_files,
        ),
        View(
            "glob",
            find,
            {"path": "path"},
            description="Find files by a glob pattern, newest first; 100 at most.",
            text=vendor_shapes.show_openhands_files,
        ),
        View(
            "finish",
            finish,
            {"result": "message"},
            description="End the task with a message to the user.",
        ),
    ),
    profile=Profile(limits=Limits(output_chars=_OUTPUT_CHARS)),
)
