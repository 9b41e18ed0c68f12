"""fosscode (seed 001): camelCase, results as {success, data, error, metadata}."""

from dataclasses import replace

from toolroll import formats
from toolroll.dialect import Dialect, Param, Profile, View, characters_from_zero, fields, milliseconds
from toolroll.policy.effects import Effect
from toolroll.policy.limits import Limits
from toolroll.text.search.context_lines import attach_context
from toolroll.tools.code.diagnostics import diagnostics
from toolroll.tools.code.hover import hover
from toolroll.tools.files.edit import edit
from toolroll.tools.files.ls import ls
from toolroll.tools.files.multiedit import multiedit
from toolroll.tools.files.patch import patch
from toolroll.tools.files.read import read
from toolroll.tools.files.write import write
from toolroll.tools.search.find import find
from toolroll.tools.search.grep import grep
from toolroll.tools.session.todo_read import todo_read
from toolroll.tools.session.todo_write import todo_write
from toolroll.tools.shell.bash import bash
from toolroll.tools.web.fetch import fetch
from toolroll.tools.web.web_search import web_search

_FILE = Param("filePath")
_LIST = {"type": "array", "items": {"type": "string"}}
_MEGABYTE = 1024 * 1024
_NOT_WHILE_THINKING = Effect.STATE  # its document lets that mode read, search in files and fetch, and nothing else
_SEARCH: dict[str, str | Param] = {
    "query": Param(description="The search query to execute"),
    "limit": Param("maxResults", default=10),
    "snippets": Param("includeSnippets", default=True),
    "metadata": Param("includeMetadata", default=True),
    "safe": "safeSearch",
    "language": Param(default="en"),
    "within": "timeRange",
    "site": "siteSearch",
    "exclude": "excludeTerms",
}
_FOUND = fields(query="query", engine="engine", totalResults="total", results="results", warning="warning", note="note")
_COUNTS = fields(totalMatches="shown", allMatches="total", filesWithMatches="files")
_TODOS = fields(
    todos="todos",
    totalTodos="total",
    completedTodos="completed",
    inProgressTodos="in_progress",
    pendingTodos="pending",
    incompleteTodos="incomplete",
    progress="percent",
    warning="warning",
)


