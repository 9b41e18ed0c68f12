"""How vendor dialects show outputs and read arguments that have another shape than ours."""

from __future__ import annotations

import datetime
import json
import re
from itertools import groupby
from operator import attrgetter
from typing import Any

from toolroll.result import ErrorCode, ToolError

_URL = re.compile(r"https?://[^\s<>\"')\]]+")
_OPENHANDS_STATUS = {"todo": "pending", "in_progress": "in_progress", "done": "completed"}
_LETTERS = {"create": "A", "delete": "D"}
_ICONS = {"pending": "⏳", "in_progress": "🔄", "completed": "✅"}


def show_opencode_lines(shown: Any) -> str:
    """A file or folder between tags that name it."""
    if shown.images:
        return "Image read successfully"
    total, tag = shown.total_lines, "entries" if shown.folder else "content"
    if shown.truncated:
        end = (
            f"(Showing lines {shown.start}-{shown.last} of {total or 'many'}. Use offset={shown.last + 1} to continue.)"
        )
    else:
        end = f"({total} entries)" if shown.folder else f"(End of file - total {total} lines)"
    lines = shown.content if shown.folder else shown.numbered("{}: {}") if shown.line_count else ""
    kind = "directory" if shown.folder else "file"
    return f"<path>{shown.path}</path>\n<type>{kind}</type>\n<{tag}>\n{lines}\n\n{end}\n</{tag}>"


def show_opencode_matches(found: Any) -> str:
    """Matches under their files."""
    if not found.rows:
        return "No files found"
    more = " (more matches available)" if found.total > found.shown else ""
    parts = [
        "\n".join([f"{path}:", *(f"  Line {row.line}: {row.text}" for row in rows)])
        for path, rows in groupby(found.rows, key=attrgetter("path"))
    ]
    return f"Found {found.shown} matches{more}\n" + "\n\n".join(parts)


def show_opencode_command(done: Any) -> str:
    """What a command printed; how it ended between tags."""
    printed = done.output.rstrip("\n") or "(no output)"
    return f"{printed}\n\n<shell_metadata>\n{done.ending}\n</shell_metadata>" if done.ending else printed


def show_opencode_patched(done: Any) -> str:
    """The files of a patch, each behind a letter."""
    rows = [f"{_LETTERS.get(one.kind, 'M')} {one.path}" for one in done.files]
    return "\n".join(["Success. Updated the following files:", *rows])


def show_opencode_todos(kept: Any) -> str:
    """The todo list as JSON."""
    rows = [{name: getattr(one, name) for name in ("content", "status", "priority")} for one in kept.todos]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def show_gemini_lines(shown: Any) -> str:
    """The text itself, behind a warning if there is more of it."""
    if not shown.truncated or not shown.content:
        return shown.numbered("{1}") if shown.images or shown.line_count else ""
    return (
        "IMPORTANT: The file content has been truncated.\n"
        f"Status: Showing lines {shown.start}-{shown.last} of {shown.total_lines or 'many'} total lines.\n"
        f"Action: To read more, use start_line: {shown.last + 1}.\n\n"
        f"--- FILE CONTENT (truncated) ---\n{shown.content}"
    )


def show_gemini_matches(found: Any) -> str:
    """Matches by file, or the files alone."""
    if not found.rows:
        return "No matches found"
    if found.output == "files":
        return "\n".join([f"Found {found.files} files with matches:", *dict.fromkeys(row.path for row in found.rows)])
    parts = [f"Found {found.shown} match{'' if found.shown == 1 else 'es'}:"]
    for path, rows in groupby(found.rows, key=attrgetter("path")):
        parts.append(
            "\n".join([f"File: {path}", *(f"L{row.line}{':' if row.column else '-'} {row.text}" for row in rows)])
        )
    return "\n---\n".join([*parts, ""]).rstrip("\n")


def show_gemini_files(found: Any) -> str:
    """Files behind their count."""
    if not found.entries:
        return "No files found"
    head = f"Found {found.total} file(s), sorted by modification time (newest first):"
    return "\n".join([head, *(one.path for one in found.entries)])


