"""Other people's MCP servers: started or reached when they are needed, held at arm's length, gone with the kit."""
