"""What Python code would do, told without running it."""

from __future__ import annotations

_LONGEST = 200_000  # characters; parsing takes hundreds of bytes of memory for each
_HINTS = (
    *("input", "stdin", "getpass", "open", "read", "exec", "eval", "system", "popen", "spawn", "subprocess", "Popen"),
    *("interact", "pdb", "breakpoint", "prompt", "confirm", "ask", "cmdloop", "import", "help", "builtins"),
)


def reads_stdin(source: str) -> bool:
    """Whether a Python program reads standard input when it is run, as far as its text tells.

    Only code that would run counts: not a function that nobody calls, nor a branch that is never taken. What is
    too large, too deep or no Python is not looked into.
    """
    if len(source) > _LONGEST or not any(hint in source for hint in _HINTS):
        return False
    from toolroll.policy.code.program import Program

    return Program().reads(source)
