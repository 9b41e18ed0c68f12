"""Which calls are rehearsed before a person has answered: those that change files, and no others."""

from dataclasses import replace

import pytest

from toolroll import Effect, Kit
from toolroll.control.preview import preview_diff, preview_request
from toolroll.host.approval.request import ApprovalRequest

WRITE = ApprovalRequest("write", Effect.WRITE, {"path": "a.txt", "content": "one\n"}, "needs approval")
DIFF = "a.txt\n@@ -1,0 +1,1 @@\n+one"


def test_a_change_of_files_is_shown_as_a_diff_and_not_made(kit: Kit) -> None:
    assert preview_request(WRITE, kit) == DIFF
    assert kit.call("ls", {}).data["entries"] == []


@pytest.mark.parametrize("effect", [Effect.RUN, Effect.SHELL, Effect.DELETE, Effect.NETWORK])
def test_a_call_that_does_more_is_never_rehearsed(kit: Kit, effect: Effect) -> None:
    assert preview_request(replace(WRITE, effects=Effect.WRITE | effect), kit) == ""


@pytest.mark.parametrize(
    "request_",
    [
        replace(WRITE, effects=Effect.READ),
        replace(WRITE, effects=Effect.NONE),
        replace(WRITE, held="a diff that is shown already"),
        replace(WRITE, arguments={"path": "a.txt", "content": "x\n" * 1_000}),
        replace(WRITE, arguments={"path": "../a.txt", "content": ""}),
        replace(WRITE, name="unknown"),
    ],
)
def test_a_request_without_a_diff(kit: Kit, request_: ApprovalRequest) -> None:
    assert preview_request(request_, kit) == ""


def test_a_call_without_paths_is_not_rehearsed(kit: Kit) -> None:
    assert preview_diff(kit, "bash", {"command": "touch a.txt"}) is None


def test_a_diff_shows_hidden_characters(kit: Kit) -> None:
    hidden = replace(WRITE, arguments={"path": "a\u202eb.txt", "content": "\u202e\x1b\n"})
    assert preview_request(hidden, kit) == "a\\u202eb.txt\n@@ -1,0 +1,1 @@\n+\\u202e\\x1b"


def test_a_change_of_binary_files_has_no_diff(kit: Kit) -> None:
    kit.write_bytes("a.bin", b"\0\1")
    assert preview_request(replace(WRITE, name="copy", arguments={"source": "a.bin", "target": "b.bin"}), kit) == ""


def test_a_call_of_another_tool_is_not_rehearsed(kit: Kit) -> None:
    meant = {"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}}
    assert "call_tool" in {one.name for one in kit.entries()}
    assert preview_request(replace(WRITE, name="call_tool", arguments=meant), kit) == ""
