"""Coding Agent (seed 002): one tool a subject, an action picks the operation."""

from dataclasses import replace

from toolroll.dialect import Bundle, Dialect, Param, Profile, View
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.text.git.names import split_names
from toolroll.tools.code.outline import outline
from toolroll.tools.code.references import references
from toolroll.tools.code.repo_map import repo_map
from toolroll.tools.code.symbols import symbols
from toolroll.tools.dev.git import git
from toolroll.tools.dev.lint import lint
from toolroll.tools.dev.profile import profile
from toolroll.tools.dev.tests import tests
from toolroll.tools.files.edit import edit
from toolroll.tools.files.insert import insert
from toolroll.tools.files.ls import ls
from toolroll.tools.files.read import read
from toolroll.tools.files.replace_lines import replace_lines
from toolroll.tools.files.stat import stat
from toolroll.tools.files.undo import undo
from toolroll.tools.files.write import write
from toolroll.tools.knowledge.memory import memory
from toolroll.tools.knowledge.note import note
from toolroll.tools.knowledge.rag import rag
from toolroll.tools.search.find import find
from toolroll.tools.search.grep import grep
from toolroll.tools.session.finish import finish
from toolroll.tools.session.mcp import mcp
from toolroll.tools.shell.bash import bash
from toolroll.tools.shell.python import python
from toolroll.tools.shell.terminal import terminal
from toolroll.tools.web.web_search import web_search

_PATH = Param(description="Relative file/directory path (sandboxed to workspace)", required=True)
_START = Param("start_line", description="Start line, 1-based (default: 1; `insert` without it appends)")
_END = Param("end_line", description="End line, inclusive")
_NUMBERS = Param("show_line_numbers", description="Show line numbers in `read` output (default: true)")
_CONTENT = Param(description="File content for `write`/`insert`/`replace_lines`")
_OLD = Param("old_string", description="String to find (`edit` action)")
_TIMEOUT = Param(default=30, description="Timeout in seconds (default: 30)", schema={"type": "integer", "minimum": 1})
_CODE = Param("code", description="Code or command to execute")
_NEW = Param("new_string", description="Replacement string (`edit` action)")
_TARGET = Param("target", description="Test target: file, directory, or `path::test_func`")
_VERBOSE = Param(default=True, description="Verbose output (default: true)")
_KEYWORD = Param(description="Filter tests by keyword expression (pytest `-k`)")
_LINTED = Param(description="Relative file or directory path", schema={"default": None}, required=True)
_SELECT = Param(description="Rule selection (e.g., `E,W,F` or `E501,F401`)")
_GIT_ACTIONS = ["status", "diff", "log", "show", "branch", "add", "commit", "stash", "blame"]
_STRATEGIES = {f"{one}_based": one for one in ("importance", "time", "capacity")}
_STRINGS = {"type": "array", "items": {"type": "string"}}
_PATTERN = Param(description="Regex (`search`) or glob (`find_files`) pattern")
_FILES = Param("file_pattern", description="File glob filter, e.g., `*.py`")
_WHERE = Param(description="Subdirectory or file to search in")
_CASE = Param(
    "case_sensitive",
    default=True,
    decode=lambda value: not value,
    encode=lambda value: not value,
    description="Case-sensitive search (default: true)",
)
_MOST = Param("max_results", default=50, description="Maximum matches (default: 50)")
_SYMBOL = Param("symbol", description="Symbol name for `find_references` / `ast_search`")
_QUERY_TYPE = Param(
    "query_type",
    description="For `ast_search`: what to look for",
    schema={"enum": ["functions", "classes", "imports", "calls", "decorators"], "default": None},
    required=True,
)
_FILE = """File operations with path sandboxing, syntax validation, and single-slot undo.

read: lines from start_line, 200 at a time, or all up to end_line.
write: create a file or replace all of it.
edit: replace old_string, which must occur once, by new_string.
insert: put content before start_line, or at the end.
replace_lines: put content in place of start_line to end_line, or delete them; refused where a function would lose its
last return, yield or raise.
undo: take back the last change of the file, once.
list_dir: up to 200 entries.
file_info: size, lines, time.
A change after which a Python file no longer parses is refused, and so is a path outside the workspace."""
_MEMORY = """Store and retrieve conversation knowledge with importance scoring and type classification.

add: remember content.
search: the memories nearest to query.
summary: counts, and the most important memories.
update: change the memory memory_id.
remove: delete it for good.
forget: delete many, by strategy.
consolidate: make important working and episodic memories semantic, and merge duplicates.
Types: working (the task at hand, 100 at most), episodic (what happened), semantic (lasting facts), perceptual (what was
seen or heard)."""
_NOTE = """Structured notes with type classification, tags, and Markdown + YAML frontmatter persistence.

create: a new note with title and content; it replaces no other.
read: the note note_id.
update: change what is given of it.
delete: remove its file.
list: all notes, or those of note_type or tags.
search: words of query in title, content and tags.
Notes are files in .toolroll/notes; the undo of `file` takes changes of them back."""
_MCP = (
    ("list_tools", ("server",), (), Effect.NONE),
    ("call_tool", ("server", "name", "arguments"), ("name",), Effect.RUN),
    ("list_resources", ("server",), (), Effect.NONE),
    ("read_resource", ("server", "uri"), ("uri",), Effect.NONE),
    ("list_prompts", ("server",), (), Effect.NONE),
    ("get_prompt", ("server", "name", "arguments"), ("name",), Effect.NONE),
)

