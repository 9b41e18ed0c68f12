"""How other harnesses spell calls of our tools: their tool names, parameters, units and shapes, as data.

Models are trained on many harnesses and mix them up. Each rule here reads a spelling that has one meaning only; what
could be read in two ways is left as it is, and refused. Native tools alone are forgiving: a dialect has its own names.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolroll.result import Suggestion

Reading = Callable[[Any], Mapping[str, Any] | None]
"""A parameter's value as parameters of our own; None when it has no clear meaning."""

_CHARS_PER_TOKEN = 4
_DAY_MS = 86_400_000
_RANGE = re.compile(r"\[? *(\d+) *[,-] *(-?\d+) *\]?")
_SHELLS = ("bash", "sh", "zsh")


def _as(name: str, *kinds: type) -> Reading:
    """Another name for a parameter, for values of some types."""
    return lambda value: {name: value} if type(value) in kinds else None


def _list_of(name: str) -> Reading:
    """One text, or a list, for a parameter that takes a list."""
    return lambda value: {name: [value]} if isinstance(value, str) else {name: value} if _is_texts(value) else None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


def _with_action(name: str, action: str) -> Reading:
    """A parameter that says what is to be done, where no action does."""
    return lambda value: {name: value, "action": action} if isinstance(value, str) else None


def _number(name: str) -> Reading:
    """A count of another name, from 0."""
    return lambda value: {name: value} if type(value) is int and value >= 0 else None


def _idle(_value: Any) -> Mapping[str, Any]:
    """It says nothing that changes the call."""
    return {}


def _only(expected: Any) -> Reading:
    """Idle with the value that asks for what is done anyway."""
    return lambda value: {} if value == expected else None


def _choice(name: str, values: Mapping[str, str]) -> Reading:
    return lambda value: {name: values[value]} if isinstance(value, str) and value in values else None


def _switch(name: str, chosen: Any, default: Any) -> Reading:
    """A flag that stands for a choice."""
    return lambda value: {name: chosen if value else default} if isinstance(value, bool) else None


def _milliseconds(name: str) -> Reading:
    return lambda value: {name: max(0.1, value / 1000)} if _is_count(value) else None


def _seconds(most: float) -> Reading:
    """A timeout: a number that is too large for seconds is one of milliseconds."""
    return lambda value: {"timeout": min(value / 1000, most)} if _is_count(value) and most < value <= _DAY_MS else None


def _characters(value: Any) -> Mapping[str, Any] | None:
    return {"most": value * _CHARS_PER_TOKEN} if _is_count(value) else None


def _is_count(value: Any) -> bool:
    return type(value) in (int, float) and value > 0


def _command(value: Any) -> Mapping[str, Any] | None:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        return None
    return {"command": join_command(value)}


def join_command(words: Sequence[str]) -> str:
    """A command given as words: that of a shell is its text."""
    is_shell = len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in ("-c", "-lc")
    return words[2] if is_shell else shlex.join(words)


def _one_path(value: Any) -> Mapping[str, Any] | None:
    value = value[0] if isinstance(value, list) and len(value) == 1 else None
    value = value["path"] if isinstance(value, dict) and value.keys() == {"path"} else value
    return {"path": value} if isinstance(value, str) else None


def _file_type(value: Any) -> Mapping[str, Any] | None:
    return {"type": value} if isinstance(value, str) and value.isalnum() else None


def _lines(value: Any) -> Mapping[str, Any] | None:
    """A range of lines, from and to; -1 is the end of the file."""
    if isinstance(value, str) and (numbers := _RANGE.fullmatch(value)):
        value = [int(numbers[1]), int(numbers[2])]
    if not isinstance(value, list) or len(value) != 2 or any(type(one) is not int for one in value):
        return None
    first, last = value
    if first < 0 or (last != -1 and last < first):
        return None
    return {"offset": max(1, first)} | ({} if last == -1 else {"end": max(1, last)})


_OLD = ("old", "oldstring", "oldstr", "oldtext", "search", "find", "targetcontent")
_NEW = ("new", "newstring", "newstr", "newtext", "replace", "replacement", "replacementcontent")
_EVERY = ("replaceall", "changeall", "allowmultiple")
_STEP = {**dict.fromkeys(_OLD, "old"), **dict.fromkeys(_NEW, "new"), **dict.fromkeys(_EVERY, "replace_all")}
_BLOCK = re.compile(
    r"^[<-]{5,9} ?SEARCH\n(?::\w+:.*\n)*(?:-{5,9}\n)?((?:.*\n)*?)={5,9}\n((?:.*\n)*?)[>+]{5,9} ?REPLACE$", re.MULTILINE
)


