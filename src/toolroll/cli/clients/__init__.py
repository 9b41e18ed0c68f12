"""The MCP clients that `toolroll mcp --install` knows, and how an entry gets into their settings. Front: `install`."""
