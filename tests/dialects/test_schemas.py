"""Each dialect shows the tools and parameters that its document describes: names, types, what is required."""

import pytest

S, I, B = "string", "integer", "boolean"  # noqa: E741 (short, so that the tables can be read beside the documents)

CDD = {
    "read": {"file_path!": S, "offset": I, "limit": I},
    "glob": {"pattern!": S, "path": S},
    "grep": {"pattern!": S, "path": S, "include": S, "literal_text": B},
    "write": {"file_path!": S, "content!": S},
    "edit": {"file_path!": S, "old_string": S, "new_string": S, "replace_all": B},
    "bash": {"command!": S, "timeout": I, "working_dir": S, "description": S},
}
PIGO = {
    "read": {"path!": S, "offset": I, "limit": I},
    "write": {"path!": S, "content!": S},
    "edit": {"path!": S, "old_string!": S, "new_string!": S, "all": B},
    "bash": {"command!": S, "timeout": I},
    "grep": {"pattern!": S, "path": S, "include": S, "context_lines": I},
    "find": {"pattern!": S, "path": S, "type": S},
    "ls": {"path!": S, "all": B},
}

A = "array"
FOSSCODE = {
    "bash": {"command!": S, "timeout": I, "cwd": S, "shell": S},
    "read": {"filePath!": S, "startLine": I, "maxLines": I, "encoding": S, "endLine": I},
    "write": {"filePath!": S, "content!": S, "overwrite": B, "mode": S, "encoding": S},
    "edit": {"filePath!": S, "oldString!": S, "newString!": S, "replaceAll": B, "encoding": S, "createBackup": B},
    "grep": {"pattern!": S, "path": S, "include": S, "exclude": S, "maxResults": I, "recursive": B},
    "list": {"path": S, "showHidden": B, "maxDepth": I, "sortBy": S, "recursive": B},
    "glob": {"pattern!": S, "path": S, "includeDirs": B, "sortBy": S, "maxResults": I, "ignore": A},
    "multiedit": {
        "pattern!": S, "find!": S, "replace!": S, "path": S, "include": A, "exclude": A, "regex": B,
        "caseSensitive": B, "wholeWord": B, "preview": B, "maxFiles": I,
    },
    "patch": {"patch!": S, "path": S, "strip": I, "reverse": B, "validateOnly": B, "createBackup": B},
    "todowrite": {"todos!": A},
    "todoread": {"status": S, "priority": S},
    "webfetch": {"url!": S, "method": S, "headers": "object", "body": None, "timeout": I, "followRedirects": B},
    "duckduckgo": {
        "query!": S, "maxResults": I, "safeSearch": S, "language": S, "timeRange": S, "siteSearch": S, "excludeTerms": A,
        "includeSnippets": B, "includeMetadata": B,
    },
    "websearch": {
        "query!": S, "engine": S, "maxResults": I, "safeSearch": S, "language": S, "timeRange": S, "siteSearch": S,
        "excludeTerms": A, "includeSnippets": B, "includeMetadata": B,
    },
    "lsp-diagnostics": {
        "files!": A, "severity": S, "maxResults": I, "includeSource": B, "language": S, "workingDirectory": S,
    },
    "lsp-hover": {
        "file!": S, "line!": I, "character!": I, "includeDefinition": B, "contextLines": I, "language": S, "includeRange": B,
    },
}  # fmt: skip
CODING_AGENT = {
    "file": {
        "action!": S, "path!": S, "start_line": I, "end_line": I, "show_line_numbers": B, "content": S, "old_string": S, "new_string": S,
    },
    "code_exec": {"action!": S, "code!": S, "timeout": I},
    "code_search": {
        "action!": S, "pattern": S, "path": S, "file_pattern": S, "case_sensitive": B, "context_lines": I, "max_results": I,
        "query_type": S, "symbol": S, "query": S, "max_tokens": I,
    },
    "test_runner": {"action!": S, "target": S, "keyword": S, "verbose": B},
    "linter": {"action!": S, "path!": S, "select": S},
    "git": {"action!": S, "files": None, "ref": S, "message": S, "sub_action": S, "branch_name": S, "limit": I},
    "profiler": {"action!": S, "path": S, "code": S, "setup": S, "number": I, "repeat": I, "top_n": I},
    "terminal": {"command!": S},
    "search": {"input!": S, "backend": S, "max_results": I},
    "rag": {"action!": S, "file_path": S, "text": S, "title": S, "query": S, "limit": I, "confirm": B},
    "memory": {
        "action!": S, "content": S, "query": S, "memory_id": S, "memory_type": S, "importance": "number", "strategy": S,
        "threshold": "number", "max_age_days": "number", "limit": I,
    },
    "note": {
        "action!": S, "note_id": S, "title": S, "content": S, "note_type": S, "tags": A, "query": S, "limit": I,
    },
    "finish": {"result!": S},
    "mcp": {"action!": S, "server": S, "name": S, "arguments": "object", "uri": S},
}  # fmt: skip
KOOPA = {
    "readFile": {"path!": S},
    "writeFile": {"path!": S, "content!": S},
    "listFiles": {"path!": S},
    "deleteFile": {"path!": S},
    "getFileInfo": {"path!": S},
    "executeCommand": {"command!": S, "args": A},
    "getEnv": {"key!": S},
    "currentTime": {},
    "httpGet": {"url!": S},
    "searchHistory": {"query!": S, "topK": I},
    "searchDocuments": {"query!": S, "topK": I},
    "searchSystemKnowledge": {"query!": S, "topK": I},
}
N = "number"
CLAUDE_CODE = {
    "Read": {"file_path!": S, "offset": I, "limit": I, "pages": S},
    "Write": {"file_path!": S, "content!": S},
    "Edit": {"file_path!": S, "old_string!": S, "new_string!": S, "replace_all": B},
    "MultiEdit": {"file_path!": S, "edits!": A},
    "Glob": {"pattern!": S, "path": S},
    "Grep": {
        "pattern!": S, "path": S, "glob": S, "output_mode": S, "-B": I, "-A": I, "-C": I, "context": I, "-n": B,
        "-i": B, "-o": B, "type": S, "head_limit": I, "offset": I, "multiline": B,
    },
    "LS": {"path!": S, "ignore": A},
    "Bash": {
        "command!": S, "timeout": N, "description": S, "run_in_background": B, "dangerouslyDisableSandbox": B,
    },
    "BashOutput": {"bash_id!": S, "filter": S},
    "KillShell": {"shell_id!": S},
    "TaskOutput": {"task_id!": S, "block!": B, "timeout!": N},
    "TaskStop": {"task_id": S, "shell_id": S},
    "NotebookEdit": {"notebook_path!": S, "cell_id": S, "new_source!": S, "cell_type": S, "edit_mode": S},
    "TodoWrite": {"todos!": A},
    "WebFetch": {"url!": S, "prompt!": S},
    "WebSearch": {"query!": S, "allowed_domains": A, "blocked_domains": A},
}  # fmt: skip
CODEX = {
    "shell": {"command!": A, "workdir": S, "timeout_ms": N, "sandbox_permissions": S, "justification": S},
    "exec_command": {
        "cmd!": S, "workdir": S, "tty": B, "yield_time_ms": N, "max_output_tokens": N, "shell": S, "login": B,
        "sandbox_permissions": S, "justification": S, "prefix_rule": A,
    },
    "write_stdin": {"session_id!": N, "chars": S, "yield_time_ms": N, "max_output_tokens": N},
    "apply_patch": {"input!": S},
    "update_plan": {"explanation": S, "plan!": A},
    "view_image": {"path!": S, "detail": S},
}  # fmt: skip
DOCUMENTS = [("koopa", KOOPA), ("cdd", CDD), ("pigo", PIGO), ("fosscode", FOSSCODE), ("coding-agent", CODING_AGENT)]
DOCUMENTS += [("claude-code", CLAUDE_CODE), ("codex", CODEX)]


