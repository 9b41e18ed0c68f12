"""Approval by the client's user, asked through MCP elicitation."""

from __future__ import annotations

from toolroll.host.approval.request import GRANTS, Answer, ApprovalRequest, CannotAskError, read_answer
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp.backend import Item, Peer
from toolroll.result import ErrorCode, ToolError

_NO_ELICITATION = "this MCP client cannot ask its user (it does not offer elicitation)"


def ask(request: ApprovalRequest, peer: Peer | None, withdrawn: CancelToken | None = None) -> Answer:
    """Ask the user to approve a request; CannotAskError when the client cannot ask.

    The question is taken back when `withdrawn` is cancelled.
    """
    if peer is None or not peer.can("elicitation"):
        raise CannotAskError(_NO_ELICITATION)
    params = {"mode": "form", "message": question(request), "requestedSchema": _form(request)}
    try:
        answer = peer.request("elicitation/create", params, withdrawn=withdrawn)
    except ToolError as error:
        if error.code is ErrorCode.CANCELLED:
            raise
        raise CannotAskError(f"asking through the MCP client failed: {error.message}") from error
    action, content = answer.get("action"), answer.get("content")
    if action not in ("accept", "decline", "cancel"):
        raise CannotAskError("the MCP client's answer is not one of elicitation")
    decision = content.get("decision") if action == "accept" and isinstance(content, dict) else None
    return read_answer(decision if decision in GRANTS else False)


def question(request: ApprovalRequest) -> str:
    """The text that the user reads: the whole call that would run."""
    return f"May the agent do this?\n\n{request.text}"


def _form(request: ApprovalRequest) -> Item:
    """The choices; those that are remembered say what they cover, and need a request that can be remembered."""
    answers = {"once": "Allow it this once"}
    if request.key:
        answers["session"] = f"Allow {request.scope} until the server ends"
        answers["always"] = f"Always allow {request.scope} in this workspace"
    answers["deny"] = "Do not allow it"
    decision: Item = {"type": "string", "title": "Decision", "description": "What the agent may do."}
    decision |= {"enum": list(answers), "enumNames": list(answers.values())}
    return {"type": "object", "properties": {"decision": decision}, "required": ["decision"]}
