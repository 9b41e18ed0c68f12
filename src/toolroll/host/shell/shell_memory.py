"""What the shells of a kit remember between commands: the folder that each is in, and the variables it has exported."""

from __future__ import annotations

import os
import re
import shlex
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from toolroll.host.files.sessions import SavedShell
from toolroll.host.shell.command_checks import keeps_shell
from toolroll.host.shell.command_launcher import SealedText
from toolroll.policy.secrets import is_secret
from toolroll.policy.variables import may_set, words
from toolroll.result import ErrorCode, ToolError
from toolroll.text.encoding import is_unicode

if TYPE_CHECKING:
    from toolroll.host.shell.supervisor import RunningCommand

Trust = Literal["reads", "approved", "open"]
"""Why a command may run: it was judged to read only, somebody has approved it, or the policy lets it run."""
Remember = Literal["all", "folder", "nothing", "reset"]
Variables = Mapping[str, str | None]  # by name; None is one that was unset

_MAX_SHELLS = 50
_LAST_BYTES = 4_000  # of the last command, and of what it printed to each stream
_MAX_VALUE_BYTES, _MAX_VARIABLES_BYTES = 16 << 10, 64 << 10
_MAX_REPORT_BYTES = 4 << 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHELL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
# Of one shell alone, or code that each shell would run before its command.
_NEVER = words("_ PWD OLDPWD SHLVL IFS BASH_ENV ENV SHELLOPTS BASHOPTS PS4 BASH_XTRACEFD PROMPT_COMMAND")
_NEVER_UNSET = words("PATH HOME TMPDIR")
_OTHER_PROGRAMS = re.compile(r"PATH|(?:LD_|DYLD_|BASH|GIT_|TOOLROLL_).*")  # what was approved would be something else
_MAY_CHANGE = re.compile(r"\b(?:cd|pushd|popd|export|unset|declare|source|activate)\b|(?:^|[\s;&])\.\s")


class ShellReport(SealedText):
    """A start file of bash, in whose place the shell writes its folder and exported variables when it ends."""

    # Only builtins, for PATH may be unset; no trace, no error and no other exit status, whatever the command has set.
    _REPORT = r"""{ set +eux; builtin compgen -e >|FILE; IFS= builtin read -r -d "" _toolroll_names <FILE; IFS=$'\n'
{ builtin pwd -P || builtin printf '%s\n' "$PWD"; builtin printf '\0'; for _toolroll_name in $_toolroll_names; do
case $_toolroll_name in *[!A-Za-z0-9_]*) continue;; esac
[ "${!_toolroll_name+x}" ] && builtin printf '%s=%s\0' "$_toolroll_name" "${!_toolroll_name}"
done; builtin printf '\0'; } >|FILE; } 2>/dev/null"""

    def __init__(self, start_file: str = "") -> None:
        """`start_file`: the one that bash would have had."""
        own = f"export BASH_ENV={shlex.quote(start_file)}; . {shlex.quote(start_file)}" if start_file else ""
        script = f"trap {shlex.quote(self._REPORT)} EXIT; unset BASH_ENV\n{own}\n"
        super().__init__("", "", sealed=False)
        os.pwrite(self.fd, script.replace("FILE", self.path).encode(), 0)

    def read(self) -> tuple[str, dict[str, str]] | None:
        """The folder and the exported variables; None if the shell was killed, or has replaced itself or our trap.

        A command can write anything here.
        """
        data = os.pread(self.fd, _MAX_REPORT_BYTES, 0)
        folder, mark, rest = data.partition(b"\0")
        if not mark or not data.endswith(b"\0\0") or not folder.startswith(b"/"):
            return None
        pairs = (one.decode("utf-8", "surrogateescape").partition("=") for one in rest.split(b"\0"))
        found = {name: value for name, _, value in pairs if _NAME.fullmatch(name)}
        return folder.decode("utf-8", "replace").removesuffix("\n"), found


def ask_for_report(text: str, variables: Mapping[str, str]) -> ShellReport | None:
    """The start file for a bash that gets these first variables; None if it is certain to end as it begins."""
    start_file = variables.get("BASH_ENV", "")
    has_code = start_file or any(name.startswith("BASH_FUNC_") for name in variables)
    return ShellReport(start_file) if has_code or not keeps_shell(text) else None


def compare_variables(
    first: Mapping[str, str], found: Mapping[str, str], withheld: Variables
) -> tuple[dict[str, str | None], list[str]]:
    """The variables that a shell has ended with, as they differ from the first ones, and the names of those left out.

    Those that were `withheld` from it are as they were, unless it has set them itself.
    """
    gone = (name for name in first if name not in found and _NAME.fullmatch(name) and name not in _NEVER_UNSET)
    kept: dict[str, str | None] = {**withheld, **dict.fromkeys(gone)}
    left_out, total = [], 0
    for name, value in found.items():
        if first.get(name) == value or name in _NEVER or name.startswith("TOOLROLL_"):
            continue
        size = len(value.encode("utf-8", "surrogateescape"))
        total += size
        if size > _MAX_VALUE_BYTES or total > _MAX_VARIABLES_BYTES or not is_unicode(value):
            left_out.append(name)
            total -= size
        else:
            kept[name] = value
    return {name: value for name, value in kept.items() if name not in _NEVER}, left_out