DIALECT = Dialect(
    "coding-agent",
    "Coding Agent's tool system: files, code, tests, git, the web, notes and memory.",
    entries=(
        Bundle(
            "file",
            _FILE,
            {
                "read": View(
                    "read",
                    read,
                    {"path": _PATH, "offset": _START, "end": _END, "numbers": _NUMBERS},
                    fixed={"limit": 200, "window": True},
                ),
                "write": View("write", write, {"path": _PATH, "content": _CONTENT}, fixed={"syntax": True}),
                "edit": View("edit", edit, {"path": _PATH, "old": _OLD, "new": _NEW}, fixed={"syntax": True}),
                "insert": View(
                    "insert",
                    insert,
                    {"path": _PATH, "line": Param("start_line", default=None), "content": "content"},
                    fixed={"syntax": True},
                ),
                "replace_lines": View(
                    "replace_lines",
                    replace_lines,
                    {"path": _PATH, "start": Param("start_line", default=1), "end": _END, "content": Param(default="")},
                    fixed={"syntax": True, "keep_flow": True},
                ),
                "undo": View("undo", undo, {"path": Param(required=True)}, fixed={"once": True}),
                "list_dir": View("list_dir", ls, {"path": _PATH}, fixed={"limit": 200, "hidden": True}),
                "file_info": View("file_info", stat, {"path": _PATH}),
            },
        ),
        Bundle(
            "code_exec",
            "Execute Python or shell code in sandboxed subprocesses with timeout and safety checks.",
            {
                "python": View("python", python, {"code": _CODE, "timeout": _TIMEOUT}),
                "shell": View(
                    "shell",
                    bash,
                    {"command": _CODE, "timeout": _TIMEOUT},
                    fixed={"detach": False, "remember": "nothing"},
                ),
            },
        ),
        Bundle(
            "code_search",
            "Multi-mode code search: text-based regex, structural queries, and a repository map.",
            {
                "search": View(
                    "search",
                    grep,
                    {
                        "pattern": _PATTERN,
                        "include": _FILES,
                        "path": _WHERE,
                        "context": Param("context_lines", default=2, description="Context lines around matches"),
                        "ignore_case": _CASE,
                        "limit": _MOST,
                    },
                    fixed={"lenient": True},
                ),
                "find_files": View("find_files", find, {"pattern": _PATTERN, "path": _WHERE, "limit": _MOST}),
                "ast_search": View(
                    "ast_search",
                    symbols,
                    {"kind": _QUERY_TYPE, "name": _SYMBOL, "path": _WHERE, "limit": _MOST, "include": _FILES},
                ),
                "find_references": View(
                    "find_references",
                    references,
                    {"symbol": replace(_SYMBOL, required=True), "path": _WHERE, "limit": _MOST, "include": _FILES},
                ),
                "get_structure": View("get_structure", outline, {"path": _WHERE}),
                "repo_map": View(
                    "repo_map",
                    repo_map,
                    {
                        "query": Param(description="Keywords for `repo_map` ranking"),
                        "max_tokens": Param(description="Token budget for `repo_map` (default: 2048)"),
                        "path": _WHERE,
                    },
                ),
            },
        ),
        Bundle(
            "test_runner",
            "Test discovery, execution, and coverage collection with pytest/unittest auto-detection.",
            {
                action: View(
                    action,
                    tests,
                    {"path": _TARGET, "verbose": _VERBOSE, "keyword": _KEYWORD},
                    fixed={"action": action},
                )
                for action in ("discover", "run", "coverage")
            },
        ),
        Bundle(
            "linter",
            "Static analysis, auto-fix, and code formatting with automatic backend detection.",
            {
                action: View(
                    action, lint, {"path": _LINTED, "select": _SELECT}, fixed={"action": action, "timeout": 30}
                )
                for action in ("check", "fix", "format")
            },
        ),
        View(
            "git",
            git,
            {
                "action": Param(description="One of the 9 actions", schema={"enum": _GIT_ACTIONS}),
                "files": Param(
                    default=".",
                    decode=split_names,
                    description="File path(s), space-separated (default: `.`)",
                    schema={"type": None, "items": None, "anyOf": [{"type": "string"}, _STRINGS]},
                ),
                "message": Param(description="Commit message (required for `commit`)"),
                "limit": Param(description="Log entry count (default: 10)"),
                "ref": Param(description="Git ref (commit hash, branch, tag)"),
                "name": Param("branch_name", description="Branch name for branch operations"),
                "sub": Param(
                    "sub_action",
                    description="`list`/`create`/`switch`/`delete` (branch) or `save`/`pop`/`list`/`drop` (stash)",
                    schema={"enum": ["list", "create", "switch", "delete", "save", "pop", "drop"]},
                ),
            },
            description="Git operations with built-in protection against destructive commands.",
        ),
        View(
            "profiler",
            profile,
            {
                "action": Param(
                    decode={"profile": "hotspots", "timeit": "time", "memory": "memory"}.__getitem__,
                    encode={"hotspots": "profile", "time": "timeit", "memory": "memory"}.__getitem__,
                    description="profile, timeit, or memory",
                    schema={"enum": ["profile", "timeit", "memory"]},
                ),
                "path": Param(description="File path for `profile` action"),
                "code": Param(description="Code snippet for `timeit` and `memory`"),
                "top": Param("top_n", description="Number of top results (default: 15)"),
                "number": Param(default=1000, description="Iterations for timeit (default: 1000)"),
                "repeat": Param(description="Repetitions for timeit (default: 5)"),
                "setup": Param(description="Setup code for timeit"),
            },
            description="Performance profiling using Python's standard library.",
        ),
        View(
            "terminal",
            terminal,
            {"command": Param(description="Command to execute (whitelist enforced)")},
            description="Terminal with a command whitelist for safe filesystem and text-processing operations.",
        ),
        View(
            "search",
            web_search,
            {
                "query": Param("input", description="Search query"),
                "engine": Param(
                    "backend",
                    default="hybrid",
                    decode=lambda name: {"hybrid": "auto"}.get(name, name),
                    encode=lambda name: {"auto": "hybrid"}.get(name, name),
                    description="Search engine; hybrid takes the first that answers",
                    schema={"enum": ["hybrid", "tavily", "serpapi", "duckduckgo", "searxng", "perplexity"]},
                ),
                "limit": Param("max_results", default=5, description="Maximum results (default: 5)"),
            },
            description="Web search with several engines and a hybrid order.",
        ),
        View(
            "rag",
            rag,
            {
                "action": Param(description="What to do"),
                "path": Param("file_path", description="File or folder to add (`add_document`)"),
                "text": Param(description="Text to add (`add_text`)"),
                "title": "title",
                "query": Param(description="Question (`ask`) or search query (`search`)"),
                "limit": "limit",
                "confirm": Param(description="Must be true for `clear`"),
            },
            description="Document retrieval-augmented generation with multi-format support.",
        ),
        View(
            "memory",
            memory,
            {
                "content": Param(description="What to remember (`add`, `update`)"),
                "query": Param(description="Search query (`search`)"),
                "id": Param("memory_id", description="Memory ID (`update`, `remove`)"),
                "type": Param("memory_type"),
                "importance": Param(description="Importance score, 0.0 to 1.0"),
                "strategy": Param(
                    default="importance_based",
                    decode=_STRATEGIES.__getitem__,
                    encode="{}_based".format,
                    description="`forget` strategy",
                    schema={"enum": list(_STRATEGIES)},
                ),
                "threshold": "threshold",
                "days": "max_age_days",
                "limit": "limit",
            },
            description=_MEMORY,
        ),
        View(
            "note",
            note,
            {
                "id": Param("note_id"),
                "title": "title",
                "content": "content",
                "type": Param("note_type"),
                "tags": "tags",
                "query": "query",
                "limit": "limit",
            },
            description=_NOTE,
        ),
        Bundle(
            "mcp",
            "Connect to MCP servers: list and call their tools, read their resources, get their prompts.",
            {
                action: View(
                    action,
                    mcp,
                    {
                        name: Param(required=name in needed)
                        for name in ("server", "name", "arguments", "uri")
                        if name in used
                    },
                    fixed={"action": action},
                    also=also,
                )
                for action, used, needed, also in _MCP
            },
        ),
        View(
            "finish",
            finish,
            {"result": Param(description="Final answer or description of the solution")},
            description="Signal task completion and break the agent loop immediately.",
            text=lambda done: done.marked,
        ),
    ),
    profile=Profile(
        limits=Limits(read_bytes=1024 * 1024, write_bytes=5 * 1024 * 1024),
        guard="none",
        guess_encoding=True,
        commands="coding-agent",
    ),
)
