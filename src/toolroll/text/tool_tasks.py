"""Tasks by which models and people look for a tool, in other words than its description has."""

TASKS: dict[str, str] = {
    "attempt": "try several fixes in parallel and keep the best; compare two approaches; run alternatives side by side",
    "checkpoint": "take a snapshot before a risky change; save the state of all files to go back to; make a backup",
    "commit": "merge a fork; apply, accept or land the changes of a held command; keep what a trial run changed",
    "copy": "copy, duplicate or clone a file, folder or directory; make a copy",
    "definition": (
        "go to the definition or declaration; where is a function or class defined; jump to the source or "
        "implementation of an interface"
    ),
    "delete": "delete or remove a file, folder or directory; rm; clean up; unlink; erase",
    "diagnostics": (
        "type errors; type check; check for compile errors and warnings; problems in the code; mypy; pyright"
    ),
    "discard": "drop, reject or throw away the changes of a held command; abandon a trial run or fork",
    "edit_symbol": (
        "move a function or class to another file; replace the body of a method; add a method to a class; insert "
        "code after a function"
    ),
    "env": "show environment variables; is a variable set; PATH, HOME",
    "fetch": "download a URL or web page; open a link; HTTP request; call a REST API; read documentation online",
    "git": (
        "show git diff, status, log; commit changes; push; branch; stash; resolve a merge conflict; who wrote a "
        "line; blame"
    ),
    "history": (
        "what was done or said earlier in this session; past commands; what did I do before; previous "
        "conversation; log of calls"
    ),
    "hover": "type or signature of a symbol, variable or expression; documentation or docstring of a function",
    "insert": "append or add text or lines to the end of a file; insert lines at a line; prepend; add an import on top",
    "lint": (
        "format the code; run a linter; lint; fix style; black; prettier; eslint; ruff; sort imports; reformat; "
        "code quality"
    ),
    "make_folder": "create or make a folder or directory; mkdir",
    "mcp": "call another MCP server; use a connected or external server; list its tools or resources; its prompts",
    "memory": (
        "remember this for the next session; recall a fact; store knowledge for later; forget; preference of the user"
    ),
    "move": "rename or move a file, folder or directory; mv; change the name of a file; relocate",
    "multiedit": (
        "search and replace across many files; replace text in all files; bulk or mass edit; find and replace; sed"
    ),
    "note": "write down a finding, decision or blocker; keep notes; take a note; next steps",
    "notebook_edit": "edit, add or delete a cell of a Jupyter notebook; ipynb",
    "outline": (
        "what functions or classes are in a file; structure or overview of a file; list methods; class hierarchy; "
        "table of contents"
    ),
    "profile": "why is the code slow; measure time or memory; find the bottleneck; performance; benchmark; hot spots",
    "python": "run a Python snippet or script; evaluate an expression; calculate; execute code; compute",
    "rag": "search documents or a library; index a PDF; semantic search; ask the documentation; ingest a document",
    "read_several": "read several or many files at once; show multiple files; batch read",
    "references": "find all uses, usages, references or callers of a function; who calls this; where is it used",
    "rename": "rename a function, class, variable, method or symbol everywhere it is used; refactor a name",
    "replace_lines": "replace, change or delete a range of lines; remove lines by number; edit by line number",
    "rewind": "restore, roll back or go back to a checkpoint or snapshot; revert all files to an earlier state",
    "stat": (
        "size, permissions, encoding, line count or modification time of a file; does a file exist; metadata; is "
        "it binary"
    ),
    "symbols": (
        "list classes, functions, imports, calls or decorators in the project; find a class by name; search for a "
        "symbol"
    ),
    "terminal": "run a shell command that only reads; safe read-only shell; inspect with ls, cat, head",
    "time": "what time, date or day is it; current date; now; time zone; clock",
    "todo_read": "show the todo list, plan or progress; what is left to do; remaining tasks",
    "todo_write": "make a plan or todo list; track tasks; mark a step or task done; checklist; update progress",
    "undo": (
        "undo or revert my last edit or change; revert a file to its previous version; take back; restore the "
        "file as it was before my change"
    ),
    "web_search": (
        "search the internet or web; google; look up an error message online; find documentation or latest version"
    ),
    "workspace": "which folders can I reach; root of the project; absolute path; current working directory; where am I",
}
"""By the name of the tool, divided by semicolons."""
