"""Methods that are answered from the backend alone, without state of the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.mcp.backend import Backend, Item, UnknownItemError
from toolroll.mcp.wire import INVALID_PARAMS, NO_RESOURCE, Id, RpcError
from toolroll.result import ToolError

if TYPE_CHECKING:
    from toolroll.mcp.suspended import StatelessCall

_MAX_COMPLETIONS = 100  # by the protocol


class RpcRequest(msgspec.Struct):
    """One request that waits for its answer."""

    id: Id
    method: str
    params: Item
    send: Callable[[Any], None]
    token: CancelToken
    meta: Item | None = None
    """What a stateless request says about its client."""
    running: dict[Id, RpcRequest] = {}
    """Where it is found until it is answered."""
    call: StatelessCall | None = None
    """The call of a stateless client that it stands for."""

    def text(self, name: str) -> str:
        """A parameter that must be a string."""
        found = self.params.get(name)
        if not isinstance(found, str):
            raise RpcError(INVALID_PARAMS, f"`{name}` must be a string.")
        return found

    def table(self, name: str) -> Item:
        """A parameter that must be an object; empty when absent."""
        found = self.params.get(name)
        if found is None:
            return {}
        if isinstance(found, str):
            from toolroll.schema.argument_text import read_object

            try:
                return dict(read_object(found)[0])
            except ToolError as error:
                raise RpcError(INVALID_PARAMS, f"`{name}` must be an object. {error.message}") from None
        if not isinstance(found, dict):
            raise RpcError(INVALID_PARAMS, f"`{name}` must be an object.")
        return found


def completion_result(values: list[str]) -> Item:
    """The result of `completion/complete` with at most as many values as the protocol allows."""
    more = len(values) > _MAX_COMPLETIONS
    return {"completion": {"values": values[:_MAX_COMPLETIONS], "total": len(values), "hasMore": more}}


def _read(backend: Backend, request: RpcRequest) -> Item:
    uri = request.text("uri")
    try:
        return {"contents": backend.read(uri)}
    except UnknownItemError as error:
        code = NO_RESOURCE if request.meta is None else INVALID_PARAMS
        raise RpcError(code, str(error), {"uri": uri}) from None


def _prompt(backend: Backend, request: RpcRequest) -> Item:
    given = request.table("arguments")
    try:
        return backend.prompt(request.text("name"), {name: str(value) for name, value in given.items()})
    except (UnknownItemError, ValueError) as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None


def _complete(backend: Backend, request: RpcRequest) -> Item:
    try:
        return completion_result(backend.complete(request.table("ref"), request.table("argument")))
    except UnknownItemError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None


BACKEND_METHODS: dict[str, Callable[[Backend, RpcRequest], Item]] = {
    "resources/list": lambda backend, _: {"resources": backend.resources()},
    "resources/templates/list": lambda backend, _: {"resourceTemplates": backend.templates()},
    "resources/read": _read,
    "prompts/list": lambda backend, _: {"prompts": backend.prompts()},
    "prompts/get": _prompt,
    "completion/complete": _complete,
}
