"""Claude Code (npm package @anthropic-ai/claude-code): file_path, milliseconds, read before edit, ripgrep's flags."""

from dataclasses import replace
from functools import partial

from toolroll import formats, vendor_shapes
from toolroll.dialect import Dialect, Param, Profile, View, fields, milliseconds
from toolroll.host.search.grep_report import Matches
from toolroll.policy.limits import Limits
from toolroll.text.shown_lines import ShownLines
from toolroll.tools.files.edit import edit
from toolroll.tools.files.ls import ls
from toolroll.tools.files.notebook_edit import notebook_edit
from toolroll.tools.files.read import read
from toolroll.tools.files.write import write
from toolroll.tools.search.find import find
from toolroll.tools.search.grep import grep
from toolroll.tools.session.todo_write import todo_write
from toolroll.tools.shell.bash import bash
from toolroll.tools.shell.job import job
from toolroll.tools.web.fetch import fetch
from toolroll.tools.web.web_search import web_search

_ALL = 1_000_000  # head_limit 0: no limit
_FILE = Param("file_path", description="The file, by its absolute path or relative to the workspace.")
_COUNT = {"minimum": 0}
_SHELL = Param(
    decode=lambda id: int(id.removeprefix("bash_")),
    encode=str,
    description="Id of the background shell.",
    required=True,
    schema={"type": "string", "pattern": r"^(bash_)?[0-9]{1,9}$"},
)
_TIMEOUT = milliseconds(120_000, most=600_000, clamp=True)
_WAIT = milliseconds(30_000, most=300_000, clamp=True)
_OUTPUTS = {"content": "content", "files_with_matches": "files", "count": "count"}
_EDITS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "old_string": {"type": "string", "description": "The text to replace."},
            "new_string": {"type": "string", "description": "The text to put in its place."},
            "replace_all": {"type": "boolean", "default": False, "description": "Replace every occurrence."},
        },
        "required": ["old_string", "new_string"],
        "additionalProperties": False,
    },
}
_TODOS = {
    "items": {
        "type": "object",
        "properties": {
            "content": {"type": "string", "minLength": 1},
            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
            "activeForm": {"type": "string", "minLength": 1},
        },
        "required": ["content", "status", "activeForm"],
        "additionalProperties": False,
    },
}
_DOMAINS = {"type": "array", "items": {"type": "string"}}

