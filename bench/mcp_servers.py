"""The servers that `toolroll mcp` is measured beside: the least there can be, and the least of the Python SDK."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

FLOOR = """
import os, sys, msgspec
decode, encode = msgspec.json.decode, msgspec.json.encode
rest = b""
while chunk := os.read(0, 65536):
    *lines, rest = (rest + chunk).split(b"\\n")
    for line in lines:
        message = decode(line)
        if message["method"] == "tools/call":
            with open(message["params"]["arguments"]["path"]) as file:
                result = {"content": [{"type": "text", "text": file.read()}]}
        else:
            result = {"tools": [], "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
        if "id" in message:
            os.write(1, encode({"jsonrpc": "2.0", "id": message["id"], "result": result}) + b"\\n")
"""
FOUND = FLOOR.replace(
    """            with open(message["params"]["arguments"]["path"]) as file:
                result = {"content": [{"type": "text", "text": file.read()}]}
""",
    """            asked = message["params"]["arguments"]
            found = glob.glob(asked["pattern"], root_dir=asked["path"], recursive=True)
            result = {"content": [{"type": "text", "text": chr(10).join(found)}]}
""",
).replace("import os", "import glob, os")
HTTP_FLOOR = """
import asyncio, msgspec

async def served(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\\r\\n")[0])
            message = msgspec.json.decode(await reader.readexactly(length))
            if message["method"] == "tools/call":
                with open(message["params"]["arguments"]["path"]) as file:
                    result = {"content": [{"type": "text", "text": file.read()}]}
            else:
                result = {"tools": [], "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
            body = msgspec.json.encode({"jsonrpc": "2.0", "id": message.get("id"), "result": result})
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
    except asyncio.IncompleteReadError:
        writer.close()

async def main():
    server = await asyncio.start_server(served, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""
_SDK = """
from mcp.server.lowlevel import Server
from mcp import types

async def listed(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="read", input_schema={"type": "object"})])

async def called(ctx, params):
    with open(params.arguments["path"]) as file:
        return types.CallToolResult(content=[types.TextContent(type="text", text=file.read())])

server = Server("sdk", on_list_tools=listed, on_call_tool=called)
"""
SDK = f"""
import anyio
from mcp.server.stdio import stdio_server
{_SDK}
async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
HTTP_SDK = f"""
import asyncio, socket, uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
{_SDK}
async def main():
    sessions = StreamableHTTPSessionManager(server, json_response=True)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # as uvicorn itself makes it
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print("http://127.0.0.1:%d/mcp" % listening.getsockname()[1], flush=True)
    async with sessions.run():
        settings = uvicorn.Config(sessions.handle_request, interface="asgi3", log_level="error", lifespan="off")
        await uvicorn.Server(settings).serve([listening])

asyncio.run(main())
"""


class ServerProcess:
    """A server as a child process, ended with the block."""

    def __init__(self, argv: Sequence[str], state: str, stdin: int | None = None, **more: str) -> None:
        env = {**os.environ, "XDG_STATE_HOME": state, **more}
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(argv, stdin=stdin, stdout=pipe, stderr=null, env=env)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the pipes, which ends a server on standard input; end any other by a signal."""
        if self.process.stdin is None:
            self.process.terminate()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def cpu(self) -> float:
        """Seconds of the processor that the server has used."""
        return time.clock_gettime((~self.process.pid << 3) | 2)  # how Linux numbers the clock of another process
