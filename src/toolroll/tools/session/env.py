"""Tell variables of the environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from toolroll.host.context import Context
from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.tool import Effect, tool

_MAX_SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value if self.value.isprintable() else repr(self.value)}"


@dataclass(frozen=True, slots=True)
class Variables:
    """All variables that may be shown, by name, and how many may not."""

    variables: dict[str, str]
    hidden: int

    @property
    def note(self) -> str:
        return f"{self.hidden} more look like secrets and are not shown." if self.hidden else ""

    def __str__(self) -> str:
        return "\n".join(str(Variable(name, value)) for name, value in self.variables.items()) or "(none)"


@tool(Effect.NONE, rare=True)
def env(
    ctx: Context,
    name: Annotated[str | None, "Variable to show; all of them when left out."] = None,
    *,
    unset: Annotated[Literal["raise", "empty"], "Whether a variable that is not set is an error or empty."] = "raise",
) -> Variable | Variables:
    """Show environment variables. Secrets are never shown."""
    from toolroll.policy.environment import visible
    from toolroll.policy.secrets import is_secret

    given = ctx.environment
    shown = visible(given, ctx.commands.policy.environment)
    if name is None:
        return Variables(shown, hidden=sum(is_secret(key, value) for key, value in given.items()))
    if name in shown:
        return Variable(name, shown[name])
    if is_secret(name, given.get(name, "")):
        raise ToolError(
            ErrorCode.SECURITY, f"{name!r} looks like a secret (sensitive), so it is not shown. Go on without it."
        )
    if unset == "empty":
        return Variable(name, "")
    near = _near(name, shown)
    hint = f" Did you mean {', '.join(map(repr, near))}?" if near else " It is not set."
    raise ToolError(
        ErrorCode.NOT_FOUND,
        f"There is no variable {name!r}.{hint}",
        suggest=tuple(Suggestion("env", {"name": one}) for one in near),
    )


def _near(name: str, names: Iterable[str]) -> list[str]:
    import difflib

    by_upper = {one.upper(): one for one in names}
    found = difflib.get_close_matches(name.upper()[:100], list(by_upper), n=_MAX_SUGGESTIONS, cutoff=0.7)
    return [by_upper[one] for one in found]