DIALECT = Dialect(
    "claude-code",
    "Claude Code's tools: files, ripgrep's flags, commands with background shells, notebooks, todos and the web.",
    entries=(
        View(
            "Read",
            read,
            {
                "path": _FILE,
                "offset": Param(
                    default=1,
                    decode=lambda line: max(1, line),
                    description="The first line to read, from 1.",
                    schema=_COUNT,
                ),
                "limit": Param(description="How many lines to read."),
                "pages": Param(description="Pages of a PDF to read, such as 3 or 1-5."),
            },
            description="Read a file as `cat -n` shows it, 2000 lines at most; images as images, notebooks as cells, "
            "PDF and office files as their text.",
            text=partial(ShownLines.numbered, form="{:>6}\t{}"),
            data=formats.file_object,
        ),
        View(
            "Write",
            write,
            {"path": _FILE, "content": Param(description="The whole content.")},
            fixed={"read_first": True},
            description="Write a file. One that exists must have been read before.",
            data=lambda made: {"type": "create" if made.created else "update", "filePath": made.path},
        ),
        View(
            "Edit",
            edit,
            {
                "path": _FILE,
                "old": Param("old_string", description="The text to replace; empty to create a file."),
                "new": Param("new_string", description="The text to put in its place, which must differ."),
                "replace_all": Param(description="Replace every occurrence."),
            },
            fixed={"match": "exact", "create": True},
            description="Replace a text in a file that was read before. It must occur once, or replace_all be set.",
            data=fields(filePath="path", replacements="replacements", diff="diff"),
        ),
        View(
            "MultiEdit",
            edit,
            {
                "path": _FILE,
                "edits": Param(
                    description="Replacements, made one after the other.",
                    decode=lambda edits: [
                        {"replace_all": False, **{name.removesuffix("_string"): one[name] for name in one}}
                        for one in edits
                    ],
                    required=True,
                    schema=_EDITS,
                ),
            },
            fixed={"old": "", "new": "", "match": "exact", "create": True},
            description="Make several replacements in one file that was read before: all of them or none.",
            data=fields(filePath="path", replacements="replacements", diff="diff"),
        ),
        View(
            "Glob",
            find,
            {
                "pattern": Param(description="Glob pattern, such as src/**/*.ts."),
                "path": Param(description="The folder to search in."),
            },
            fixed={"hidden": True, "ignored": True},
            description="Find files by a glob pattern, newest first, 100 at most.",
            text=lambda found: str(found) if found.entries else "No files found",
            data=lambda found: {
                "numFiles": found.returned,
                "filenames": [one.path for one in found.entries],
                "truncated": found.returned < found.total,
                "totalMatches": found.total,
            },
        ),
        View(
            "Grep",
            grep,
            {
                "pattern": Param(description="Regular expression of ripgrep."),
                "path": Param(description="The file or folder to search in."),
                "include": Param("glob", description="Glob of the files to search, such as *.{ts,tsx}."),
                "output": Param(
                    "output_mode",
                    default="files_with_matches",
                    decode=_OUTPUTS.get,
                    description="Matching lines, paths of files with matches, or counts by file.",
                    schema={"enum": [*_OUTPUTS]},
                ),
                "before": Param("-B", description="Lines to show before each match; with content only."),
                "after": Param("-A", description="Lines to show after each match; with content only."),
                "context": Param(description="Lines to show before and after each match; with content only."),
                "numbers": Param("-n", description="Show line numbers; with content only."),
                "ignore_case": Param("-i", description="Ignore case."),
                "only_matching": Param("-o", description="Show the matches alone, one a line; with content only."),
                "type": Param(description="File type to search, such as py or rust."),
                "limit": Param(
                    "head_limit",
                    default=250,
                    decode=lambda most: most or _ALL,
                    description="Most lines or entries to show; 0 for all.",
                    schema=_COUNT,
                ),
                "offset": Param(description="Lines or entries to leave out first."),
                "multiline": Param(description="Let `.` match line ends and a match span lines."),
            },
            aliases={"-C": "context"},
            fixed={"hidden": True, "unit": "lines", "dotall": True},
            description="Search file contents with ripgrep's expressions. Shows the files with matches by default.",
            text=Matches.like_ripgrep,
            data=formats.search_object,
        ),
        View(
            "LS",
            ls,
            {
                "path": Param(description="The folder to list.", required=True),
                "exclude": Param("ignore", description="Globs of what to leave out."),
            },
            fixed={"depth": 3, "limit": 1000},
            description="List a folder and the folders in it.",
            text=lambda listed: f"- {listed.path}/\n" + listed.marked("  {indent}- {base}{mark}"),
        ),
        View(
            "Bash",
            bash,
            {
                "command": Param(description="The command.", schema={"minLength": 1}),
                "timeout": replace(_TIMEOUT, schema={**_TIMEOUT.schema, "type": "number"}),
                "description": Param(description="What the command does, in five to ten words."),
                "background": Param("run_in_background", description="Run it on, and look with BashOutput."),
            },
            unused={
                "dangerouslyDisableSandbox": Param(
                    description="Has no effect: commands are always confined.", schema={"type": "boolean"}
                )
            },
            fixed={"detach": False, "on_failure": "raise", "remember": "folder", "most": 30_000},
            description="Run a bash command in the folder that the last one ended in. Of an output of more than 30000 "
            "characters both ends are shown.",
            text=lambda ran: str(ran).replace(
                f"Still running as job {ran.job}.", f"Command running in background with ID: {ran.job}"
            ),
            data=lambda ran: (
                {"stdout": ran.output, "stderr": ran.errors, "interrupted": ran.timed_out}
                | ({"backgroundTaskId": str(ran.job)} if ran.job else {})
            ),
        ),
        View(
            "BashOutput",
            job,
            {
                "id": replace(_SHELL, name="bash_id"),
                "filter": Param(description="Regular expression: show only lines that it matches; the others go."),
            },
            fixed={"action": "output", "new": True},
            description="Show what a background shell has printed since the last look, and how it stands.",
            text=vendor_shapes.show_claude_polled,
        ),
        View(
            "KillShell",
            job,
            {"id": replace(_SHELL, name="shell_id")},
            fixed={"action": "kill"},
            description="End a background shell.",
            text=lambda ended: f"Successfully killed shell: {ended.id} ({ended.command})",
            data=lambda ended: {"message": f"Successfully killed shell: {ended.id}", "shell_id": str(ended.id)},
        ),
        View(
            "TaskOutput",
            job,
            {
                "id": replace(_SHELL, name="task_id"),
                "block": Param(description="Wait for its end.", required=True),
                "wait": replace(_WAIT, name="timeout", required=True, schema={**_WAIT.schema, "type": "number"}),
            },
            fixed={"action": "output", "new": True},
            description="Show what a background command has printed since the last look, after its end or a time.",
            text=vendor_shapes.show_claude_polled,
        ),
        View(
            "TaskStop",
            job,
            {"id": replace(_SHELL, name="task_id", required=False)},
            fixed={"action": "kill"},
            aliases={"shell_id": "task_id"},
            description="End a background command.",
            text=lambda ended: f"Successfully stopped task: {ended.id} ({ended.command})",
            data=lambda ended: {
                "message": f"Successfully stopped task: {ended.id}",
                "task_id": str(ended.id),
                "task_type": "local_bash",
                "command": ended.command,
            },
        ),
        View(
            "NotebookEdit",
            notebook_edit,
            {
                "path": Param("notebook_path", description="The notebook, by its absolute or relative path."),
                "cell": Param("cell_id", description="Id of the cell; insert puts the new one behind it."),
                "source": Param("new_source", description="New source of the cell."),
                "type": Param("cell_type", description="Type of the cell; insert needs it."),
                "mode": Param("edit_mode", description="What to do with the cell."),
            },
            description="Replace, insert or delete a cell of a Jupyter notebook that was read before.",
            data=fields(
                notebook_path="path",
                edit_mode="mode",
                cell_id="cell",
                cell_type="type",
                language="language",
                new_source="source",
                old_source="old",
            ),
        ),
        View(
            "TodoWrite",
            todo_write,
            {
                "todos": Param(
                    description="The whole list.",
                    decode=lambda todos: [{"content": one["content"], "status": one["status"]} for one in todos],
                    schema=_TODOS,
                )
            },
            description="Write the todo list of this session. Keep one item in progress at a time.",
            data=lambda made: {"newTodos": [{"content": one.content, "status": one.status} for one in made.todos]},
        ),
        View(
            "WebFetch",
            fetch,
            {"url": Param(description="The page.")},
            unused={
                "prompt": Param(
                    description="What to look for: no model reads the page, you do.",
                    schema={"type": "string"},
                    required=True,
                )
            },
            description="Fetch a page as Markdown.",
            data=fields(url="url", code="status_code", codeText="reason", bytes="size", result="text"),
        ),
        View(
            "WebSearch",
            web_search,
            {
                "query": Param(description="What to search for.", schema={"minLength": 2}),
                "domains": Param("allowed_domains", description="Only results from these domains.", schema=_DOMAINS),
                "not_domains": Param("blocked_domains", description="No results from these domains.", schema=_DOMAINS),
            },
            description="Search the web.",
            data=lambda found: {
                "query": found.query,
                "results": [{"title": one.title, "url": one.url} for one in found.results],
            },
        ),
    ),
    profile=Profile(guess_encoding=True, limits=Limits(output_chars=100_000), guard="seen", keep="middle"),
)
