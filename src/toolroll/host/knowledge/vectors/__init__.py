"""Vector stores for semantic ranking: Qdrant Edge in this process by default, or a Qdrant server.

Front: `store.VectorStore`. `backfill` embeds what the library has added since.
"""
