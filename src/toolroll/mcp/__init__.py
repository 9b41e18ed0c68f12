"""The MCP server: a `Backend` served over stdio (our own protocol code) or HTTP (the official SDK).

Fronts: `stdio.serve` and `http.serve`, with `kit_backend.KitBackend` as the backend of a kit.
stdio is our own because most clients start it per session, and the SDK alone takes longer to import than the server.
May import the kit, the hosts and the SDK (the SDK only in `http/`); only `cli/` imports this package.
"""
