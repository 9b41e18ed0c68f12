"""The reference MCP filesystem server: its tools, and structured content that repeats the text."""

from toolroll import formats, vendor_shapes
from toolroll.dialect import Dialect, Param, Profile, View
from toolroll.policy.limits import Limits
from toolroll.tools.files.edit import edit
from toolroll.tools.files.ls import ls
from toolroll.tools.files.make_folder import make_folder
from toolroll.tools.files.move import move
from toolroll.tools.files.read import read
from toolroll.tools.files.read_several import read_several
from toolroll.tools.files.stat import stat
from toolroll.tools.files.workspace import workspace
from toolroll.tools.files.write import write
from toolroll.tools.search.find import find

_ALL = 10_000_000
_PATH = Param(description="Path within the allowed directories")
_FOLDER = Param(description="Folder within the allowed directories", required=True)
_EXCLUDED = Param("excludePatterns", description="Globs of what to leave out")
_COUNT = {"anyOf": None, "type": "integer", "minimum": 1}
_LINES: dict[str, str | Param] = {
    "path": _PATH,
    "end": Param("head", description="Only so many lines from the start", schema=_COUNT),
    "tail": Param(description="Only so many lines at the end", schema=_COUNT),
}
_EDIT = {
    "type": "object",
    "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}},
    "required": ["oldText", "newText"],
    "additionalProperties": False,
}
_TEXT = {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}
_BLOCKS = {
    "type": "array",
    "items": {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": ["image", "audio"]},
                    "data": {"type": "string"},
                    "mimeType": {"type": "string"},
                },
                "required": ["type", "data", "mimeType"],
            },
            {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "const": "resource"},
                    "resource": {
                        "type": "object",
                        "properties": {name: {"type": "string"} for name in ("uri", "mimeType", "blob")},
                        "required": ["uri", "blob"],
                    },
                },
                "required": ["type", "resource"],
            },
        ]
    },
}
_ENTRIES = (
    View(
        "read_file",
        read,
        _LINES,
        fixed={"limit": _ALL, "most": _ALL, "raw": True},
        description="Show a file's text. Superseded by read_text_file.",
        text=vendor_shapes.show_fs_text,
    ),
    View(
        "read_text_file",
        read,
        _LINES,
        fixed={"limit": _ALL, "most": _ALL, "raw": True},
        description="Show a file's text, or its first or last lines.",
        text=vendor_shapes.show_fs_text,
    ),
    View(
        "read_media_file",
        read,
        {"path": _PATH},
        fixed={"media": True},
        description="Give an image, a sound or any other file as it is, with its type.",
    ),
    View("read_multiple_files", read_several, {"paths": "paths"}),
    View(
        "write_file",
        write,
        {"path": _PATH, "content": "content"},
        description="Create a file or replace all of its content.",
        text=lambda done: f"Successfully wrote to {done.path}",
    ),
    View(
        "edit_file",
        edit,
        {
            "path": _PATH,
            "edits": Param(
                decode=lambda edits: [{"old": one["oldText"], "new": one["newText"], "first": True} for one in edits],
                description="Replacements, one after the other: all or none",
                schema={"type": "array", "items": _EDIT},
                required=True,
            ),
            "dry_run": Param("dryRun", description="Only show the diff"),
        },
        fixed={"old": "", "new": ""},
        description="Replace texts in a file and show the diff.",
        text=vendor_shapes.show_fs_edit,
    ),
    View(
        "create_directory",
        make_folder,
        {"path": _PATH},
        text=lambda made: f"Successfully created directory {made.path}",
    ),
    View(
        "list_directory",
        ls,
        {"path": _FOLDER},
        fixed={"hidden": True, "limit": _ALL},
        description="List the names in a folder: [FILE] or [DIR].",
        text=vendor_shapes.show_fs_folder,
    ),
    View(
        "list_directory_with_sizes",
        ls,
        {"path": _FOLDER, "sort": Param("sortBy", description="Order", schema={"enum": ["name", "size"]})},
        fixed={"hidden": True, "limit": _ALL},
        description="List the names in a folder with the sizes of files, and their sum.",
        text=vendor_shapes.show_fs_sizes,
    ),
    View(
        "directory_tree",
        ls,
        {"path": _FOLDER, "exclude": _EXCLUDED},
        fixed={"hidden": True, "limit": _ALL, "depth": 100},
        description="Show a folder and all below it as JSON: name, type, and children of folders.",
        text=vendor_shapes.show_fs_tree,
    ),
    View(
        "move_file",
        move,
        {"source": "source", "target": "destination"},
        fixed={"into": False},
        description="Move or rename a file or folder; the destination must be free.",
        text=lambda done: f"Successfully moved {done.source} to {done.target}",
    ),
    View(
        "search_files",
        find,
        {
            "path": _FOLDER,
            "pattern": Param(
                decode=vendor_shapes.anchor_glob, description="Glob, from the folder: *.ext there, **/*.ext below"
            ),
            "exclude": _EXCLUDED,
        },
        fixed={"type": "both", "hidden": True, "ignored": True, "sort": "path", "limit": _ALL, "full": True},
        description="Find files and folders by a glob pattern; gives whole paths.",
        text=lambda found: "\n".join([one.path for one in found.entries]) or "No matches found",
    ),
    View("get_file_info", stat, {"path": _PATH}, text=vendor_shapes.show_fs_info),
    View(
        "list_allowed_directories",
        workspace,
        text=lambda known: "\n".join(["Allowed directories:", *known.folders]),
    ),
)

DIALECT = Dialect(
    "mcp-filesystem",
    "A drop-in for the reference MCP filesystem server: the same tools, text and structured content.",
    entries=_ENTRIES,
    profile=Profile(
        limits=Limits(output_chars=_ALL, line_chars=_ALL),
        guard="none",
        guess_encoding=True,
        mcp=formats.mcp_mirror,
        started="Secure MCP Filesystem Server running on stdio",
        outputs={one.name: _TEXT for one in _ENTRIES}
        | {"read_media_file": {"type": "object", "properties": {"content": _BLOCKS}, "required": ["content"]}},
    ),
)
