"""The document library, notes, memories, todo lists and the log of calls, in the state folder and the workspace.

Front: `library.Library` (`ingest.Ingest` fills it). May import every engine but `host.mcp`; ranks by `text.knowledge`.
"""
