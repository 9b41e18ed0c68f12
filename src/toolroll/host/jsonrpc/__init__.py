"""One JSON-RPC connection to a child process, for language servers and MCP servers.

Front: `connection.Connection`; `framing` has the two framings, which are the only difference between the protocols.
May import `host/runtime`.
"""
