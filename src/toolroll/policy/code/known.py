"""Names of Python's library, by what they have to do with standard input."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

STDINS = frozenset({"sys.stdin", "sys.__stdin__"})

READERS = frozenset({
    "builtins.input", "builtins.raw_input", "builtins.breakpoint", "six.moves.input", "getpass.getpass",
    "code.interact", "code.InteractiveConsole().interact", "code.InteractiveConsole().raw_input", "IPython.embed",
    "IPython.start_ipython", "pdb.set_trace", "pdb.Pdb().set_trace", "ipdb.set_trace", "pudb.set_trace", "pdb.run",
    "pdb.post_mortem", "pdb.pm", "cmd.Cmd().cmdloop", "fileinput.input", "fileinput.FileInput", "pty.spawn",
    "msvcrt.getch", "msvcrt.getche", "click.prompt", "click.confirm", "click.getchar", "click.pause", "typer.prompt",
    "typer.confirm", "rich.prompt.Prompt.ask", "rich.prompt.Confirm.ask", "rich.prompt.IntPrompt.ask",
    "rich.prompt.FloatPrompt.ask", "rich.console.Console().input", "inquirer.prompt", "prompt_toolkit.prompt",
    "prompt_toolkit.shortcuts.prompt", "prompt_toolkit.PromptSession().prompt", "questionary.text().ask",
    "questionary.confirm().ask", "questionary.select().ask", "questionary.password().ask",
})  # fmt: skip
"""Called, they read. Those that take files instead, or something to read from, are looked at in `calls.py`."""

READING = frozenset({
    "read", "readline", "readlines", "readinto", "readinto1", "read1", "readall", "peek", "read_text", "read_bytes",
    "__next__",
})  # fmt: skip
"""Methods of a stream, or of the path of one."""

OPENERS = frozenset({
    "builtins.open", "io.open", "codecs.open", "os.fdopen", "os.open", "io.FileIO", "pathlib.Path", "pathlib.PosixPath",
    "asyncio.open", "tokenize.open",
})  # fmt: skip
PLACES = frozenset({0, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/tty"})

WRAPPERS = frozenset({
    "io.TextIOWrapper", "io.BufferedReader", "codecs.getreader()", "functools.partial", "os.dup",
    "contextlib.closing", "contextlib.nullcontext", "copy.copy", "functools.wraps()", "functools.lru_cache()",
    "functools.cache", "functools.lru_cache", "builtins.staticmethod", "builtins.classmethod", "asyncio.ensure_future",
})  # fmt: skip
"""What they give reads as what they were given does."""

LAZY = frozenset({
    "builtins.map", "builtins.filter", "builtins.zip", "builtins.enumerate", "itertools.islice", "itertools.chain",
    "itertools.takewhile", "itertools.dropwhile", "itertools.zip_longest", "csv.reader", "csv.DictReader",
    "threading.Thread", "threading.Timer",
})  # fmt: skip
"""What they are given is read or called when somebody goes through what they give, or starts it."""
STARTS = frozenset({"start", "run", "send", "__next__", "fieldnames"})

HARMLESS = frozenset({
    *(f"builtins.{name}" for name in (
        "print", "type", "isinstance", "issubclass", "hasattr", "id", "repr", "str", "callable", "format", "hash",
        "dir", "vars", "bool", "len", "super", "help", "ascii", "delattr",
    )),
    "sys.getsizeof", "os.isatty", "os.fstat", "os.close", "os.set_blocking", "os.get_blocking", "signal.signal",
    "os.set_inheritable", "pprint.pprint", "unittest.mock.Mock", "unittest.mock.MagicMock",
})  # fmt: skip
HARMLESS_MODULES = (
    "inspect.", "logging.", "fcntl.", "termios.", "tty.", "typing.", "types.", "dis.", "tkinter.", "warnings.",
)  # fmt: skip

ENDS = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "os._exit", "os.abort"})
CHILDREN = frozenset({
    "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "subprocess.Popen",
    "subprocess.getoutput", "subprocess.getstatusoutput", "os.system", "os.popen", "asyncio.create_subprocess_shell",
    "asyncio.create_subprocess_exec", "os.execvp", "os.execv", "os.execlp",
})  # fmt: skip
"""Programs started by these have our standard input, unless they are given another."""

FALSE = frozenset({"typing.TYPE_CHECKING", "sys.flags.interactive"})

# Programs that read standard input when they are given fewer operands than this.
_WAITING = {
    "cat": 1, "tac": 1, "sort": 1, "uniq": 1, "wc": 1, "head": 1, "tail": 1, "tee": 9, "tr": 9, "cut": 1, "rev": 1,
    "nl": 1, "fold": 1, "od": 1, "xxd": 1, "hexdump": 1, "base64": 1, "md5sum": 1, "sha1sum": 1, "sha256sum": 1,
    "less": 1, "more": 1, "grep": 2, "egrep": 2, "fgrep": 2, "sed": 2, "awk": 2, "jq": 2, "xargs": 9, "read": 9,
    "bc": 1, "python": 1, "python2": 1, "python3": 1, "bash": 1, "sh": 1, "zsh": 1, "dash": 1, "node": 1, "irb": 1,
    "perl": 1, "ruby": 1, "ed": 9, "passwd": 9, "su": 9, "vi": 9, "vim": 9, "nano": 9, "psql": 9, "mysql": 9,
    "sqlite3": 2,
}  # fmt: skip
_CUT = re.compile(r"\|\|?|&&|;|\n|&(?!>)")
_PUT = re.compile(r"[0-9&]*>>?(?:&[0-9]|\s*\S+)")  # where it writes to


def waits_for_input(argv: Sequence[str]) -> bool:
    """Whether a program started so would read standard input."""
    if not argv:
        return False
    program, *rest = argv
    operands = [word for word in rest if not word.startswith("-") or word == "-"]
    if "-" in operands:
        return True
    if any(word in ("--version", "--help", "-V", "-h", "-c", "-e", "-m") for word in rest):
        return False
    return len(operands) < _WAITING.get(program.rpartition("/")[2], 0)


def shell_waits(text: str) -> bool:
    """The same for the first command of a shell text, which is the one that has our standard input."""
    first = _CUT.split(text.strip(), maxsplit=1)[0]
    if "<" in first:
        return False
    try:
        return waits_for_input(shlex.split(_PUT.sub(" ", first), comments=True))
    except ValueError:
        return False
