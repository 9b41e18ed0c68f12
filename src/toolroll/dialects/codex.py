"""Codex (repository openai/codex): shell, exec_command with write_stdin, apply_patch, update_plan, view_image."""

from dataclasses import replace

from toolroll import formats
from toolroll.dialect import Dialect, Param, Profile, View, milliseconds
from toolroll.spellings import join_command
from toolroll.text.patch.command import read_patch_command
from toolroll.tools.files.patch import patch
from toolroll.tools.files.read import read
from toolroll.tools.session.todo_write import todo_write
from toolroll.tools.shell.bash import bash
from toolroll.tools.shell.job import job

_CHARS_PER_TOKEN = 4
_TOKENS = 10_000  # of output, by default
_FOLDER = Param("workdir", description="Folder to run in.")
_BUDGET = Param(
    "max_output_tokens",
    default=_TOKENS,
    decode=lambda tokens: max(1, int(_CHARS_PER_TOKEN * tokens)),
    description="Most tokens of output to show.",
    schema={"type": "number", "minimum": 0},
)
_ASKED = {
    "sandbox_permissions": Param(description="Has no effect: commands are always confined.", schema={"type": "string"}),
    "justification": Param(description="Has no effect.", schema={"type": "string"}),
}
_RULE = {"prefix_rule": Param(description="Has no effect.", schema={"type": "array", "items": {"type": "string"}})}
_LOGIN = {"login": Param(description="Has no effect: shells are no login shells.", schema={"type": "boolean"})}
_PATCH = ("apply", read_patch_command)
_PLAN = {
    "items": {
        "type": "object",
        "properties": {
            "step": {"type": "string", "description": "What is to be done."},
            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
        },
        "required": ["step", "status"],
        "additionalProperties": False,
    },
}
_TIMEOUT = milliseconds(10_000, most=600_000, clamp=True)
_WAIT = Param(
    "yield_time_ms",
    default=10_000,
    decode=lambda time: min(max(time, 250), 30_000) / 1000,
    description="Milliseconds to wait for its end, 250 to 30000.",
    schema={"type": "number", "minimum": 0},
)
_POLL = Param(
    "yield_time_ms",
    default=250,
    decode=lambda time: min(max(time, 250), 300_000) / 1000,
    description="Milliseconds to wait for its end, 250 to 300000.",
    schema={"type": "number", "minimum": 0, "maximum": None},
)

DIALECT = Dialect(
    "codex",
    "Codex's tools: commands and sessions, patches, the plan and images.",
    entries=(
        View(
            "shell",
            bash,
            {
                "command": Param(
                    decode=join_command,
                    description='Words of the command, mostly ["bash", "-lc", "..."].',
                    schema={"type": "array", "items": {"type": "string"}},
                ),
                "cwd": _FOLDER,
                "timeout": replace(_TIMEOUT, name="timeout_ms", schema={**_TIMEOUT.schema, "type": "number"}),
            },
            unused=_ASKED,
            fixed={"remember": "nothing", "detach": False, "most": _CHARS_PER_TOKEN * _TOKENS, "on_timeout": "say"},
            description="Run a command and show its output.",
            text=formats.exit_text,
            stands_for=_PATCH,
        ),
        View(
            "exec_command",
            bash,
            {
                "command": Param("cmd", description="Shell command.", schema={"minLength": 1}),
                "cwd": _FOLDER,
                "tty": Param(description="Run it in a terminal, which write_stdin types into."),
                "wait": _WAIT,
                "most": _BUDGET,
                "shell": Param(
                    default="bash",
                    decode=lambda program: "zsh" if program.endswith("zsh") else "bash",
                    description="Shell to run it: bash, or zsh.",
                    schema={"enum": None},
                ),
            },
            unused=_LOGIN | _ASKED | _RULE,
            fixed={"timeout": 600, "remember": "nothing"},
            description="Run a command; show its output, or the session ID of one that still runs.",
            stands_for=_PATCH,
            text=formats.session_text,
            data=formats.session_object,
        ),
        View(
            "write_stdin",
            job,
            {
                "id": Param(
                    "session_id",
                    decode=int,
                    description="Of the running command.",
                    required=True,
                    schema={"type": "number"},
                ),
                "input": Param("chars", description="What to write to its input; nothing only looks."),
                "wait": _POLL,
                "most": _BUDGET,
            },
            fixed={"action": "input", "new": True},
            description="Write to a running command, and show what it has printed since the last look.",
            text=formats.session_text,
            data=formats.session_object,
        ),
        View(
            "apply_patch",
            patch,
            {"patch": Param("input", description="From *** Begin Patch to *** End Patch.")},
            description="Add, change, move and delete files by a patch: all of it, or nothing.",
            text=formats.patch_summary,
        ),
        View(
            "update_plan",
            todo_write,
            {
                "todos": Param(
                    "plan",
                    description="All steps.",
                    decode=lambda plan: [{"content": one["step"], "status": one["status"]} for one in plan],
                    schema=_PLAN,
                )
            },
            unused={"explanation": Param(description="Why the plan changes.", schema={"type": "string"})},
            description="Write the plan. At most one step is in progress.",
            text=lambda _todos: "Plan updated",
        ),
        View(
            "view_image",
            read,
            {"path": Param(description="The image file.")},
            unused={
                "detail": Param(
                    description="Has no effect: images are shown as they are.",
                    schema={"type": "string", "enum": ["high", "original"]},
                )
            },
            fixed={"only_images": True},
            description="Show an image file.",
        ),
    ),
    profile=Profile(guard="none", keep="middle"),
)