def show_gemini_folder(listed: Any) -> str:
    """The names in a folder, with the sizes of files."""
    if not listed.entries:
        return f"Directory {listed.path} is empty."
    rows = [
        f"[DIR] {one.name}" if one.kind == "directory" else f"{one.name} ({one.size} bytes)" for one in listed.entries
    ]
    return "\n".join([f"Directory listing for {listed.path}:", *rows])


def show_gemini_command(done: Any) -> str:
    """What a command printed, and its exit code if that is not 0."""
    if done.outcome == "running":
        return f"Command is running in background. PID: {done.job}. Initial output:\n{done.output}".rstrip()
    parts = [f"Output: {done.output.strip() or '(empty)'}"]
    if done.outcome != "exited":
        parts.append(f"Error: {done.ending}")
    elif done.exit_code:
        parts.append(f"Exit Code: {done.exit_code}")
    return "\n".join(parts)


def show_gemini_written(done: Any) -> str:
    """Which file was written, and what changed."""
    kind = "Successfully created and wrote to new file" if done.created else "Successfully overwrote file"
    return f"{kind}: {done.path}." + (f" Here is the updated code:\n{done.diff}" if done.diff else "")


def show_gemini_edited(done: Any) -> str:
    """Which file was edited, and what changed."""
    if done.created:
        return f"Created new file: {done.path} with provided content."
    made = f"Successfully modified file: {done.path} ({done.replacements} replacements)."
    return f"{made} Here is the updated code:\n{done.diff}"


def show_gemini_todos(kept: Any) -> str:
    """The todo list, each item behind its status."""
    rows = [f"{number}. [{one.status}] {one.content}" for number, one in enumerate(kept.todos, 1)]
    if not rows:
        return "Successfully cleared the todo list."
    return "\n".join(["Successfully updated the todo list. The current list is now:", *rows])


def read_gemini_todos(todos: list[dict[str, str]]) -> list[dict[str, str]]:
    """Todos as ours; a blocked one is pending."""
    status = {"blocked": "pending"}
    return [{"content": one["description"], "status": status.get(one["status"], one["status"])} for one in todos]


def find_gemini_url(prompt: str) -> str:
    """The first URL in a prompt; raises ToolError."""
    found = _URL.search(prompt)
    if found is None:
        raise ToolError(ErrorCode.VALIDATION, "`url` holds no URL. Write one that begins with http:// or https://.")
    return found[0].rstrip(".,;:!?")


def show_editor_lines(shown: Any) -> str:
    """A file as `cat -n` shows it, or the names in a folder without those that begin with a dot."""
    if shown.images:
        return f"Image file {shown.path} read successfully."
    if shown.folder:
        names = [name for name in shown.content.split("\n") if not f"/{name}".count("/.")]
        head = f"Here's the files and directories up to 2 levels deep in {shown.path}, excluding hidden items:"
        return "\n".join([head, *(f"{shown.path.rstrip('/')}/{name}" for name in names if name)])
    lines = shown.numbered("{:6}\t{}")
    return f"Here's the result of running `cat -n` on {shown.path}:\n{lines}"


def show_editor_edit(done: Any) -> str:
    """Which file was edited, and what changed."""
    return f"The file {done.path} has been edited.\n{done.diff}"


def read_openhands_tasks(tasks: list[dict[str, str]]) -> list[dict[str, str]]:
    """Tasks as todo items; notes follow the title in a paragraph of their own."""
    return [
        {
            "content": "\n\n".join(part for part in (one["title"], one.get("notes", "")) if part),
            "status": _OPENHANDS_STATUS[one.get("status", "todo")],
        }
        for one in tasks
    ]


def show_openhands_tasks(kept: Any) -> str:
    """The task list, each behind a sign for its status."""
    rows = ["# Task List", ""]
    for number, one in enumerate(kept.todos, 1):
        title, _, notes = one.content.partition("\n\n")
        rows += [
            f"{number}. {_ICONS.get(one.status, _ICONS['completed'])} {title}",
            *([f"   {notes}"] if notes else []),
        ]
    return "\n".join(rows) if kept.todos else "No task list found. Make one with plan."


