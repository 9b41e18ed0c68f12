"""The Model Context Protocol: a server that offers a kit to any client."""
