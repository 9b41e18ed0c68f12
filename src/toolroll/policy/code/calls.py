"""What calls of Python's library come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from toolroll.policy.code import known
from toolroll.policy.code.values import (
    READER,
    STDIN,
    UNKNOWN,
    Above,
    Const,
    Instance,
    Later,
    Many,
    Named,
    Patch,
    Value,
    truth,
)


class Reads(Exception):  # noqa: N818 - it is a finding, not an error
    """The program reads standard input."""


class Ended(Exception):  # noqa: N818 - the same
    """The program ends here."""


Args = Sequence[Value]
Keywords = Mapping[str, Value]


class Machine(Protocol):
    """What the calls need of the program they are in."""

    replaced: dict[str, Value]

    def attribute(self, value: Value, name: str) -> Value:
        """What an object has under this name."""

    def store(self, value: Value, name: str, new: Value) -> None:
        """Give an object something under this name."""

    def escape(self, values: Args) -> None:
        """Hand values to code that is not known."""

    def special(self, value: Value, name: str) -> Value:
        """What an object gives through one of its special methods."""

    def owner(self) -> Value | None:
        """The object whose method is running."""

    def run_text(self, text: str) -> Value:
        """Run a text as code, in the scope that is active."""


def call(machine: Machine, path: str, args: Args, keywords: Keywords) -> Value:
    """The value of calling what a module has under a dotted name; raises Reads if that reads."""
    if path in known.ENDS:
        raise Ended
    if path in known.READERS:
        return _reader(machine, path, args, keywords)
    if path in _SPECIAL:
        return _SPECIAL[path](machine, args, keywords)
    if path in known.CHILDREN:
        return _child(path, args, keywords)
    if path in known.OPENERS and args and _is_place(args[0]):
        return Const(0) if path == "os.open" else STDIN
    if path in known.WRAPPERS and len(args) == 1:
        return args[0]
    if path in known.LAZY:
        return Later(lambda: _handed_on(machine, args, keywords))
    if path not in known.HARMLESS and not path.startswith(known.HARMLESS_MODULES):
        machine.escape([*args, *keywords.values()])
    return Named(f"{path}()")


def _handed_on(machine: Machine, args: Args, keywords: Keywords) -> Value:
    machine.escape([*args, *keywords.values()])
    return UNKNOWN


def reads_when_called(machine: Machine, value: Value) -> bool:
    """Whether a value that is handed around would read if somebody called it."""
    if value is READER:
        return True
    return isinstance(value, Named) and value.path in known.READERS and not _is_replaced(machine, value.path)


def _is_replaced(machine: Machine, path: str) -> bool:
    """`input` reads whatever `sys.stdin` is at the time."""
    return path == "builtins.input" and machine.replaced.get("sys.stdin", STDIN) is not STDIN


def _is_place(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, int | str) and value.value in known.PLACES


def _reader(machine: Machine, path: str, args: Args, keywords: Keywords) -> Value:
    if path.startswith("fileinput."):
        files = keywords.get("files", args[0] if args else Const(None))
        standard = files == Const("-") or (isinstance(files, Many) and Const("-") in files.values)
        if truth(files) is not False and not standard:
            return UNKNOWN
    if _is_replaced(machine, path):
        return UNKNOWN
    raise Reads


def _child(path: str, args: Args, keywords: Keywords) -> Value:
    given = keywords.get("stdin", Const(None))
    if given not in (Const(None), STDIN) or keywords.get("input", Const(None)) != Const(None):
        return Named(f"{path}()")
    if path.startswith(("os.exec", "asyncio.create_subprocess_exec")):
        rest = args[1:] if path.startswith("os.exec") else args
        command: Value = rest[0] if len(rest) == 1 and isinstance(rest[0], Many) else Many(tuple(rest))
    else:
        command = keywords.get("args", args[0] if args else UNKNOWN)
    if _waits(command):
        raise Reads
    return Named(f"{path}()")


def _waits(command: Value) -> bool:
    if isinstance(command, Const) and isinstance(command.value, str):
        return known.shell_waits(command.value)
    if not isinstance(command, Many):
        return False
    words = ["python" if one == Named("sys.executable") else getattr(one, "value", "?") for one in command.values]
    argv = [word if isinstance(word, str) else "?" for word in words]
    if argv[1:2] == ["-c"] and len(argv) > 2:
        return _text_waits(argv[0].rpartition("/")[2], argv[2])
    return known.waits_for_input(argv)


def _text_waits(program: str, text: str) -> bool:
    """A program given as text to another one."""
    from toolroll.policy.code import reads_stdin

    if program.startswith("python"):
        return reads_stdin(text)
    return program in ("sh", "bash", "zsh", "dash") and known.shell_waits(text)


def _os_read(_machine: Machine, args: Args, _keywords: Keywords) -> Value:
    if args and (args[0] is STDIN or args[0] == Const(0)):
        raise Reads
    return UNKNOWN


def _getattr(machine: Machine, args: Args, _keywords: Keywords) -> Value:
    if len(args) < 2 or not isinstance(args[1], Const):
        return UNKNOWN
    return machine.attribute(args[0], str(args[1].value))


def _setattr(machine: Machine, args: Args, _keywords: Keywords) -> Value:
    if len(args) == 3 and isinstance(args[1], Const):
        machine.store(args[0], str(args[1].value), args[2])
    return UNKNOWN


def _module(_machine: Machine, args: Args, _keywords: Keywords) -> Value:
    return Named(str(args[0].value)) if args and isinstance(args[0], Const) else UNKNOWN


def _text(machine: Machine, args: Args, _keywords: Keywords) -> Value:
    if args and isinstance(args[0], Const) and isinstance(args[0].value, str):
        return machine.run_text(args[0].value)
    return UNKNOWN


def _compile(_machine: Machine, args: Args, _keywords: Keywords) -> Value:
    return args[0] if args else UNKNOWN


def _patch(_machine: Machine, args: Args, _keywords: Keywords) -> Value:
    if args and isinstance(args[0], Const):
        return Patch(str(args[0].value).replace("__main__.", "builtins."))
    return UNKNOWN


def _patch_object(_machine: Machine, args: Args, _keywords: Keywords) -> Value:
    if len(args) > 1 and isinstance(args[0], Named) and isinstance(args[1], Const):
        return Patch(f"{args[0].path}.{args[1].value}")
    return UNKNOWN


def _range(_machine: Machine, args: Args, _keywords: Keywords) -> Value:
    bounds = [one.value for one in args if isinstance(one, Const) and isinstance(one.value, int)]
    if len(bounds) == len(args) and 1 <= len(args) <= 2 and not range(*bounds):
        return Many(())
    return UNKNOWN


def _iter(machine: Machine, args: Args, _keywords: Keywords) -> Value:
    if len(args) == 1:
        return args[0]
    machine.escape(args)
    return UNKNOWN


def _help(_machine: Machine, args: Args, _keywords: Keywords) -> Value:
    if not args:
        raise Reads
    return UNKNOWN


def _len(machine: Machine, args: Args, _keywords: Keywords) -> Value:
    for one in args:
        machine.special(one, "__len__")
    if args and args[0] == Named("sys.argv"):
        return Const(1)
    return Const(len(args[0].values)) if args and isinstance(args[0], Many) and args[0].fixed else UNKNOWN


def _show(machine: Machine, args: Args, _keywords: Keywords) -> Value:
    for one in args:
        machine.special(one, "__str__")
        machine.special(one, "__repr__")
    return Named("builtins.str()")


def _super(machine: Machine, _args: Args, _keywords: Keywords) -> Value:
    owner = machine.owner()
    return Above(owner) if isinstance(owner, Instance) else UNKNOWN


def _vars(_machine: Machine, args: Args, _keywords: Keywords) -> Value:
    return args[0] if args and isinstance(args[0], Named) else UNKNOWN


def _partial(machine: Machine, args: Args, keywords: Keywords) -> Value:
    if args and (len(args) == 1 or reads_when_called(machine, args[0])):
        return args[0]
    return _handed_on(machine, args, keywords)


def _select(machine: Machine, args: Args, _keywords: Keywords) -> Value:
    if len(args) < 4:
        machine.escape(args)  # it waits until there is something to read
    return UNKNOWN


def _next(machine: Machine, args: Args, _keywords: Keywords) -> Value:
    if args and isinstance(args[0], Instance):
        machine.escape([machine.attribute(args[0], "__next__")])
    machine.escape(args[:1])
    return UNKNOWN


_SPECIAL: dict[str, Callable[[Machine, Args, Keywords], Value]] = {
    "os.read": _os_read,
    "os.readv": _os_read,
    "os.pread": _os_read,
    "os.isatty": lambda *_: Const(False),
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.__import__": _module,
    "importlib.import_module": _module,
    "builtins.eval": _text,
    "builtins.exec": _text,
    "builtins.compile": _compile,
    "builtins.range": _range,
    "builtins.iter": _iter,
    "builtins.next": _next,
    "builtins.help": _help,
    "builtins.len": _len,
    **dict.fromkeys(("builtins.print", "builtins.str", "builtins.repr", "builtins.format"), _show),
    "builtins.super": _super,
    "builtins.vars": _vars,
    "functools.partial": _partial,
    "select.select": _select,
    "unittest.mock.patch": _patch,
    "mock.patch": _patch,
    "unittest.mock.patch.object": _patch_object,
    "mock.patch.object": _patch_object,
}
