"""Language servers: diagnostics, hovers, definitions, references and renames.

Front: `language_servers.LanguageServers`. The client is our own: it runs confined servers, bounds their memory, and
reports every file change. May import `host/rpc`, `host/files`, `host/search` and below; not `host/mcp`.
"""
