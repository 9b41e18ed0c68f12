"""Calls over a pipe or a socket: the one channel of language servers, MCP, the control socket and leases elsewhere.

Front: `channel.Channel`. `codecs` has three ways to frame a message, and `child` the pipes of a child process.
May import `host/runtime`.
"""
