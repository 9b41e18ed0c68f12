"""Spans for calls, as the real SDK sees them."""

import re
import sys

import pytest

trace = pytest.importorskip("opentelemetry.sdk.trace", reason="the SDK of OpenTelemetry is not installed")
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402

from toolroll import otel  # noqa: E402
from toolroll.host.requirement import add_extra  # noqa: E402


@pytest.fixture
def spans(monkeypatch):
    """Finished spans, in order."""
    provider, exporter = trace.TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(otel.trace, "get_tracer", provider.get_tracer)
    return exporter.get_finished_spans


def test_a_call_is_a_span(open_kit, put, spans):
    put({"a.txt": "for nobody\n"})
    kit = open_kit(otel="spans")
    call = {"id": "call_7", "function": {"name": "read", "arguments": '{"path": "a.txt"}'}}
    kit.execute([call])
    kit.call("read", {"path": "missing.txt"})
    kit.call("call_tool", {"name": "stat", "arguments": {"path": "a.txt"}})
    read, failed, relayed = spans()
    assert (read.name, read.kind.name, read.status.status_code.name) == ("execute_tool read", "INTERNAL", "UNSET")
    assert dict(read.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_7",
        "gen_ai.conversation.id": kit.session,
    }
    assert (failed.status.status_code.name, failed.attributes["error.type"]) == ("ERROR", "NotFound")
    assert (relayed.name, relayed.attributes["gen_ai.tool.name"]) == ("execute_tool stat", "stat")
    assert "nobody" not in str([one.to_json() for one in spans()])


def test_content_only_when_it_is_asked_for(open_kit, put, spans):
    put({"a.txt": "for nobody\n"})
    open_kit(otel="content").call("read", {"path": "a.txt"})
    (span,) = spans()
    assert span.attributes["gen_ai.tool.call.arguments"] == '{"path":"a.txt"}'
    assert "for nobody" in span.attributes["gen_ai.tool.call.result"]


def test_calls_of_programs_and_of_a_program_in_the_sandbox(open_kit, spans):
    kit = open_kit(otel="spans", code_mode=True)
    kit.write_bytes("a.txt", b"a")
    with pytest.raises(Exception, match="outside"):
        kit.read_bytes("/etc/passwd")
    kit.call("python", {"code": "tools.stat('a.txt')"})
    wrote, failed, inner, outer = spans()
    assert (wrote.name, failed.attributes["error.type"]) == ("execute_tool write_bytes", "SecurityError")
    assert (inner.name, inner.parent.span_id) == ("execute_tool stat", outer.context.span_id)


def test_a_missing_package_is_named(open_kit, monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "toolroll.otel")
    with pytest.raises(ValueError, match=re.escape(add_extra("otel"))):
        open_kit(otel="spans")