def _edits(value: Any) -> Mapping[str, Any] | None:
    """Several replacements in one file, or a single one."""
    if isinstance(value, str):
        from toolroll.schema.argument_text import read_value

        try:
            value = read_value(value)
        except ValueError:
            return None
    value = [value] if isinstance(value, dict) else value
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return None
    steps = [{_STEP.get(_flat(str(name)), ""): given for name, given in one.items()} for one in value]
    if any(not {"old", "new"} <= set(step) or "" in step for step in steps):
        return None
    if len(steps) == 1:
        return steps[0]
    # The two parameters that every call has, though the steps are what counts.
    return {"old": steps[0]["old"], "new": steps[0]["new"], "edits": steps}


def _blocks(value: Any) -> Mapping[str, Any] | None:
    """SEARCH/REPLACE blocks about one file."""
    found = _BLOCK.findall(value.replace("\r\n", "\n")) if isinstance(value, str) else []
    if not found or len(found) != value.count("SEARCH"):
        return None
    return _edits([{"old": old.removesuffix("\n"), "new": new.removesuffix("\n")} for old, new in found])


def _text_of_one(name: str) -> Reading:
    """A list of one text, or the text."""
    return lambda value: {name: value[0]} if isinstance(value, list) and list(map(type, value)) == [str] else None


def _last_line(value: Any) -> Mapping[str, Any] | None:
    if value == -1:
        return {}
    return {"end": value} if type(value) is int and value > 0 else None


def _plan(value: Any) -> Mapping[str, Any] | None:
    """A plan of steps as a todo list."""
    if not isinstance(value, list) or not all(
        isinstance(one, dict) and isinstance(one.get("step"), str) for one in value
    ):
        return None
    return {"todos": [{"content": one["step"], "status": one.get("status", "pending")} for one in value]}


