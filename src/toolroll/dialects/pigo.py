"""pigo (seed 004): seven tools, 1-based lines, seconds, the tail of a long output."""

from functools import partial

from toolroll.dialect import Dialect, Param, Profile, View
from toolroll.policy.limits import Limits
from toolroll.tools.files.edit import edit
from toolroll.tools.files.ls import FolderListing, ls
from toolroll.tools.files.read import read
from toolroll.tools.files.write import write
from toolroll.tools.search.find import find
from toolroll.tools.search.grep import grep
from toolroll.tools.shell.bash import bash

DIALECT = Dialect(
    "pigo",
    "pigo's pkg/tools: read, write, edit, bash, grep, find, ls.",
    entries=(
        View(
            "read",
            read,
            {
                "path": Param(description="Absolute path to file"),
                "offset": "offset",
                "limit": Param(default=1_000_000),
            },
            fixed={"raw": True},
            description="Reads a file's contents with line numbers.",
        ),
        View("write", write, description="Creates or overwrites a file."),
        View(
            "edit",
            edit,
            {"old": "old_string", "new": "new_string", "replace_all": "all"},
            fixed={"match": "exact"},
            description="Replaces an exact string in a file.",
        ),
        View(
            "bash",
            bash,
            {
                "command": Param(description="Shell command", schema={"minLength": 1}),
                "timeout": Param(
                    decode=lambda seconds: min(seconds, 600),
                    description="Timeout in seconds (default: 120); more than 600 counts as 600",
                    schema={"type": "integer", "minimum": 1, "maximum": None},
                ),
            },
            fixed={"remember": "nothing", "detach": False, "most": 10_000, "keep": "tail", "on_failure": "raise"},
            description="Executes shell commands via `/bin/bash -c`.",
        ),
        View(
            "grep",
            grep,
            {"path": "path", "include": "include", "context": "context_lines"},
            fixed={"limit": 10_000},
            description="Searches file contents for a regex pattern.",
        ),
        View(
            "find",
            find,
            {"path": "path", "type": Param(default="both")},
            fixed={"limit": 1000},
            description="Discovers files and directories matching a glob pattern.",
        ),
        View(
            "ls",
            ls,
            {"path": Param(required=True), "hidden": Param("all", description="Show hidden files.")},
            fixed={"limit": 1000},
            description="Lists directory contents with type indicators.",
            text=partial(FolderListing.marked, form="[{kind}] {name}"),
        ),
    ),
    profile=Profile(
        limits=Limits(read_bytes=10 * 1024 * 1024, line_chars=500, output_chars=50_000),
        guard="none",
        faults="answer",
        guess_encoding=True,
        new_file_mode=0o644,
        commands="plain",
    ),
)