DIALECT = Dialect(
    "fosscode",
    "fosscode's tools system: commands, files, bulk edits, todos, the web and language servers.",
    entries=(
        View(
            "bash",
            bash,
            {
                "command": Param(description="Command to execute", schema={"minLength": 1}),
                "cwd": Param(description="Working directory"),
                "timeout": milliseconds(30_000, most=30_000),
                "shell": "shell",
            },
            fixed={
                "remember": "nothing",
                "detach": False,
                "apart": True,
                "most": _MEGABYTE,
                "keep": "head",
                "on_timeout": "say",
                "install": True,
            },
            description="Secure execution of shell commands with comprehensive safety features.",
            data=fields(stdout="stdout", stderr="stderr", exitCode="exit_code", timedOut="timed_out"),
        ),
        View(
            "read",
            read,
            {
                "path": _FILE,
                "encoding": "encoding",
                "offset": Param("startLine"),
                "end": Param("endLine"),
                "limit": Param("maxLines", default=1_000_000),
            },
            fixed={"most": _MEGABYTE},
            description="Secure file content reading with size and type restrictions.",
            data=fields(
                filePath="path",
                content="exact",
                startLine="start",
                endLine="last",
                totalLines="total_lines",
                truncated="truncated",
            ),
        ),
        View(
            "write",
            write,
            {
                "path": _FILE,
                "content": "content",
                "encoding": "encoding",
                "mode": "mode",
                "overwrite": Param(default=False, description="Allow overwrite"),
            },
            description="Secure file creation and content writing.",
            data=fields(filePath="path", bytesWritten="bytes", created="created"),
        ),
        View(
            "edit",
            edit,
            {
                "path": _FILE,
                "old": "oldString",
                "new": "newString",
                "replace_all": "replaceAll",
                "backup": Param("createBackup", default=True, description="Create backup (default: true)"),
                "encoding": Param(
                    default="utf-8",
                    decode=lambda name: None if name == "utf-8" else name,
                    description="File encoding (default: utf-8; a byte order mark is heeded)",
                ),
            },
            fixed={"match": "exact", "first": True},
            errors={"The old text was not found.": 'String "{old}" not found in file'},
            description="Precision file editing with string replacement operations.",
            data=fields(
                filePath="path", replacementsMade="replacements", backupCreated="backed_up", backupPath="backup"
            ),
        ),
        View(
            "grep",
            grep,
            {
                "path": "path",
                "include": "include",
                "exclude": "exclude",
                "depth": Param(
                    "recursive",
                    default=True,
                    decode={True: None, False: 1}.get,
                    description="Recursive search",
                    schema={"type": "boolean", "minimum": None},
                ),
                "limit": Param("maxResults"),
                "context": Param(listed=False),
            },
            description="Fast content search with regular expression support. `context` gives lines around matches.",
            data=lambda found: {"matches": attach_context(found.rows), **_COUNTS(found)},
        ),
        View(
            "list",
            ls,
            {
                "path": "path",
                "hidden": Param("showHidden"),
                "sort": Param(
                    "sortBy",
                    decode=lambda name: {"date": "modified"}.get(name, name),
                    schema={"enum": ["name", "size", "modified", "date", "type"]},
                ),
                "recursive": Param(default=False),
                "depth": Param("maxDepth", default=10, decode=lambda value: min(value, 100), schema={"maximum": None}),
                "type": Param(
                    decode=lambda name: {"files": "file", "dirs": "directory"}.get(name, name),
                    schema={"enum": ["all", "files", "dirs", "file", "directory", "link"]},
                    listed=False,
                ),
                "pattern": Param(listed=False),
            },
            description="Directory listing and exploration of the file system, with the filters `type` and `pattern`.",
            fixed={"sizes": True},
            data=fields(path="path", items="details", totalCount="total"),
        ),
        View(
            "glob",
            find,
            {
                "path": "path",
                "exclude": Param("ignore"),
                "limit": Param("maxResults", default=1000),
                "type": Param(
                    "includeDirs",
                    default=False,
                    decode={True: "both", False: "file"}.get,
                    description="Include directories",
                    schema={"type": "boolean", "enum": None},
                ),
                "sort": Param("sortBy", default="path", schema={"enum": ["name", "path", "modified"]}),
            },
            description="Fast file pattern matching with glob patterns for efficient file discovery.",
            data=fields(files="entries", totalMatches="total", returnedMatches="returned"),
        ),
        View(
            "multiedit",
            multiedit,
            {
                "path": "path",
                "include": Param(decode=formats.one_glob, schema=_LIST),
                "exclude": Param(decode=formats.one_glob, schema=_LIST),
                "max_files": "maxFiles",
                "preview": "preview",
                "case_sensitive": "caseSensitive",
                "whole_word": "wholeWord",
                "regex": "regex",
            },
            fixed={"beyond": "leave", "backup": True},
            description="Bulk find-and-replace operations across multiple files with transaction-like safety.",
            data=fields(
                preview="preview",
                totalReplacements="total",
                filesChanged="files",
                filesSearched="searched",
                filesSkipped="skipped",
            ),
        ),
        View(
            "patch",
            patch,
            {
                "path": "path",
                "dry_run": Param("validateOnly"),
                "backup": Param("createBackup", default=True, description="Create backup files (default: true)"),
                "strip": Param(default=0),
                "reverse": "reverse",
            },
            description="Apply diff patches to files with validation and rollback capability.",
            data=fields(
                validated="validated", applied="applied", reversed="reversed", files="files", backups="backups"
            ),
        ),
        View(
            "todowrite",
            todo_write,
            {"todos": Param(description="The whole todo list")},
            description="Task management and progress tracking: write the todo list.",
            data=_TODOS,
        ),
        View(
            "todoread",
            todo_read,
            {"status": "status", "priority": "priority"},
            description="Task management and progress tracking: read the todo list.",
            data=_TODOS,
        ),
        View(
            "webfetch",
            fetch,
            {
                "url": Param(schema={"minLength": 1}),
                "method": "method",
                "headers": "headers",
                "body": "body",
                "timeout": milliseconds(30_000, most=120_000),
                "follow": Param("followRedirects"),
            },
            description="HTTP client with redirects, headers and body, for fetching web content.",
            data=fields(
                url="url",
                status="status_code",
                statusText="reason",
                headers="headers",
                contentType="content_type",
                title="title",
                content="text",
                redirects="redirects",
            ),
        ),
        View(
            "duckduckgo",
            web_search,
            _SEARCH,
            fixed={"engine": "duckduckgo"},
            also=_NOT_WHILE_THINKING,
            description="Web search with DuckDuckGo.",
            data=_FOUND,
        ),
        View(
            "websearch",
            web_search,
            {
                **_SEARCH,
                "engine": Param(
                    decode=lambda name: {"searx": "searxng"}.get(name, name),
                    description="Search engine",
                    schema={"enum": ["auto", "google", "bing", "duckduckgo", "searx"]},
                ),
            },
            also=_NOT_WHILE_THINKING,
            description="Web search with several engines.",
            data=_FOUND,
        ),
        View(
            "lsp-diagnostics",
            diagnostics,
            {
                "files": Param(required=True),
                "language": "language",
                "severity": Param(
                    default="all",
                    decode=lambda name: {"information": "info"}.get(name, name),
                    schema={"enum": ["error", "warning", "info", "information", "hint", "all"]},
                ),
                "snippets": Param("includeSource", default=True),
                "limit": "maxResults",
                "folder": "workingDirectory",
            },
            fixed={"exactly": True},
            also=_NOT_WHILE_THINKING,
            description="Get language server diagnostics for files.",
            data=characters_from_zero(
                fields(
                    totalFiles="files",
                    totalDiagnostics="total",
                    returnedDiagnostics="shown",
                    diagnosticsByFile="by_file",
                    summary="counts",
                )
            ),
        ),
        View(
            "lsp-hover",
            hover,
            {
                "path": Param("file", required=True),
                "line": Param(required=True),
                "character": Param(
                    decode=lambda value: value + 1, encode=lambda value: value - 1, schema={"minimum": 0}, required=True
                ),
                "language": "language",
                "span": "includeRange",
                "definition": Param("includeDefinition", default=True),
                "context": Param("contextLines", default=2),
            },
            fixed={"first": 0},
            also=_NOT_WHILE_THINKING,
            description="Get hover information for symbols.",
            text=lambda about: str(replace(about, character=about.character - 1)),
            data=characters_from_zero(
                fields(
                    file="path",
                    position="position",
                    language="language",
                    symbol="symbol",
                    type="signature",
                    documentation="markdown",
                    range="range",
                    definition="definition",
                    context="context",
                )
            ),
        ),
    ),
    profile=Profile(
        limits=Limits(read_bytes=10 * _MEGABYTE, write_bytes=10 * _MEGABYTE, output_chars=_MEGABYTE, concurrency=3),
        guard="none",
        faults="answer",
        wire=formats.success_object,
        commands="plain",
        extensions=frozenset(
            {".txt", ".md", ".json", ".ts", ".tsx", ".js", ".py", ".rs", ".go", ".java", ".cpp", ".c", ".h"},
        ),
    ),
)