def _todos(value: Any) -> Mapping[str, Any] | None:
    """A todo list whose items also have a form for the time while they are worked on."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        return None
    return {"todos": [{name: text for name, text in one.items() if name != "activeForm"} for one in value]}


_OUTPUT = {"files_with_matches": "files", "files_only": "files", "counts": "count", "lines": "content"}
_NO_MEANING = (
    "description explanation justification securityrisk risklevel risklevelreason toolsummary toolaction safetoautorun "
    "requiresapproval requireuserapproval goal includesummaryofotherfiles"
)
_ANY: dict[str, Reading] = dict.fromkeys(_NO_MEANING.split(), _idle)
_EDIT: dict[str, Reading] = {
    "instruction": _idle,
    "instructions": _idle,
    "expectedreplacements": _only(1),
    "allowmultiple": _as("replace_all", bool),
    "command": _only("str_replace"),
    "edits": _edits,
    "edit": _edits,
    "changes": _edits,
    "replacements": _edits,
    "replacementchunks": _edits,
    "diff": _blocks,
}
# By tool, then by parameter, compared without case, `_` and `-`; flags such as -A as they are.
_PARAMETERS: dict[str, dict[str, Reading]] = {
    "bash": {
        "command": _command,
        "cmd": _command,
        "timeout": _seconds(600),
        "timeoutms": _milliseconds("timeout"),
        "yieldtimems": _milliseconds("wait"),
        "maxoutputtokens": _characters,
        "workdir": _as("cwd", str),
        "workingdirectory": _as("cwd", str),
        "workingdir": _as("cwd", str),
        "directory": _as("cwd", str),
        "dirpath": _as("cwd", str),
        "dir": _as("cwd", str),
        "description": _as("description", str),
        "runinbackground": _as("background", bool),
        "isbackground": _as("background", bool),
        "isinput": _only("false"),
        "dangerouslydisablesandbox": _idle,
        "withescalatedpermissions": _idle,
        "sandboxpermissions": _idle,
        "prefixrule": _idle,
        "login": _idle,
        "shell": _idle,
        "tty": _idle,
        "blocking": _only(True),
        "waitmsbeforeasync": _milliseconds("wait"),
    },
    "read": {
        "path": _one_path,
        "paths": _one_path,
        "files": _one_path,
        "offset": _only(0),
        "viewrange": _lines,
        "linerange": _lines,
        "endline": _last_line,
        "endlineoneindexedinclusive": _last_line,
        "startlineoneindexed": _as("offset", int),
        "shouldreadentirefile": _only(False),
        "force": _as("force", bool),
    },
    "grep": {
        "paths": _one_path,
        "path": _one_path,
        "outputmode": _choice("output", {**_OUTPUT, "content": "content", "count": "count"}),
        "output": _choice("output", _OUTPUT),
        "isregexp": _switch("literal", chosen=False, default=True),
        "isregex": _switch("literal", chosen=False, default=True),
        "matchperline": _switch("output", "content", "files"),
        "includes": _text_of_one("include"),
        "-n": _idle,
        "shownumbers": _idle,
        "-i": _as("ignore_case", bool),
        "casesensitive": lambda value: {"ignore_case": not value} if isinstance(value, bool) else None,
        "-w": _as("whole_word", bool),
        "-F": _as("literal", bool),
        "-l": _switch("output", "files", "content"),
        "-c": _switch("output", "count", "content"),
        "-A": _number("after"),
        "-B": _number("before"),
        "-C": _as("context", int),
        "-o": _as("only_matching", bool),
        "before": _number("before"),
        "after": _number("after"),
        "beforecontext": _number("before"),
        "aftercontext": _number("after"),
        "type": _file_type,
        "offset": _number("offset"),
    },
    "find": {
        "paths": _one_path,
        "path": _one_path,
        "targetdirectory": _as("path", str),
        "patterns": _text_of_one("pattern"),
        "includedirs": _idle,
        "casesensitive": _only(True),
        "respectgitignore": lambda value: {"ignored": not value} if isinstance(value, bool) else None,
    },
    "ls": {
        "paths": _one_path,
        "ignore": _idle,
        "ignorepatterns": _idle,
        "targetdirectory": _as("path", str),
        "respectgitignore": _idle,
    },
    "edit": _EDIT,
    "write": {"linecount": _idle, "emptyfile": _only(False), "mode": _only("overwrite"), "command": _only("create")},
    "patch": {"input": _as("patch", str), "patchtext": _as("patch", str), "diff": _as("patch", str)},
    "insert": {
        # Ours is the line that the text goes before; that of others is the line it goes after.
        "insertline": lambda value: {"line": value + 1} if type(value) is int else None,
        "newstr": _as("content", str),
        "inserttext": _as("content", str),
    },
    "diagnostics": dict.fromkeys(("path", "paths", "file"), _list_of("files")),
    "rag": {"query": _with_action("query", "search"), "question": _with_action("query", "ask")},
    "memory": {"query": _with_action("query", "search"), "content": _with_action("content", "add")},
    "multiedit": {
        **dict.fromkeys(("glob", "files"), _as("pattern", str)),
        **dict.fromkeys(("old", "oldstring", "oldstr", "oldtext", "search"), _as("find", str)),
        **dict.fromkeys(("new", "newstring", "newstr", "newtext", "replacement"), _as("replace", str)),
        "dryrun": _as("preview", bool),
    },
    "undo": {"call": _number("entry"), "redo": _as("redo", bool)},
    "todo_write": {"plan": _plan, "todos": _todos},
    "fetch": {"prompt": _idle, "format": _idle, "timeout": _seconds(300)},
    "job": {
        "bashid": _as("id", int, str),
        "shellid": _as("id", int, str),
        "sessionid": _as("id", int, str),
        "chars": _as("input", str),
        "yieldtimems": _milliseconds("wait"),
        "maxoutputtokens": _idle,
    },
}


def _redirect_git(given: Mapping[str, Any]) -> None:
    """Name the call that a git command line, or `checkout`, stands for."""
    from toolroll.result import ErrorCode, Suggestion, ToolError

    line = given.get("command")
    if isinstance(line, str) and "action" not in given:
        line = line.strip() if line.split()[:1] == ["git"] else f"git {line.strip()}"
        message = "git takes no command line but `action`, as in action='status'. `bash` runs command lines."
        raise ToolError(ErrorCode.VALIDATION, message, suggest=(Suggestion("bash", {"command": line}),))
    if given.get("action") == "checkout":
        name = given.get("name") or given.get("ref")
        switch = {"action": "branch", "sub": "switch", "name": name} if name and not given.get("files") else None
        restore = {**given, "action": "restore"} if given.get("files") else None
        raise ToolError(
            ErrorCode.VALIDATION,
            "There is no action 'checkout': `branch` with `sub` 'switch' and `name` changes the branch, `restore` with "
            "`files` (and `ref`) takes files back.",
            suggest=tuple(Suggestion("git", call) for call in (switch, restore) if call),
        )


_REDIRECTS: dict[str, Callable[[Mapping[str, Any]], None]] = {"git": _redirect_git}


def _patch_command(arguments: Mapping[str, Any], folder: str) -> Suggestion | None:
    from toolroll.text.patch.command import read_patch_command

    return read_patch_command(arguments, folder)


STANDS_FOR = {"bash": ("apply", _patch_command)}
"""A word in the command of a tool, and how such a command is read as a call of another tool."""
# Other harnesses' names of our tools, with the arguments that such a name stands for.
_TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    **dict.fromkeys(("readfile", "viewfile", "view", "openfile", "cat", "viewimage", "viewlinerange"), ("read", {})),
    **dict.fromkeys(("writefile", "createfile", "create", "writetofile"), ("write", {})),
    **dict.fromkeys(
        (
            "editfile",
            "strreplace",
            "replace",
            "searchreplace",
            "strreplaceedit",
            "strreplacefile",
            "replacestringinfile",
            "replaceinfile",
            "replacefilecontent",
            "applydiff",
        ),
        ("edit", {}),
    ),
    **dict.fromkeys(("applypatch",), ("patch", {})),
    **dict.fromkeys(("glob", "globfiles", "findfiles", "filesearch", "globfilesearch", "findbyname"), ("find", {})),
    **dict.fromkeys(("grepsearch", "searchfilecontent", "searchfiles", "ripgrep", "rg", "greptool"), ("grep", {})),
    **dict.fromkeys(("list", "listdir", "listdirectory", "listfiles"), ("ls", {})),
    **dict.fromkeys(
        ("shell", "shellcommand", "execcommand", "runshellcommand", "executebash", "localshell", "containerexec"),
        ("bash", {}),
    ),
    **dict.fromkeys(("runcommand", "executecommand", "runterminalcmd", "runinterminal", "execute"), ("bash", {})),
    **dict.fromkeys(("bashoutput", "taskoutput"), ("job", {"action": "output"})),
    **dict.fromkeys(("killshell", "killbash"), ("job", {"action": "kill"})),
    "writestdin": ("job", {"action": "input"}),
    **dict.fromkeys(("todowrite", "updateplan", "writetodos"), ("todo_write", {})),
    "todoread": ("todo_read", {}),
    "redo": ("undo", {"redo": True}),
    **dict.fromkeys(("webfetch", "fetchurl"), ("fetch", {})),
    **dict.fromkeys(("websearch", "googlewebsearch"), ("web_search", {})),
}
# An editor with commands: which tool each command is.
_EDITORS = ("strreplaceeditor", "strreplacebasededittool", "fileeditor")
_COMMANDS = {"view": "read", "create": "write", "str_replace": "edit", "insert": "insert", "undo_edit": "undo"}
_PREFIXES = ("mcp__toolroll__", "functions.", "toolroll_", "toolroll.")


def read_call(name: str, arguments: Mapping[str, Any], known: Iterable[str]) -> tuple[str, dict[str, Any]] | None:
    """The tool and the arguments that a call of an unknown tool means; None when that is not clear."""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    flat = _flat(name)
    if flat in _EDITORS:
        command = arguments.get("command")
        if not isinstance(command, str) or command not in _COMMANDS:
            return None
        return _COMMANDS[command], {key: value for key, value in arguments.items() if key != "command"}
    if flat == "applydiff" and _blocks(arguments.get("diff")) is None:
        flat = "applypatch"
    if flat == "multiedit" and not {"pattern", "glob"} & arguments.keys():  # several edits of one file, elsewhere
        flat = "edit"
    same = [one for one in known if _flat(one) == flat]
    tool, fixed = (same[0], {}) if same else _TOOLS.get(flat, ("", {}))
    return (tool, {**arguments, **fixed}) if tool in known else None


def read_arguments(tool: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The arguments that are left as they are, those that were read, in our spelling, and a note for each of these.

    ToolError for a call that another one says better, which it names.
    """
    rules = _PARAMETERS.get(tool, {})
    if tool in _REDIRECTS:
        _REDIRECTS[tool](arguments)
    left = dict(arguments)
    read: dict[str, Any] = {}
    notes: list[str] = []
    for given, value in arguments.items():
        rule = _rule(rules, given)
        reading = rule(value) if rule else None
        others = read | {name: one for name, one in left.items() if name != given}
        if reading is None or not _agree(others, reading):
            continue
        del left[given]
        if "context" in reading:
            reading = {"context": max(reading["context"], read.get("context", 0), left.pop("context", 0))}
        read.update(reading)
        if not reading or not reading.items() <= arguments.items():
            notes.append(_note(given, reading))
    return left, read, notes


def _rule(rules: Mapping[str, Reading], given: Any) -> Reading | None:
    if not isinstance(given, str):
        return None
    if given.startswith("-"):
        return rules.get(given)
    flat = _flat(given)
    return rules.get(flat) or _ANY.get(flat)


def _agree(found: Mapping[str, Any], reading: Mapping[str, Any]) -> bool:
    """Whether what was given so far says nothing else; more lines of context hold fewer."""
    return all(
        type(found.get(name, 0)) is int if name == "context" else found.get(name, own) == own
        for name, own in reading.items()
    )


def _note(given: str, reading: Mapping[str, Any]) -> str:
    if not reading:
        return f"{given} left out"
    return f"{given} read as " + ", ".join(f"{name}={own!r:.80}" for name, own in reading.items())


def _flat(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(".", "").lower()
