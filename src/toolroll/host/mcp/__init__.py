"""Client of other MCP servers, as the operator configured them: config, lifecycle, pins, results.

Front: `servers.McpServers`. The transports are our own because servers are confined and every answer is bounded;
the official client suite tests them. May import `host/rpc`, `host/http`, `host/sandbox`, `host/shell` and below.
"""