def select_variables(variables: Variables, trust: Trust) -> dict[str, str | None]:
    """Those of a session's variables that a command gets: none that would make it another than was judged."""
    if trust == "open":
        return dict(variables)
    if trust == "reads":
        return {name: value for name, value in variables.items() if may_set(name, value or "")}
    return {
        name: value
        for name, value in variables.items()
        if may_set(name, value or "") or not _OTHER_PROGRAMS.fullmatch(name)
    }


def has_secret(variables: Variables) -> bool:
    """Whether one of them must not be shown."""
    return any(value and is_secret(name, value) for name, value in variables.items())


def show_variables(variables: Variables) -> tuple[str, ...]:
    """Changed variables as an approver sees them, without secrets."""
    shown = {name: "(secret)" if value and is_secret(name, value) else value for name, value in variables.items()}
    return tuple(f"unset {name}" if value is None else f"{name}={value}" for name, value in sorted(shown.items()))


def describe_withheld(variables: Variables, used: Variables, trust: Trust) -> str:
    """A sentence about variables that a command did not get."""
    names = sorted(variables.keys() - used.keys())
    why = "it was judged to read only" if trust == "reads" else "it was approved"
    return f"Ran without what earlier commands set: {', '.join(names)}, because {why}." if names else ""


def may_change(text: str) -> bool:
    """Whether a command looks as if it changed the folder or variables of its shell."""
    return _MAY_CHANGE.search(text) is not None


@dataclass(frozen=True, slots=True)
class EndedCommand:
    """A command, its exit code or how else it ended, and the last bytes of what it printed."""

    command: str
    status: int | str | None
    output: bytes


class ShellMemory:
    """The state of every shell, by the session of the call and its name; the empty name is the usual one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shells: dict[tuple[str, str], SavedShell] = {}
        self.last: EndedCommand | None = None
        """The last command that has ended, whichever shell ran it; jobs do not count."""

    def keep_last(self, title: str, running: RunningCommand) -> None:
        """Keep how a command has ended, and not its output, which may be large."""
        if (ended := running.ended) is not None:
            status = ended.status if ended.outcome == "exited" else str(ended.outcome)
            outputs = [running.output, *([running.errors] if running.errors is not None else [])]
            tails = (one.read(one.present(max(0, one.total - _LAST_BYTES)), _LAST_BYTES) for one in outputs)
            self.last = EndedCommand(title[:_LAST_BYTES], status, b"\n".join(filter(None, tails)))

    def get(self, session: str, name: str = "") -> SavedShell | None:
        """What is known of a shell, if anything; ToolError for a name that cannot be one."""
        if name and not _SHELL_NAME.fullmatch(name):
            raise ToolError(
                ErrorCode.VALIDATION,
                f"{name!r} is no name for a `session`. Use letters, digits, '.', '_' and '-', at most 64 characters.",
            )
        with self._lock:
            found = self._shells.get((session, name))
            if name and found is None:
                names = [one for owner, one in self._shells if owner == session and one]
                if len(names) >= _MAX_SHELLS:
                    raise ToolError(
                        ErrorCode.TOO_LARGE, f"There are {_MAX_SHELLS} sessions. Use one of them: {', '.join(names)}."
                    )
            return found

    def put(self, session: str, name: str, state: SavedShell | None) -> None:
        """Keep the state of a shell; None forgets it."""
        with self._lock:
            if state is None:
                self._shells.pop((session, name), None)
            else:
                self._shells[session, name] = state

    def resume(self, session: str, shells: Mapping[str, SavedShell]) -> None:
        """Go on with the shells of a session that was kept."""
        for name, state in shells.items():
            self.put(session, name, state)

    def saved(self, session: str) -> dict[str, SavedShell]:
        """The shells of a session as they may be written to disk: without secrets."""
        with self._lock:
            mine = {name: state for (owner, name), state in self._shells.items() if owner == session}
        return {name: SavedShell(one.cwd, _without_secrets(one.variables)) for name, one in mine.items()}


@dataclass(frozen=True, slots=True)
class ShellChoice:
    """Which shell runs a command, and what lasts of it."""

    memory: ShellMemory
    owner: str  # the session of the call
    name: str = ""
    elsewhere: bool = False
    """This one command runs in another folder, and the shell stays where it is."""
    remember: Remember = "all"
    """All is the folder and the exported variables; "reset" forgets both first, and then needs no command."""


def _without_secrets(variables: Variables) -> dict[str, str | None]:
    return {name: value for name, value in variables.items() if not value or not is_secret(name, value)}