def show_claude_polled(polled: Any) -> str:
    """How a background command stands, and what it has printed."""
    return "\n\n".join(
        [
            f"<status>{'running' if polled.state == 'running' else 'completed'}</status>",
            *([f"<exit_code>{polled.exit_code}</exit_code>"] if polled.exit_code is not None else []),
            *([f"<stdout>\n{polled.output.rstrip()}\n</stdout>"] if polled.output.strip() else []),
        ]
    )


def show_openhands_command(done: Any) -> str:
    """What a command printed, its folder and its exit code."""
    printed = done.output.rstrip("\n")
    end = f"[Command finished with exit code {done.exit_code}]" if done.outcome == "exited" else f"[{done.ending}]"
    where = f"[Current working directory: {done.cwd}]"
    return "\n".join(part for part in (printed, where, end) if part)


def show_openhands_files(found: Any) -> str:
    """The files of a search by name or by content."""
    if getattr(found, "output", "files") == "content":
        return str(found)
    rows = found.entries if hasattr(found, "entries") else found.rows
    paths = dict.fromkeys(one.path for one in rows)
    return "\n".join([f"Found {len(paths)} file(s):", *paths]) if paths else "No files found"


def show_fs_text(shown: Any) -> str:
    """A file's text as it is."""
    return str(shown) if shown.images else str(shown.exact)


def show_fs_folder(listed: Any) -> str:
    """The names in a folder, each behind what it is."""
    return "\n".join(f"{_fs_kind(one)} {one.name}" for one in listed.entries)


def show_fs_sizes(listed: Any) -> str:
    """The names in a folder with the sizes of files, and the sums."""
    files = [one for one in listed.entries if one.kind != "directory"]
    rows = [
        f"{_fs_kind(one)} {one.name:<30} {'' if one.kind == 'directory' else _fs_size(one.size):>10}".rstrip()
        for one in listed.entries
    ]
    sums = f"Total: {len(files)} files, {len(listed.entries) - len(files)} directories"
    return "\n".join([*rows, "", sums, f"Combined size: {_fs_size(sum(one.size for one in files))}"])


def show_fs_tree(listed: Any) -> str:
    """A folder with all that is in it as JSON; what is in a folder that was left out is left out too."""
    top = "" if listed.path in (".", "") else listed.path
    children: dict[str, list[Any]] = {top: []}
    for one in listed.entries:
        above = one.path.rpartition("/")[0]
        if above not in children:
            continue
        node: dict[str, Any] = {"name": one.name, "type": "directory" if one.kind == "directory" else "file"}
        if one.kind == "directory":
            node["children"] = children[one.path] = []
        children[above].append(node)
    return json.dumps(children[top], indent=2, ensure_ascii=False)


def show_fs_info(known: Any) -> str:
    """What is known of a path, one fact a line, with times as JavaScript writes them."""
    facts = {
        "size": known.size,
        "created": _fs_time(known.changed),
        "modified": _fs_time(known.modified),
        "accessed": _fs_time(known.accessed),
        "isDirectory": str(known.is_dir).lower(),
        "isFile": str(known.kind == "file").lower(),
        "permissions": known.mode[-3:],
    }
    return "\n".join(f"{name}: {value}" for name, value in facts.items())


def show_fs_edit(done: Any) -> str:
    """A change as a fenced diff."""
    fence = "```"
    while fence in done.diff:
        fence += "`"
    return f"{fence}diff\n--- {done.path}\toriginal\n+++ {done.path}\tmodified\n{done.diff}\n{fence}\n\n"


def _fs_kind(one: Any) -> str:
    return "[DIR]" if one.kind == "directory" else "[FILE]"


def _fs_size(size: float) -> str:
    if size < 1024:
        return f"{size} B"
    for unit in ("KB", "MB", "GB", "TB"):
        size /= 1024
        if size < 1024 or unit == "TB":
            break
    return f"{size:.2f} {unit}"


def _fs_time(moment: str) -> str:
    at = datetime.datetime.fromisoformat(moment)
    return at.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)")


def anchor_glob(pattern: str) -> str:
    """A glob whose bare names mean those in the folder itself."""
    return pattern if "/" in pattern or pattern.startswith("**") else f"./{pattern}"
