"""Gemini CLI: snake_case names, `file_path` and `dir_path`, text without line numbers."""

from toolroll import vendor_shapes
from toolroll.dialect import Dialect, Param, Profile, View
from toolroll.policy.limits import Limits
from toolroll.tools.files.edit import edit
from toolroll.tools.files.ls import ls
from toolroll.tools.files.read import read
from toolroll.tools.files.write import write
from toolroll.tools.search.find import find
from toolroll.tools.search.grep import grep
from toolroll.tools.session.todo_write import todo_write
from toolroll.tools.shell.bash import bash
from toolroll.tools.shell.job import job
from toolroll.tools.web.fetch import fetch
from toolroll.tools.web.web_search import web_search

_FILE = Param("file_path", description="File, as an absolute path or relative to the workspace")
_FOLDER = Param("dir_path", description="Folder; the workspace when left out")
_BOOLEAN = {"type": "boolean"}
_GEMINI_IGNORE = Param(schema=_BOOLEAN, description="There is no .geminiignore here")
_TODO = {
    "type": "object",
    "properties": {
        "description": {"type": "string", "description": "What is to be done"},
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled", "blocked"]},
    },
    "required": ["description", "status"],
    "additionalProperties": False,
}


DIALECT = Dialect(
    "gemini-cli",
    "Gemini CLI's built-in tools: files, searches, commands, todos and the web.",
    entries=(
        View(
            "list_directory",
            ls,
            {
                "path": Param("dir_path", description="Folder to list", required=True),
                "exclude": Param("ignore", description="Globs of names to leave out"),
            },
            fixed={"hidden": True, "sort": "type"},
            unused={
                "file_filtering_options": Param(
                    description="Names that .gitignore leaves out are listed too",
                    schema={
                        "type": "object",
                        "properties": {"respect_git_ignore": _BOOLEAN, "respect_gemini_ignore": _BOOLEAN},
                        "additionalProperties": False,
                    },
                )
            },
            description="List the names in a folder, folders first.",
            text=vendor_shapes.show_gemini_folder,
        ),
        View(
            "read_file",
            read,
            {"path": _FILE, "offset": "start_line", "end": "end_line"},
            fixed={"window": True},
            description="Show a file's text, 2000 lines at first, or an image.",
            text=vendor_shapes.show_gemini_lines,
        ),
        View(
            "grep_search",
            grep,
            {
                "path": _FOLDER,
                "include": "include_pattern",
                "output": Param(
                    "names_only",
                    default=False,
                    decode={True: "files", False: "content"}.get,
                    description="Only the paths of the files",
                    schema={"type": "boolean", "enum": None},
                ),
                "ignore_case": Param(
                    "case_sensitive",
                    default=False,
                    decode=lambda value: not value,
                    encode=lambda value: not value,
                    description="Tell upper from lower case",
                ),
                "without": Param("exclude_pattern", description="Regular expression of lines to leave out"),
                "literal": "fixed_strings",
                "context": "context",
                "before": "before",
                "after": "after",
                "ignored": "no_ignore",
                "limit": Param("total_max_matches", default=100),
            },
            fixed={"hidden": True},
            unused={"max_matches_per_file": Param(schema={"type": "integer", "minimum": 1})},
            description="Search file contents by a regular expression; 100 matches at most, unless told otherwise.",
            text=vendor_shapes.show_gemini_matches,
        ),
        View(
            "glob",
            find,
            {
                "path": _FOLDER,
                "ignored": Param(
                    "respect_git_ignore",
                    default=True,
                    decode=lambda value: not value,
                    encode=lambda value: not value,
                    description="Leave out what .gitignore leaves out",
                ),
            },
            fixed={"hidden": True, "limit": 1000},
            unused={
                "case_sensitive": Param(schema=_BOOLEAN, description="Patterns always tell upper from lower case"),
                "respect_gemini_ignore": _GEMINI_IGNORE,
            },
            description="Find files by a glob pattern, newest first.",
            text=vendor_shapes.show_gemini_files,
        ),
        View(
            "replace",
            edit,
            {"path": _FILE, "old": "old_string", "new": "new_string", "replace_all": "allow_multiple"},
            fixed={"create": True},
            unused={
                "instruction": Param(schema={"type": "string"}, description="What the change is for", required=True)
            },
            description="Replace text that occurs once in a file, or each occurrence; an empty old_string makes one.",
            text=vendor_shapes.show_gemini_edited,
        ),
        View(
            "write_file",
            write,
            {"path": _FILE, "content": "content"},
            description="Create a file or replace all of its content.",
            text=vendor_shapes.show_gemini_written,
        ),
        View(
            "run_shell_command",
            bash,
            {
                "command": Param(description="Text for `bash -c`"),
                "description": "description",
                "cwd": _FOLDER,
                "background": "is_background",
            },
            fixed={"remember": "nothing", "detach": False, "timeout": 300, "on_timeout": "say"},
            unused={"delay_ms": Param(schema={"type": "integer"}, description="Nothing is waited for")},
            description="Run a shell command, confined to the workspace; after 300 s it is ended.",
            text=vendor_shapes.show_gemini_command,
        ),
        View(
            "list_background_processes",
            job,
            fixed={"action": "list"},
            description="List the commands that run in the background.",
        ),
        View(
            "read_background_output",
            job,
            {
                "id": Param("pid", required=True, schema={"anyOf": None, "type": "integer"}, description="Its number"),
                "wait": Param(
                    "delay_ms",
                    default=0,
                    decode=lambda value: min(value / 1000, 300),
                    encode=lambda value: int(value * 1000),
                    description="Milliseconds to wait for its end",
                    schema={"type": "integer", "minimum": 0, "maximum": None},
                ),
            },
            fixed={"action": "output"},
            unused={"lines": Param(schema={"type": "integer", "minimum": 1}, description="All that fits is shown")},
            description="Show what a command in the background has printed.",
        ),
        View(
            "google_web_search",
            web_search,
            {"query": "query"},
            description="Search the web.",
        ),
        View(
            "web_fetch",
            fetch,
            {
                "url": Param(
                    "prompt",
                    decode=vendor_shapes.find_gemini_url,
                    description="Text with the URL to fetch; the first one counts",
                )
            },
            description="Fetch the web page that a text names.",
        ),
        View(
            "write_todos",
            todo_write,
            {
                "todos": Param(
                    decode=vendor_shapes.read_gemini_todos,
                    description="The whole list",
                    schema={"type": "array", "items": _TODO},
                )
            },
            description="Write the todo list of this session.",
            text=vendor_shapes.show_gemini_todos,
        ),
    ),
    profile=Profile(guess_encoding=True, limits=Limits(line_chars=2000)),
)
