"""Spans of OpenTelemetry for calls, as the semantic conventions for generative AI name them.

Only the API is used: where the program has set up no SDK, spans cost next to nothing and go nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from toolroll.dialect import View
from toolroll.executor import Arguments, Executor
from toolroll.host.context import Context
from toolroll.result import Result, ToolError

try:
    from opentelemetry import trace
except ImportError as error:
    from toolroll.host.requirement import add_extra

    raise ValueError(f"Spans need a package that is not installed: {add_extra('otel')}") from error

_ID = "gen_ai.tool.call.id"


class TracedExecutor(Executor):
    """An executor whose calls are spans named `execute_tool NAME`."""

    def __init__(self, *parts: Any, content: bool) -> None:
        """`content`: with the arguments and results of calls."""
        super().__init__(*parts)
        self._content = content
        self._tracer = trace.get_tracer("toolroll")

    def call(self, name: str, given: Arguments, ctx: Context) -> Result:
        with self._span(name, ctx) as span:
            result = super().call(name, given, ctx)
            if result.error is not None:
                _fail(span, result.error.code)
            if self._content:
                span.set_attribute("gen_ai.tool.call.result", result.text)
        return result

    def run(self, view: View, arguments: dict[str, Any], ctx: Context) -> Any:
        with self._span(view.name, ctx):
            return super().run(view, arguments, ctx)

    @contextmanager
    def _span(self, name: str, ctx: Context) -> Iterator[trace.Span]:
        known = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function"}
        known |= {"gen_ai.conversation.id": ctx.call.session, **({_ID: ctx.call.id} if ctx.call.id else {})}
        how: Any = {"record_exception": self._content, "set_status_on_exception": False}
        with self._tracer.start_as_current_span(f"execute_tool {name}", attributes=known, **how) as span:
            try:
                yield span
            except Exception as error:
                _fail(span, error.code if isinstance(error, ToolError) else type(error).__name__)
                raise
            finally:  # by now the name is that of the tool which was meant
                span.update_name(f"execute_tool {ctx.call.name}")
                span.set_attribute("gen_ai.tool.name", ctx.call.name)
                if self._content:
                    arguments = msgspec.json.encode(ctx.call.arguments, enc_hook=str).decode()
                    span.set_attribute("gen_ai.tool.call.arguments", arguments)


def _fail(span: trace.Span, kind: str) -> None:
    span.set_attribute("error.type", str(kind))
    span.set_status(trace.StatusCode.ERROR)
