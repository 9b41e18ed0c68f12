"""opencode: camelCase files, milliseconds for commands, lines as `12: text`."""

from toolroll import vendor_shapes
from toolroll.dialect import Dialect, Param, Profile, View, milliseconds
from toolroll.policy.limits import Limits
from toolroll.tools.files.edit import edit
from toolroll.tools.files.patch import patch
from toolroll.tools.files.read import read
from toolroll.tools.files.write import write
from toolroll.tools.search.find import find
from toolroll.tools.search.grep import grep
from toolroll.tools.session.todo_write import todo_write
from toolroll.tools.shell.bash import bash
from toolroll.tools.web.fetch import fetch
from toolroll.tools.web.web_search import web_search

_FILE = Param("filePath", description="File, as an absolute path or relative to the workspace")
_MOST = 50 * 1024


DIALECT = Dialect(
    "opencode",
    "opencode's built-in tools: bash, files, searches, patches, todos and the web.",
    entries=(
        View(
            "bash",
            bash,
            {
                "command": Param(description="Command to run"),
                "timeout": milliseconds(120_000, most=600_000, clamp=True),
                "cwd": Param("workdir", description="Folder to run in, instead of a `cd` in the command"),
            },
            fixed={"remember": "nothing", "detach": False, "most": _MOST, "keep": "tail", "on_timeout": "say"},
            description="Run a shell command, confined to the workspace.",
            text=vendor_shapes.show_opencode_command,
        ),
        View(
            "read",
            read,
            {
                "path": _FILE,
                "offset": Param(default=1, decode=lambda value: value or 1, schema={"minimum": 0}),
                "limit": Param(default=2000, decode=lambda value: value or 2000, schema={"minimum": 0}),
            },
            fixed={"levels": 1},
            description="Show a file's lines with their numbers, the names in a folder, or an image.",
            text=vendor_shapes.show_opencode_lines,
        ),
        View(
            "glob",
            find,
            {"path": Param(description="Folder to search in; the workspace when left out")},
            fixed={"hidden": True},
            description="Find files by a glob pattern, newest first; 100 at most.",
            text=lambda found: "\n".join([one.path for one in found.entries]) or "No files found",
        ),
        View(
            "grep",
            grep,
            {"path": "path", "include": "include"},
            fixed={"hidden": True},
            description="Search file contents by a regular expression, newest file first; 100 matches at most.",
            text=vendor_shapes.show_opencode_matches,
        ),
        View(
            "edit",
            edit,
            {"path": _FILE, "old": "oldString", "new": "newString", "replace_all": "replaceAll"},
            fixed={"create": True},
            description="Replace text that occurs once in a file, or each occurrence; an empty oldString makes a file.",
            text=lambda _done: "Edit applied successfully.",
        ),
        View(
            "write",
            write,
            {"path": _FILE, "content": "content"},
            description="Create a file or replace all of its content.",
            text=lambda _done: "Wrote file successfully.",
        ),
        View(
            "webfetch",
            fetch,
            {
                "url": "url",
                "show": Param(
                    "format",
                    default="markdown",
                    decode={"text": "full", "markdown": "full", "html": "raw"}.get,
                    description="text and markdown give a page as Markdown, html its source",
                    schema={"enum": ["text", "markdown", "html"]},
                ),
                "timeout": Param(
                    default=30,
                    decode=lambda value: min(max(value, 0.1), 120),
                    description="Seconds, at most 120",
                    schema={"minimum": None, "maximum": None},
                ),
            },
            description="Fetch a web page.",
        ),
        View(
            "todowrite",
            todo_write,
            {"todos": Param(description="The whole list")},
            description="Write the todo list of this session.",
            text=vendor_shapes.show_opencode_todos,
        ),
        View(
            "websearch",
            web_search,
            {"query": "query", "limit": Param("numResults", default=8)},
            unused={
                "livecrawl": Param(schema={"type": "string", "enum": ["fallback", "preferred"]}),
                "type": Param(schema={"type": "string", "enum": ["auto", "fast", "deep"]}),
                "contextMaxCharacters": Param(schema={"type": "number"}),
            },
            description="Search the web.",
        ),
        View(
            "apply_patch",
            patch,
            {"patch": Param("patchText", description="The patch, from *** Begin Patch to *** End Patch")},
            description="Apply a patch to all its files or none.",
            text=vendor_shapes.show_opencode_patched,
        ),
    ),
    profile=Profile(guess_encoding=True, limits=Limits(line_chars=2000, output_chars=_MOST)),
)
