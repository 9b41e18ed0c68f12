"""Approval of a `toolroll call`: asked on its terminal, and answered there, in the console or by `toolroll approve`."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from toolroll.host.approval.request import Answer, ApprovalRequest, Approver, CannotAskError
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken

if TYPE_CHECKING:
    from toolroll.cli.options import Caller
    from toolroll.control.prompt import ApprovalPrompt
    from toolroll.host.approval.waiting import WaitingApprovals
    from toolroll.kit import Kit

_CONSOLE_TIMEOUT_S = 3.0  # for an open page to notice this process
_NO_TERMINAL = (
    "there is no terminal to ask on, and no console is open; run it on a terminal, or open `toolroll console` first"
)
_OF_COMMAND = "this `toolroll call` belongs to a command of a tool, which cannot approve anything"


def own_caller() -> Caller:
    """The user of this process."""
    from toolroll.cli.arguments import read_own_input
    from toolroll.cli.options import Caller

    has_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    ask = _ask if has_terminal else None
    return Caller(sys.stdout, sys.stderr, os.environ, read_own_input, ask, CancelToken())


def answer_on_terminal(question: Mapping[str, str], is_withdrawn: Callable[[], bool]) -> str:
    """What is typed as the answer to a question of the daemon."""
    from toolroll.cli.screen import ask
    from toolroll.control.prompt import ApprovalPrompt

    try:
        return ask(ApprovalPrompt(**question), is_withdrawn, sys.stdin, sys.stderr)
    except CannotAskError as error:
        raise ValueError(str(error)) from None


def _ask(prompt: ApprovalPrompt, withdrawn: CancelToken) -> str:
    from toolroll.cli.screen import ask

    return ask(prompt, lambda: withdrawn.cancelled, sys.stdin, sys.stderr)


class CallApprover:
    """Asks the user about one call. It opens what it needs with the first question: most calls have none."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self._kit: Kit | None = None
        self._approve: Approver | None = None
        self._asking, self._closing = threading.Lock(), ExitStack()

    @contextmanager
    def answering(self, kit: Kit) -> Iterator[None]:
        """Answer the questions of this kit until the block ends; then the terminal is free."""
        self._kit = kit
        try:
            yield
        finally:
            self._kit = None
            with self._asking:  # a question that was answered elsewhere leaves the terminal first
                self._closing.close()

    def __call__(self, request: ApprovalRequest) -> Answer:
        if self._kit is None:
            raise CannotAskError("the call has ended")
        if self._approve is None:
            self._approve = self._open(self._kit)
        return self._approve(request)

    def _open(self, kit: Kit) -> Approver:
        from toolroll.control.prompt import make_approver

        approvals = self.caller.approvals or self._announce(kit)
        ask = self._ask if self.caller.ask else None
        return make_approver(lambda: kit, ask, approvals, self.caller.token, _NO_TERMINAL)

    def _announce(self, kit: Kit) -> WaitingApprovals:
        """Open a control socket, and wait for an open page to find it where only a page can answer."""
        from toolroll.control.server import ControlServer
        from toolroll.host.runtime.console_record import find_console
        from toolroll.host.runtime.process_marks import TAG

        if TAG in os.environ:
            raise CannotAskError(_OF_COMMAND)
        control = self._closing.enter_context(ControlServer(kit, "call", client="toolroll call"))
        if self.caller.ask is None and find_console() is not None:
            until = time.monotonic() + _CONSOLE_TIMEOUT_S
            while not control.approvals.is_watched() and time.monotonic() < until:
                time.sleep(POLL_SECONDS)
        return control.approvals

    def _ask(self, prompt: ApprovalPrompt, withdrawn: CancelToken) -> str:
        with self._asking:
            if self.caller.ask is None or self._kit is None:
                raise CannotAskError("the call has ended")
            return self.caller.ask(prompt, withdrawn)
