"""A JSON-RPC connection over pipes, for language servers and MCP servers."""