@pytest.mark.parametrize(("dialect", "document"), DOCUMENTS)
def test_as_the_document_says(open_kit, dialect, document):
    shown = {}
    for entry in open_kit(dialect).entries():
        required = entry.schema.get("required", ())
        shown[entry.name] = {
            name + ("!" if name in required else ""): kind.get("type")
            for name, kind in entry.schema["properties"].items()
        }
    assert shown == document


@pytest.mark.parametrize(
    ("dialect", "tool", "parameter", "default"),
    [
        ("cdd", "read", "offset", 0),
        ("cdd", "read", "limit", 2000),
        ("cdd", "bash", "timeout", 120_000),
        ("pigo", "read", "offset", 1),
        ("pigo", "grep", "path", "."),
        ("claude-code", "Bash", "timeout", 120_000),
        ("claude-code", "Grep", "output_mode", "files_with_matches"),
        ("claude-code", "Grep", "head_limit", 250),
        ("codex", "exec_command", "yield_time_ms", 10_000),
        ("codex", "write_stdin", "yield_time_ms", 250),
        ("codex", "shell", "timeout_ms", 10_000),
    ],
)
def test_defaults(open_kit, dialect, tool, parameter, default):
    entry = next(one for one in open_kit(dialect).entries() if one.name == tool)
    assert entry.schema["properties"][parameter]["default"] == default
