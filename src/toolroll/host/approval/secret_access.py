"""Track whether a session could have read a secret, and ask before what could carry it out.

What counts is access, not spelling: a file tool that is about a file with a secret's name has read it, and a command
that could have opened such a file may have.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from toolroll.host.approval.guard import Guard
from toolroll.host.approval.request import ApprovalRequest, Consent
from toolroll.host.linux import O_PATH
from toolroll.host.runtime.call import Call
from toolroll.host.runtime.launcher import AccessRules
from toolroll.policy.effects import Effect
from toolroll.policy.rules import MODES
from toolroll.result import ErrorCode, ToolError
from toolroll.text.lines import list_some

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolroll.host.runtime.state import State

_PACKAGES = re.compile(r"node_modules|(?:site|dist)-packages|python\d[\d.]*|vendor|target|__pycache__|\.(?:hg|svn|jj)")
_MAX_DEPTH, _MAX_NAMES = 40, 200_000
_TOO_LARGE = f"a file of a workspace with more than {_MAX_NAMES:,} names"
_SHOWN = 10  # files, in a question or a note
_FOLDER, _MARKED = "secrets", "read"  # in the state of a workspace: some session could have read a secret
_NETWORK_KEY = ("secrets", "network")
_NETWORK_COVERS = "the network of all commands of this workspace, although they can read its files of secrets"


class OutgoingRequest(Protocol):
    """What is judged of an HTTP request."""

    @property
    def method(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes | None: ...


SentT = TypeVar("SentT", bound=OutgoingRequest)


@dataclass(frozen=True, slots=True)
class SecretRights:
    """What a command may do about the secrets of the workspace."""

    hide: tuple[str, ...] = ()
    """Absolute paths that it finds empty."""
    network: bool = True  # whether it gets the network that the policy gives
    is_agreed: bool = False  # whether the user agrees that it can read secrets and has a network
    notes: tuple[str, ...] = ()

    def limit(self, access: AccessRules, programs: tuple[str, ...]) -> AccessRules:
        """The access rules of a command within these rights, which may execute these programs alone, if any."""
        hide, network = (*access.hide, *self.hide), access.network and self.network
        return replace(access, programs=programs, hide=hide, network=network)


_ALL_RIGHTS = SecretRights()


@dataclass(slots=True)
class _Mark:
    """Why a session could know a secret, in words; empty if it could not. Shared by the kits of a session."""

    source: str = ""


class SecretAccess:
    """The secrets that one kit could have read. Any thread may use it."""

    def __init__(
        self,
        guard: Guard,
        folders: Sequence[str],
        list_tracked: Callable[[], Container[str]] = tuple,
    ) -> None:
        """`folders` are those of the workspace; `list_tracked` gives the files that git has, which cannot be hidden."""
        self._guard = guard
        self._folders = tuple(folders)
        self._list_tracked = list_tracked
        self._lock = threading.Lock()
        self._mark = _Mark()
        self._state: State | None = None
        self._commands_ran = self._has_looked = self._was_noted = self._was_declined = self._is_free = False

    def share(self, other: SecretAccess) -> None:
        """Have one mark with another kit: what a fork has read, its base can send."""
        if self.source:
            other._mark.source = other._mark.source or self.source
        self._mark = other._mark

    def keep_in(self, state: State) -> None:
        """Keep with the workspace that a session could have read a secret, for later ones that read what it kept."""
        self._state = state

    @property
    def known(self) -> str:
        """The same as `source`, without a look at what commands could have read since."""
        return self._mark.source

    def resume(self, source: str) -> None:
        """Go on with a session, of which this was `known`."""
        self._mark.source = self._mark.source or source

    def find_out(self) -> None:
        """Look through a frozen workspace, for the forks of it that `start_from` this."""
        self._is_free = not self._find()

    def start_from(self, base: SecretAccess) -> None:
        """Take over that a frozen workspace, of which this is a fork, has no files of secrets."""
        self._has_looked = base._is_free

    @property
    def source(self) -> str:
        """How a secret could have been read, in words; empty if none was."""
        if not self._mark.source and self._commands_ran:
            self._notice_command(self._find())  # a file that came since
        return self._mark.source

    def notice_paths(self, paths: Iterable[tuple[str, ...]]) -> None:
        """Record files, by their components from the workspace, that a tool is about, also through a link."""
        for parts in () if self._mark.source else paths:
            path = "/".join(parts)
            there = next((one for one in self._folders if os.path.islink(f"{one}/{path}")), "")
            self.notice_read(parts, _follow(f"{there}/{path}") if there else path)

    def notice_read(self, parts: tuple[str, ...], name: str = "") -> None:
        """Record a file that is read, by its components, none for a kept output; `name` is another path of it."""
        if self._mark.source:
            return
        if not parts:
            self.notice_kept()
            return
        from toolroll.policy.paths import is_secret_name, may_hold_credential

        path = "/".join(parts)
        if any(is_secret_name(one) or self._is_named(one) for one in (path, name or path)) or may_hold_credential(
            parts[-1]
        ):
            self._notice_file(path)

    def notice_kept(self) -> None:
        """Record that a tool reads what sessions have kept: outputs, changes, documents."""
        if self._state is not None and os.path.lexists(f"{self._state.path}/{_FOLDER}/{_MARKED}"):
            self._set("What a session kept that could have read a secret was read")

    def notice_result(self, effects: Effect) -> None:
        """Record that the result of a call was read, which may come from another machine."""
        if Effect.NETWORK in effects and self._guard.policy.taint == "foreign":
            self._set("Text from another machine was read")

    def notice_program(self, name: str) -> None:
        """Record what a program that can read the workspace has shown."""
        if not self._mark.source and (found := self._find()):
            self._set(f"{name} could have read the secret file {found[0]!r}")

    def begin_command(self, tier: str) -> SecretRights:
        """What a command may do that is about to start in this tier; ToolError if it would see what it must not."""
        policy, can_hide = self._guard.policy, tier == "bubblewrap"
        hides, has_network = policy.secrets == "hide", self._gives_network(tier)
        is_decided = has_network and (can_hide or policy.network is True)  # now; else each connection is
        if not hides and not is_decided and (self._mark.source or self._has_looked):
            self._commands_ran = True
            return _ALL_RIGHTS
        found = self._find()
        if hides and found and not can_hide:
            raise ToolError(
                ErrorCode.SECURITY,
                f"The command was not started: secrets = 'hide', and the sandbox ({tier}) cannot keep {found[0]!r} "
                "from it. Install bubblewrap, or set secrets = 'mark'.",
            )
        tracked = self._list_tracked() if found and can_hide and has_network else ()
        hidden = found if hides else [one for one in found if can_hide and has_network and one not in tracked]
        # Where hosts are named, each connection asks.
        is_asked = bool(hidden and not hides) or (policy.network is True and bool(found or self._mark.source))
        is_agreed = has_network and is_asked and self._agree(found)
        if is_agreed and not hides:
            hidden = []
        self._commands_ran = self._commands_ran or not (hides or (can_hide and has_network and not is_agreed))
        self._notice_command([one for one in found if one not in hidden])
        is_open = is_agreed or not (policy.network is True and has_network and self._mark.source)
        paths = dict.fromkeys(path for one in hidden for path in (self._absolute(one), _follow(self._absolute(one))))
        return SecretRights(tuple(paths), is_open, is_agreed, self._note(hidden, is_open))

    def _gives_network(self, tier: str) -> bool:
        policy = self._guard.policy
        return policy.network is not False and Effect.NETWORK not in policy.deny and tier != "none"

    def check_request(self, call: Call, request: SentT) -> SentT:
        """The request; ToolError if it must not be sent: it does more than look, or could carry a secret."""
        from toolroll.policy import outgoing, urls

        guard, method = self._guard, request.method
        if method not in outgoing.LOOKING and Effect.WRITE not in MODES[guard.mode] & ~guard.policy.deny:
            why = f"mode {guard.mode!r}" if Effect.WRITE not in MODES[guard.mode] else "the policy"
            raise ToolError(ErrorCode.PERMISSION, f"{method!r} is not allowed by {why}, which only looks. Use 'GET'.")
        if source := self.source:
            self._require(
                call, source, outgoing.objection(method, request.url, request.headers, body=request.body is not None)
            )
            target, names = urls.parse(request.url), guard.policy.network
            known = (*(names if isinstance(names, tuple) else ()), *guard.policy.hosts)
            if method in outgoing.LOOKING and not outgoing.is_named(target.host, target.port, known):
                key, covers = ("secrets", call.name, target.authority), f"short GET and HEAD requests to {target.host}"
                self._require(
                    call, source, f"the name of {target.host!r} can carry it, which the user has not named", key, covers
                )
        return request

    def check_text(self, call: Call, text: str) -> None:
        """The same for a text that goes to a server of the operator's choice."""
        if source := self.source:
            from toolroll.policy import outgoing

            self._require(call, source, outgoing.objection_to_text(text))

    def check_call(self, call: Call, effects: Effect) -> None:
        """The same for a call of a program that may send its arguments where it likes."""
        if Effect.NETWORK in effects and (source := self.source):
            self._require(call, source, "a call of this tool can carry it")

    def check_program(self, call: Call) -> None:
        """The same for a call that a program makes, unless commands may use the whole network anyway."""
        if self._guard.policy.network is not True:
            why = "the program that makes this call could send what it has read"
            key, covers = ("program", call.name), f"every call of {call.name!r} that a program makes"
            self._guard.require(ApprovalRequest(call.name, Effect.NETWORK, call.arguments, why, key=key, covers=covers))

    def connection_request(self, place: str) -> ApprovalRequest | None:
        """What is to be asked before a command connects to a host that the user has named; None for nothing."""
        if not (source := self.source):
            return None
        why = f"a command wants to reach {place}. {source} in this session, and the command can send it"
        return ApprovalRequest(
            "network", Effect.NETWORK, {"host": place}, why, key=_NETWORK_KEY, covers=_NETWORK_COVERS
        )

    def _agree(self, found: Sequence[str]) -> bool:
        """Whether the user agrees that commands read these files, or know a secret already, and have a network."""
        named = list_some([repr(one) for one in found], _SHOWN)
        why = (
            f"a command with a network could read {named}" if found else f"{self._mark.source}; a command could send it"
        )
        does, told = Effect.READ | Effect.NETWORK, {"files": list(found)}
        request = ApprovalRequest("network", does, told, why, key=_NETWORK_KEY, covers=_NETWORK_COVERS)
        if self._was_declined:
            return False
        consent = self._guard.ask(request)
        self._was_declined = consent is Consent.DECLINED  # commands come one after another: it is asked once
        return consent is Consent.GIVEN

    def _note(self, hidden: Sequence[str], is_open: bool) -> tuple[str, ...]:
        if self._was_noted or (not hidden and is_open):
            return ()
        self._was_noted = True
        can = "the user can agree to it"
        if not is_open:
            return (f"note: {self._mark.source} in this session, so commands start without a network; {can}",)
        named = list_some([repr(one) for one in hidden], _SHOWN)
        if self._guard.policy.secrets == "hide":
            return (f"note: commands cannot read {named} (secrets = 'hide'): git checkout, mv and rm of them fail",)
        return (f"note: commands cannot read {named}, because they have a network; {can}",)

    def _find(self) -> list[str]:
        """The files of secrets in the workspace, each as it is named there."""
        from toolroll.host.approval.secret_files import find_secret_files, is_secret_file

        how: dict[str, Any] = {"depth": _MAX_DEPTH, "most": _MAX_NAMES, "links": True, "skip": ".git"}
        found = find_secret_files(
            self._folders, _PACKAGES, is_secret=lambda one: is_secret_file(one) or self._is_named(one), **how
        )
        self._has_looked = True
        if not found.is_whole:
            self._set(f"A command could have read {_TOO_LARGE}")
        return [self._relative(one) for one in found.paths]

    def _is_named(self, path: str) -> bool:
        """Whether the operator has named a path as secret."""
        from toolroll.policy.paths import matches_pattern

        return any(matches_pattern(one, self._relative(path)) for one in self._guard.policy.secret_files)

    def _relative(self, path: str) -> str:
        return path.removeprefix(f"{self._folders[0]}/") if self._folders else path

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._folders[0]}/{path}"

    def _notice_file(self, path: str) -> None:
        from toolroll.host.approval.secret_files import is_secret_file

        if not self._folders:  # of another machine
            self._set(f"The secret file {path!r} was read")
        for folder in self._folders:
            there = f"{folder}/{path}"
            if os.path.lexists(there) and (
                is_secret_file(there) or is_secret_file(_follow(there)) or self._is_named(there)
            ):
                self._set(f"The secret file {path!r} was read")

    def _notice_command(self, found: Sequence[str]) -> None:
        if found:
            self._set(f"A command could have read the secret file {found[0]!r}")

    def _set(self, source: str) -> None:
        with self._lock:
            known, self._mark.source = self._mark.source, self._mark.source or source
        if self._state is not None and not known:
            with suppress(OSError):  # a full disk
                self._state.put(_FOLDER, _MARKED, b"")

    def _require(self, call: Call, source: str, objection: str, key: tuple[str, ...] = (), covers: str = "") -> None:
        """Ask for something that could carry a secret out; without an objection there is nothing to ask."""
        if not objection:
            return
        why = f"{source} in this session, and {objection}"
        self._guard.require(ApprovalRequest(call.name, Effect.NETWORK, call.arguments, why, key=key, covers=covers))


def _follow(path: str) -> str:
    """Where a path leads; itself if it leads nowhere."""
    try:
        fd = os.open(path, O_PATH | os.O_CLOEXEC)
    except OSError:
        return path
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)
