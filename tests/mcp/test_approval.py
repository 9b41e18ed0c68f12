"""What the user reads before a call may run."""

from toolroll import Effect
from toolroll.host.guard import Request
from toolroll.mcp.approval import question


def test_nothing_is_hidden_in_a_question():
    lines = ("ls \u202e# safe\x1b[8m\r;", "rm -r \U000e0041x\u200b")
    asked = question(Request("bash", Effect.RUN, {"command": "..."}, "needs approval", lines))
    assert asked == (
        "May the agent use 'bash'? (needs approval)\n\nls \\u202e# safe\\u001b[8m\\u000d;\nrm -r \\ue0041x\\u200b"
    )
    asked = question(Request("write", Effect.WRITE, {"path": "a\u202e" * 1_001}, "needs approval"))
    assert asked.endswith("a\\u202ea\\u202ea\n[18 more characters]")
